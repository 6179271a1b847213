import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { sendJson } from '../support/hosts.ts';
import { send } from '../support/visitor.ts';
import { until } from '../support/until.ts';
import type { Answer } from '../support/visitor.ts';

describe.each(adapters)('$name: a sign-out wins', ({ start }) => {
  let app: AppUnderTest;
  let release: () => void = () => undefined;
  beforeAll(async () => {
    app = await start({
      after: (host) => {
        // A handler that is slow after it has the session.
        host.get('/slow', (req, res, next) => {
          const { promise, resolve } = Promise.withResolvers<undefined>();
          release = () => resolve(undefined);
          import('../../lib/index.ts')
            .then(({ getSession }) => getSession(req))
            .then((session) => promise.then(() => sendJson(res, { user: session?.user ?? null })))
            .catch(next);
        });
      },
    });
  });
  afterAll(() => app.close());

  const ask = (cookie: string, path = '/api/me'): Promise<Answer> =>
    send(new URL(path, app.origin), { headers: { cookie, accept: 'application/json' } });
  const cookiesOf = (answer: Answer): string => answer.setCookies.map((line) => line.split(';', 1)[0]).join('; ');

  it('over a refresh in progress', async () => {
    const visitor = await app.signedIn();
    const cookie = visitor.cookieHeader();
    app.expireTokens();
    app.forget();
    const gate = app.gate();
    const refreshing = ask(cookie);
    await gate.arrived();
    const signingOut = app.signOut(visitor);
    // An adapter may want to tell the provider, with a call of its own that is held back, too.
    await Promise.race([signingOut, gate.arrived(2)]);
    gate.open();
    await signingOut;
    const late = await refreshing;
    expect(late.status).toBe(401);
    for (const line of late.setCookies) expect(line).toMatch(/=; Max-Age=0; /);
    expect((await ask(cookie)).status).toBe(401);
  });

  it('over a response that would have restored a cookie', async () => {
    const visitor = await app.signedIn();
    const cookie = visitor.cookieHeader();
    app.expireTokens();
    app.forget();
    const slow = ask(cookie, '/slow');
    await until(() => app.eventTypes().includes('session_refreshed'));
    await app.signOut(visitor);
    release();
    expect((await slow).setCookies).toEqual([]);
  });

  it('over a cookie that was copied before: it is refused while its token is valid', async () => {
    const visitor = await app.signedIn();
    const old = visitor.cookieHeader();
    app.expireTokens();
    const renewed = cookiesOf(await ask(old));
    expect((await ask(renewed)).status).toBe(200);
    // The sign-out comes from a tab that still had the old cookie.
    await app.signOut(visitor);
    app.forget();
    expect((await ask(renewed)).status).toBe(401);
    expect((await ask(old)).status).toBe(401);
    expect(app.refreshes()).toEqual([]);
  });
});

describe('b2bAuth: a sign-out wins over a callback', () => {
  let app: B2bApp;
  beforeAll(async () => {
    app = await startB2bApp();
  });
  afterAll(() => app.close());

  it('that is in progress', async () => {
    const browser = app.visitor();
    const start = await browser.get('/login');
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    const { promise, resolve } = Promise.withResolvers<undefined>();
    app.workos.clearRequests();
    app.workos.switches.gate.token = () => promise;
    const signingIn = browser.get(callback.href);
    await app.workos.arrived('token');
    await browser.post('/logout');
    resolve(undefined);
    app.workos.switches.gate = {};
    const late = await signingIn;
    expect(late.status).toBe(400);
    expect((await browser.getJson('/api/me')).status).toBe(401);
    expect(app.events.map(({ type }) => type)).not.toContain('signed_in');
  });

  it('whose code is sent again', async () => {
    const browser = app.visitor();
    const start = await browser.get('/login');
    const flow = browser.cookieHeader();
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    expect((await browser.get(callback.href)).status).toBe(303);
    expect((await browser.getJson('/api/me')).status).toBe(200);
    await browser.post('/logout');
    // The same callback with the earlier cookie of the flow, like a delayed request.
    const again = await send(callback, { headers: { cookie: flow } });
    expect(again.status).toBe(400);
    for (const line of again.setCookies) expect(line).toMatch(/=; Max-Age=0; /);
  });
});
