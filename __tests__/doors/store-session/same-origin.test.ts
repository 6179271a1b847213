import { backendAuth, requireSameOrigin } from '../../../lib/index.ts';
import type { BackendAuthOptions } from '../../../lib/index.ts';
import { startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp } from '../../support/backend-app.ts';
import { startBothApp } from '../../support/both-app.ts';
import type { BothApp } from '../../support/both-app.ts';
import { createApplication } from '../../support/application.ts';
import type { Handler } from '../../support/handler-list.ts';
import { sendJson, sendText } from '../../support/hosts.ts';
import type { Host } from '../../support/hosts.ts';
import { ownRoutes } from '../../support/own-sign-in.ts';
import { itAtRoot } from '../../support/only.ts';
import { serve } from '../../support/servers.ts';
import { createVisitor } from '../../support/visitor.ts';

const trusted = 'https://www.example';
let app: BackendApp | BothApp;
afterEach(() => app.close());

/** `/called` calls it, `/middleware` has it in front. */
function addRoutes(host: Host): void {
  const called: Handler = (req, res) => {
    try {
      requireSameOrigin(req);
      sendText(res, 'passed');
    } catch (error) {
      const { code, status = 500 } = error as { code: string; status?: number };
      sendJson(res, { code }, status);
    }
  };
  host.all('/called', called);
  host.all('/middleware', requireSameOrigin as Handler, (_req, res) => sendText(res, 'passed'));
}

/** What each of the two says, and our own POST route. */
async function verdicts(headers: Readonly<Record<string, string>>): Promise<unknown[]> {
  const visitor = app.visitor();
  const all = { headers: { accept: 'application/json', ...headers } };
  const called = await visitor.post('/called', all);
  const middleware = await visitor.post('/middleware', all);
  const route = await visitor.post('/auth/logout', all);
  return [called.text === 'passed', middleware.text === 'passed', route.status !== 403];
}

describe('requireSameOrigin decides as our own POST routes do', () => {
  beforeEach(async () => {
    app = await startBackendApp({ after: addRoutes, options: { trustedOrigins: [trusted] } });
  });

  it('lets pass what comes from this origin, a trusted one, or no browser', async () => {
    for (const headers of [
      {},
      { origin: app.origin },
      { origin: trusted },
      { origin: trusted, 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
    ]) {
      expect(await verdicts(headers)).toEqual([true, true, true]);
    }
  });

  it.each([
    [{ origin: 'https://evil.example' }],
    [{ origin: 'null' }],
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://blog.example' }],
    [{ 'sec-fetch-site': 'other' }],
  ])('refuses %p', async (headers) => {
    expect(await verdicts(headers)).toEqual([false, false, false]);
    const { status, json } = await app.visitor().post('/called', { headers });
    expect([status, json]).toEqual([403, { code: 'cross_site_request' }]);
  });

  it('as a middleware answers by itself, as guards do: JSON or a page, and never through the error handler', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    const asked = await app.visitor().post('/middleware', { headers: { ...headers, accept: 'application/json' } });
    expect([asked.status, asked.json.error.code]).toEqual([403, 'cross_site_request']);
    expect(asked.headers['cache-control']).toBe('private, no-store');
    const page = await app.visitor().post('/middleware', { headers: { ...headers, accept: 'text/html' } });
    expect([page.status, page.headers['content-type']]).toEqual([403, 'text/html; charset=utf-8']);
    expect(page.text).not.toContain('thrown');
  });

  it('as a middleware leaves its answer to onError', async () => {
    await app.close();
    const onError: BackendAuthOptions['onError'] = ({ code, status }, _req, res) => {
      res.statusCode = status;
      res.end(`mine: ${code}`);
    };
    app = await startBackendApp({ after: addRoutes, options: { onError } });
    const answer = await app.visitor().post('/middleware', { headers: { 'sec-fetch-site': 'cross-site' } });
    expect([answer.status, answer.text]).toEqual([403, 'mine: cross_site_request']);
  });

  it('so another site cannot sign a browser in', async () => {
    const own = { tokens: undefined as unknown };
    await app.close();
    app = await startBackendApp({ after: (host) => ownRoutes(host, () => app.auth, own) });
    own.tokens = await app.supabase.issueSession('ada@example.com');
    const visitor = app.visitor();
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    const answer = await visitor.post('/own', { headers });
    expect([answer.status, answer.json.code, answer.setCookies]).toEqual([403, 'cross_site_request', []]);
    expect((await visitor.getJson('/whoami')).json.user).toBeNull();
  });
});

describe('beside both adapters', () => {
  it('both have to trust an origin', async () => {
    const both = { trustedOrigins: [trusted] };
    for (const one of [{ options: both }, { b2b: both }]) {
      app = await startBothApp({ after: addRoutes, ...one });
      expect((await verdicts({ origin: trusted })).slice(0, 2)).toEqual([false, false]);
      await app.close();
    }
    app = await startBothApp({ after: addRoutes, options: both, b2b: both });
    expect((await verdicts({ origin: trusted })).slice(0, 2)).toEqual([true, true]);
  });

  it('a nonce has one cookie, that of the backend adapter', async () => {
    app = await startBothApp({ after: (host) => ownRoutes(host, () => app.auth, { tokens: undefined }) });
    const visitor = app.visitor();
    const { nonce } = (await visitor.getJson('/own/nonce')).json;
    expect([...visitor.cookies.keys()]).toEqual([expect.stringMatching(/sb-127-auth-token-nonce$/)]);
    expect((await visitor.postJson('/own/take')).json.nonce).toBe(nonce);
  });
});

itAtRoot('before the adapter it is an error, never a pass', async () => {
  app = await startBackendApp();
  const { host, listener } = createApplication();
  addRoutes(host);
  host.use(backendAuth({ url: app.supabase.url, anonKey: app.supabase.publishableKey }));
  host.onError((error, _req, res) => sendText(res, String(error), 500));
  const server = await serve(listener);
  try {
    const visitor = createVisitor(server.origin);
    expect((await visitor.post('/called')).json.code).toBe('invalid_configuration');
    expect((await visitor.post('/middleware')).text).toContain('no adapter has seen this request');
  } finally {
    await server.close();
  }
});
