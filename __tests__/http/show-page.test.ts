import type { Adapter } from '../../lib/http/adapter.ts';
import { signingOutPage } from '../../lib/pages/document.ts';
import { showReply } from '../../lib/http/reply.ts';
import { bareRequest } from '../support/bare-request.ts';

const broken = new Error('no template');
const url = 'https://api.workos.example/logout';

/** What is known of a response whose page the application's `render` was to show. */
async function shown(renderPage: NonNullable<Adapter['renderPage']>) {
  const request = bareRequest({ renderPage });
  const passed: unknown[] = [];
  const reply = { ...signingOutPage(request, url), status: 422 };
  await showReply(request, reply, (error) => void passed.push(error));
  await new Promise((resolve) => process.nextTick(resolve));
  const { res } = request;
  return { passed, status: res.statusCode, refresh: res.getHeader('refresh'), isSent: res.headersSent };
}

describe('a page that pages.render is asked for', () => {
  it('has its status and its headers while render runs', async () => {
    let seen: unknown;
    await shown((_req, res) => {
      seen = [res.statusCode, res.getHeader('refresh')];
      return true;
    });
    expect(seen).toEqual([422, `0; url=${url}`]);
  });

  it('leaves status and headers to the error handler where render throws, and sends the visitor nowhere', async () => {
    const outcome = await shown(() => {
      throw broken;
    });
    expect(outcome).toEqual({ passed: [broken], status: 200, refresh: undefined, isSent: false });
  });

  it('stays as it was sent where render throws after that', async () => {
    const outcome = await shown((_req, res) => {
      res.end('own');
      throw broken;
    });
    expect(outcome).toEqual({ passed: [broken], status: 422, refresh: `0; url=${url}`, isSent: true });
  });
});
