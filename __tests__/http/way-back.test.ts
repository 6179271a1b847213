import { requireSession } from '../../lib/backend/index.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { startBackendApp } from '../support/backend-app.ts';
import { startB2bApp } from '../support/b2b-app.ts';
import { sendText } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { prefixMapping } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Ask } from '../support/visitor.ts';

const closing = closeAfterEach();

const before = (host: Host): void => {
  host.all('/app/save', requireSession(), (_req, res) => sendText(res, 'saved'));
};

const apps: Readonly<Record<string, () => Promise<{ readonly origin: string; close(): Promise<void> }>>> = {
  b2bAuth: () => startB2bApp({ after: before }),
  backendAuth: () => startBackendApp({ after: before }),
};

/** The way back that the answer's sign-in page is asked for; `/` where it names none. */
function wayBackIn(answer: Answer): string {
  const url = answer.location === '' ? String(answer.json.redirectTo) : answer.location;
  return new URL(url, 'http://app.invalid').searchParams.get('returnTo') ?? '/';
}

const form = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' };
const script = { accept: '*/*', 'sec-fetch-mode': 'cors' };

describe.each(Object.entries(apps))('the way back of %s', (_name, startApp) => {
  async function start() {
    const { origin } = await closing(startApp());
    const ask = (target: string, given: Ask & { readonly from?: string } = {}): Promise<Answer> => {
      const { from, ...rest } = given;
      const page = new URL(from ?? '/', origin).href;
      const referer = from === undefined ? {} : { referer: prefixMapping?.target(page) ?? page };
      return createVisitor(origin).ask(target, { ...rest, headers: { ...referer, ...rest.headers } });
    };
    return { origin, ask };
  }

  it.each(['GET', 'HEAD'])('is the page itself for a document that is asked for by %s', async (method) => {
    const { ask } = await start();
    const answer = await ask('/app/save?a=1', { method, headers: { accept: 'text/html' }, from: '/elsewhere' });
    expect(wayBackIn(answer)).toBe('/app/save?a=1');
  });

  it('is the page of the form for a POST', async () => {
    const { ask } = await start();
    const answer = await ask('/app/save', { method: 'POST', headers: form, from: '/app/form?id=7' });
    expect(wayBackIn(answer)).toBe('/app/form?id=7');
  });

  it.each([
    ['comes from another origin', 'https://elsewhere.example/app/form'],
    ['is an own route', '/auth/pages.css'],
    ['is no URL', undefined],
  ])('is the path of the POST itself where the Referer %s', async (_case, from) => {
    const { ask } = await start();
    expect(wayBackIn(await ask('/app/save', { method: 'POST', headers: form, ...(from && { from }) }))).toBe(
      '/app/save',
    );
  });

  it('is the page of the script for an answer in JSON, else the start page', async () => {
    const { ask } = await start();
    const fetched = await ask('/app/save', { headers: script, from: '/app/list?page=2' });
    expect([fetched.status, wayBackIn(fetched)]).toEqual([401, '/app/list?page=2']);
    expect(wayBackIn(await ask('/app/save', { headers: script }))).toBe('/');
    expect(wayBackIn(await ask('/app/save', { headers: script, from: 'https://elsewhere.example/x' }))).toBe('/');
    expect(wayBackIn(await ask('/auth/session', { from: '/app/list' }))).toBe('/app/list');
  });

  it('is in HX-Redirect for htmx, which follows no JSON, with and without Fetch Metadata', async () => {
    const { ask } = await start();
    for (const headers of [{ accept: '*/*' }, script]) {
      const answer = await ask('/app/save', { headers: { ...headers, 'hx-request': 'true' }, from: '/app/list' });
      expect(answer.status).toBe(401);
      const leadsTo = String(answer.headers['hx-redirect']);
      expect(prefixMapping?.location(leadsTo) ?? leadsTo).toBe(answer.json.redirectTo);
      expect(wayBackIn(answer)).toBe('/app/list');
      expect((await ask('/app/save', { headers })).headers['hx-redirect']).toBeUndefined();
    }
  });

  it('keeps the path of a page whose query is too long', async () => {
    const { ask } = await start();
    const long = `/app/save?filter=${'x'.repeat(2_100)}`;
    expect(wayBackIn(await ask(long, { headers: { accept: 'text/html' } }))).toBe('/app/save');
    const posted = await ask('/app/save', { method: 'POST', headers: form, from: long.replace('save', 'form') });
    expect(wayBackIn(posted)).toBe('/app/form');
  });
});
