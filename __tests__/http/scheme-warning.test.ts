import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import express from 'express';
import { authenticateUpgrade, backendAuth } from '../../lib/backend/index.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { warnOfIgnoredHttps, warnOfPlainCookies, warnOfScheme } from '../../lib/http/origin.ts';

const advice = "behind a proxy set app.set('trust proxy', 1), or the option appBaseUrl";
const code = { code: 'EXPRESS_AUTH_ADAPTERS_TRUST_PROXY' };
const believed = `but this application believes it is served over http; ${advice}`;

let warn: jest.SpiedFunction<typeof process.emitWarning>;
beforeEach(() => (warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)));
afterEach(() => void jest.restoreAllMocks());

function requestFrom(origin: string | undefined, host = 'app.example'): IncomingMessage {
  const req = new IncomingMessage(new Socket());
  Object.assign(req.headers, { host, ...(origin !== undefined && { origin }) });
  return req;
}

/** Each copy of the module has warned of nothing. */
const copy = async () =>
  (await import(`../../lib/http/origin.ts?copy=${randomUUID()}`)) as {
    warnOfScheme: typeof warnOfScheme;
    warnOfPlainCookies: typeof warnOfPlainCookies;
    warnOfIgnoredHttps: typeof warnOfIgnoredHttps;
  };

describe('a page at https, whose application believes it is at http', () => {
  it('is one process warning with the sentence that mends it', async () => {
    const { warnOfScheme: warnInCopy, warnOfPlainCookies: warnOfCookies } = await copy();
    for (const host of ['app.example', 'other.example'])
      warnInCopy(requestFrom(`https://${host}`, host), () => `http://${host}`);
    warnOfCookies();
    expect(warn.mock.calls).toEqual([[`The page is at https://app.example, ${believed}`, code]]);
  });

  it.each([
    ['https://app.example', 'https://app.example'],
    ['http://app.example', 'http://app.example'],
    ['https://evil.example', 'http://app.example'],
    ['null', 'http://app.example'],
    [undefined, 'http://app.example'],
  ])('is none for the origin %s at %s', async (origin, own) => {
    const { warnOfScheme: warnInCopy } = await copy();
    warnInCopy(requestFrom(origin), () => own);
    expect(warn).not.toHaveBeenCalled();
  });

  it('is told by a form that is sent, by its 403, and by an upgrade that is refused', async () => {
    const auth = backendAuth({ url: 'http://127.0.0.1:9', anonKey: 'sb_publishable_test' });
    const app = express().use(auth);
    const server = await serve(app);
    const host = new URL(server.origin).host;
    const headers = { origin: `https://${host}`, 'content-type': 'application/json', accept: 'application/json' };
    const { status } = await createVisitor(server.origin).post('/auth/login', { headers, body: '{}' });
    expect(status).toBe(403);
    expect(warn.mock.calls).toEqual([[`The page is at https://${host}, ${believed}`, code]]);
    await expect(authenticateUpgrade(auth, requestFrom(`https://${host}`, host))).rejects.toMatchObject({
      status: 403,
    });
    expect(warn).toHaveBeenCalledTimes(1);
    await server.close();
  });
});

it('https that only a proxy speaks of is the same process warning', async () => {
  const { warnOfIgnoredHttps: warnOfHttps, warnOfPlainCookies: warnOfCookies } = await copy();
  const message = `A proxy says that visitors use https, ${believed}`;
  expect(warnOfHttps()).toBe(message);
  expect(warnOfHttps()).toBe(message);
  warnOfCookies();
  expect(warn.mock.calls).toEqual([[message, code]]);
});

it('cookies without Secure in production are one process warning', async () => {
  const { warnOfPlainCookies: warnOfCookies } = await copy();
  warnOfCookies();
  warnOfCookies();
  const message = `Cookies are sent without Secure, because this application believes it is served over http; ${advice}`;
  expect(warn.mock.calls).toEqual([[message, code]]);
});
