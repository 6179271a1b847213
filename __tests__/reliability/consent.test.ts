import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { arrive, callback, consentUrl, sentTo, startConsentApp } from '../support/consent.ts';
import { createShared } from '../support/shared-memory.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

const apps: BackendApp[] = [];
afterEach(async () => {
  for (const each of apps.splice(0)) await each.close();
});

async function start(setup: BackendAppSetup = {}): Promise<BackendApp> {
  const app = await startConsentApp(setup);
  apps.push(app);
  return app;
}

function ask(app: BackendApp): string {
  return app.supabase.askConsent(app.supabase.addClient({ name: 'Cursor', redirectUris: [callback] }));
}

const allow = (visitor: Visitor, id: string): Promise<Answer> =>
  visitor.postJson('/oauth/consent', { authorization_id: id, action: 'allow' });

/** Another process: it shares the project, and the coordinator where there is one. */
async function startOther(app: BackendApp, options: BackendAppSetup['options'] = {}): Promise<BackendApp> {
  const { supabase, clock } = app;
  return start({ options: { url: supabase.url, anonKey: supabase.publishableKey, now: clock.now, ...options } });
}

function sameBrowser(visitor: Visitor, app: BackendApp): Visitor {
  const other = app.visitor();
  for (const [name, value] of visitor.cookies) other.cookies.set(name, value);
  return other;
}

describe('the consent page while the provider', () => {
  it.each(['refuse', 'html502', 429, 500, 503] as const)(
    'is out of reach (%s) is a 503 or 429 with Retry-After, keeps the session, and works afterwards',
    async (fault) => {
      const app = await start();
      const visitor = await app.signedIn();
      const id = ask(app);
      for (const endpoint of ['authorization', 'consent'] as const) app.supabase.fail(endpoint, fault);
      const page = await arrive(visitor, id);
      expect([fault === 429 ? 429 : 503, Number(page.headers['retry-after']) > 0]).toEqual([page.status, true]);
      app.supabase.heal();
      expect((await arrive(visitor, id)).status).toBe(200);
      app.supabase.fail('consent', fault);
      expect((await allow(visitor, id)).status).toBe(fault === 429 ? 429 : 503);
      app.supabase.heal();
      expect((await allow(visitor, id)).status).toBe(200);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
    },
  );

  it('is slow answers 503 within the budget, and the late answer serves the reload without a second call', async () => {
    const app = await start({ options: { timeoutMs: 200 } });
    const visitor = await app.signedIn();
    const id = ask(app);
    const gate = app.supabase.gate('authorization');
    expect((await arrive(visitor, id)).status).toBe(503);
    const reload = arrive(visitor, id);
    gate.open();
    expect((await reload).status).toBe(200);
    expect(app.supabase.calls('authorization')).toBe(1);
  });

  it('is slow with a decision answers 503, and the same decision then gets its answer', async () => {
    const app = await start({ options: { timeoutMs: 200 } });
    const visitor = await app.signedIn();
    const id = ask(app);
    await arrive(visitor, id);
    const gate = app.supabase.gate('consent');
    expect((await allow(visitor, id)).status).toBe(503);
    const again = allow(visitor, id);
    gate.open();
    expect((await again).status).toBe(200);
    expect(app.supabase.calls('consent')).toBe(1);
  });

  it.each(['lost', 'reset'] as const)(
    'loses its answer to a decision (%s) leads to a new start, not to a second decision',
    async (fault) => {
      const app = await start();
      const visitor = await app.signedIn();
      const id = ask(app);
      await arrive(visitor, id);
      app.supabase.fail('consent', fault, 1);
      expect((await allow(visitor, id)).status).toBe(503);
      const again = await allow(visitor, id);
      expect([again.status, again.json.error.code]).toEqual([400, 'authorization_expired']);
    },
  );

  it('answers nothing usable is a 502, and is asked again', async () => {
    let isOdd = true;
    const odd: typeof fetch = (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      return isOdd && url.includes('/oauth/authorizations/') ? Promise.resolve(Response.json({})) : fetch(input, init);
    };
    const app = await start({ options: { fetch: odd } });
    const visitor = await app.signedIn();
    const id = ask(app);
    expect((await arrive(visitor, id)).status).toBe(502);
    isOdd = false;
    expect((await arrive(visitor, id)).status).toBe(200);
  });

  it('answers something else is a 502', async () => {
    const app = await start();
    const visitor = await app.signedIn();
    const id = ask(app);
    app.supabase.fail('authorization', 404);
    expect((await arrive(visitor, id)).status).toBe(502);
    app.supabase.heal();
    expect((await arrive(visitor, id)).status).toBe(200);
  });
});

it('a request that the browser gave up still counts: the answer is there for the next one', async () => {
  const app = await start();
  const visitor = await app.signedIn();
  const id = ask(app);
  const gate = app.supabase.gate('authorization');
  const given = new AbortController();
  const gone = fetch(`${app.origin.replace('https:', 'http:')}${consentUrl(id)}`, {
    headers: { cookie: visitor.cookieHeader() },
    signal: given.signal,
  }).catch(() => undefined);
  await gate.waitFor(1);
  given.abort();
  await gone;
  gate.open();
  expect((await arrive(visitor, id)).status).toBe(200);
  expect(app.supabase.calls('authorization')).toBe(1);
});

describe('with a coordinator', () => {
  it('one process asks the provider, and all show its answer', async () => {
    const shared = createShared();
    const app = await start({ options: { coordinator: shared } });
    const other = await startOther(app, { coordinator: shared });
    const visitor = await app.signedIn();
    const there = sameBrowser(visitor, other);
    const id = ask(app);
    const pages = await Promise.all([arrive(visitor, id), arrive(there, id)]);
    expect(pages.map(({ status }) => status)).toEqual([200, 200]);
    expect(app.supabase.calls('authorization')).toBe(1);
    const answers = await Promise.all([allow(visitor, id), allow(there, id)]);
    expect(new Set(answers.map(({ json }) => json.redirectTo)).size).toBe(1);
    expect(app.supabase.calls('consent')).toBe(1);
  });

  it('the decision in another process names the client, and is refused for an address that is not safe', async () => {
    const shared = createShared();
    const app = await start({ options: { coordinator: shared } });
    const other = await startOther(app, { coordinator: shared });
    const visitor = await app.signedIn();
    const there = sameBrowser(visitor, other);
    const id = ask(app);
    await arrive(visitor, id);
    expect((await allow(there, id)).status).toBe(200);
    expect(other.events).toContainEqual(
      expect.objectContaining({ type: 'consent_given', clientId: expect.stringMatching(/^[\da-f-]{36}$/) }),
    );
    const unsafe = app.supabase.askConsent(app.supabase.addClient({ redirectUris: ['javascript:alert(1)//'] }));
    expect((await arrive(visitor, unsafe)).status).toBe(400);
    expect((await allow(there, unsafe)).status).toBe(400);
    expect([app.supabase.calls('authorization'), app.supabase.calls('consent')]).toEqual([2, 1]);
  });

  it('a grant that exists leads to the same address from every process', async () => {
    const shared = createShared();
    const app = await start({ options: { coordinator: shared } });
    const other = await startOther(app, { coordinator: shared });
    const visitor = await app.signedIn();
    const client = app.supabase.addClient({ redirectUris: [callback] });
    const first = app.supabase.askConsent(client);
    await arrive(visitor, first);
    await allow(visitor, first);
    const id = app.supabase.askConsent(client);
    const [here, there] = [await arrive(visitor, id), await arrive(sameBrowser(visitor, other), id)];
    expect([here.status, there.status]).toEqual([302, 302]);
    expect(sentTo(here)).toEqual(sentTo(there));
  });

  it('that is down each process goes on by itself', async () => {
    const shared = createShared();
    const app = await start({ options: { coordinator: shared } });
    const visitor = await app.signedIn();
    const id = ask(app);
    shared.isDown = true;
    expect((await arrive(visitor, id)).status).toBe(200);
    expect((await allow(visitor, id)).status).toBe(200);
    expect(app.eventTypes()).toContain('coordinator_unavailable');
    expect(app.eventTypes()).not.toContain('refresh_failed');
  });

  it('that holds something else shows nothing of it', async () => {
    const shared = createShared();
    const forged = {
      ...shared,
      take: async (...asked: Parameters<typeof shared.take>) => ({
        ...(await shared.take(...asked)),
        line: '{"spent":1}',
        version: 'x',
      }),
    };
    const app = await start({ options: { coordinator: forged } });
    const visitor = await app.signedIn();
    const page = await arrive(visitor, ask(app));
    expect([page.status, app.supabase.calls('authorization')]).toEqual([200, 1]);
  });
});
