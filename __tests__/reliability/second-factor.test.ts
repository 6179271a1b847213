import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import type { Visitor } from '../support/visitor.ts';
import { requireSession } from '../../lib/backend/index.ts';
import { sendText } from '../support/hosts.ts';

let app: BackendApp;
beforeEach(async () => {
  app = await startBackendApp({ options: { timeoutMs: 1_500 } });
});
afterEach(() => app.close());

async function firstFactor(): Promise<Visitor> {
  const visitor = app.visitor();
  await visitor.postJson('/auth/login', { ...ada, returnTo: '/account' });
  return visitor;
}

describe('an outage between the two factors', () => {
  it.each([
    ['user', 503],
    ['user', 'hang'],
    ['challenge', 'html502'],
    ['challenge', 'refuse'],
    ['verify-factor', 500],
    ['verify-factor', 'hang'],
    ['verify-factor', 'reset'],
    // The work is done, its answer is lost.
    ['verify-factor', 'lost'],
  ] as const)('of /%s (%s) is a 503, and the same sign-in continues afterwards', async (endpoint, fault) => {
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    app.supabase.fail(endpoint, fault);
    // More than the five wrong codes that are allowed: an outage does not count.
    for (let count = 0; count < (fault === 'hang' ? 1 : 6); count += 1) {
      const answer = await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) });
      expect([answer.status, answer.json.error.code]).toEqual([503, 'provider_unavailable']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    app.supabase.heal();
    const answer = await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/account' }]);
    expect((await visitor.get('/account')).text).toBe('account');
  });

  it.each([
    ['challenge', 200],
    // GoTrue may have judged the code.
    ['verify-factor', 429],
  ] as const)('in which /%s hangs after four wrong codes: the next code gets %i', async (endpoint, status) => {
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    const enter = (code: string) => visitor.postJson('/auth/verify', { code });
    const wrong = String((Number(app.supabase.codeOf(factor)) + 1) % 1_000_000).padStart(6, '0');
    for (let count = 0; count < 4; count += 1) expect((await enter(wrong)).status).toBe(422);
    app.supabase.fail(endpoint, 'hang');
    expect((await enter(app.supabase.codeOf(factor))).status).toBe(503);
    app.supabase.heal();
    expect((await enter(app.supabase.codeOf(factor))).status).toBe(status);
  });

  it.each(['request_timeout', 'hook_timeout'])('in which /challenge answers %s closes no factor', async (code) => {
    let isSlow = false;
    await app.close();
    const answer = { status: 504, headers: { 'content-type': 'application/json' } };
    const slow = (): Response => new Response(JSON.stringify({ code, message: 'slow' }), answer);
    const ask = (input: string | URL, init?: RequestInit) =>
      isSlow && String(input).endsWith('/challenge') ? Promise.resolve(slow()) : fetch(input, init);
    app = await startBackendApp({ options: { fetch: ask as typeof fetch } });
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    isSlow = true;
    for (let count = 0; count < 6; count += 1) {
      expect((await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) })).status).toBe(503);
    }
    isSlow = false;
    expect((await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) })).status).toBe(200);
  });

  it('sends no code after the deadline, even if the application’s fetch ignores it', async () => {
    const held = Promise.withResolvers<undefined>();
    const sent: string[] = [];
    await app.close();
    const ask = async (input: string | URL, init?: RequestInit) => {
      sent.push(String(input));
      if (String(input).endsWith('/challenge')) await held.promise;
      return fetch(input, { ...init, signal: null });
    };
    app = await startBackendApp({ options: { timeoutMs: 1_500, fetch: ask as typeof fetch } });
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    expect((await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) })).status).toBe(503);
    held.resolve(undefined);
    // A second code asks for its own challenge, which is answered after the first one.
    expect((await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) })).status).toBe(200);
    expect(sent.filter((url) => url.endsWith('/challenge'))).toHaveLength(2);
    expect(sent.filter((url) => /\/factors\/[^/]+\/verify$/.test(url))).toHaveLength(1);
  });

  it('keeps the form, and shows how long to wait', async () => {
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    app.supabase.fail('verify-factor', 503);
    const page = await postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(factor) });
    expect([page.status, page.text.includes('one-time-code')]).toEqual([503, true]);
  });

  it('keeps a live session unchanged', async () => {
    const visitor = await app.signedIn();
    app.supabase.fail('user', 503);
    expect((await visitor.get('/auth/enroll')).status).toBe(503);
    expect((await visitor.get('/auth/verify')).status).toBe(503);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('reports the backend’s own limit, and keeps the sign-in', async () => {
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    app.supabase.fail('challenge', 429, 1);
    const limited = await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) });
    expect([limited.status, Number(limited.headers['retry-after']) > 0]).toEqual([429, true]);
    expect((await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) })).status).toBe(200);
  });
});

describe.each(['strict', 'parent'] as const)('a session of before a code (reuse of tokens: %s)', (reuse) => {
  const minute = 60_000;
  let isLost = false;
  beforeEach(async () => {
    isLost = false;
    await app.close();
    app = await startBackendApp({
      standIn: { reuse },
      before: (host) =>
        host.use((req, res, next) => {
          // The work is done, and its response breaks off before the head.
          if (isLost && req.url === '/auth/verify') res.writeHead = res.end = () => res.destroy();
          next();
        }),
      after: (host) => host.get('/vault', requireSession({ aal: 'aal2' }), (_req, res) => sendText(res, 'vault')),
    });
  });

  /** @returns a browser that has sent a code, and still has its cookies of before */
  async function sendCode(beforeMs: number): Promise<Visitor> {
    const visitor = await app.signedIn();
    const factor = app.supabase.addFactor(ada.email);
    app.clock.advance(beforeMs);
    const sent = new Map(visitor.cookies);
    await postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(factor) }).catch(() => undefined);
    visitor.cookies.clear();
    for (const [name, value] of sent) visitor.cookies.set(name, value);
    return visitor;
  }

  it.each([
    ['had expired', 61 * minute, minute],
    ['expires meanwhile', minute, 61 * minute],
  ])('goes on with its tokens where the response is lost and the token %s', async (_title, before, after) => {
    isLost = true;
    const visitor = await sendCode(before);
    app.clock.advance(after);
    expect([(await visitor.get('/account')).status, (await visitor.get('/vault')).text]).toEqual([200, 'vault']);
  });

  it('gets them for 25 seconds from the response on', async () => {
    const visitor = await sendCode(61 * minute);
    app.clock.advance(25_000);
    expect((await visitor.get('/vault')).text).toBe('vault');
  });

  it('gets them from the provider alone afterward, though no request has shown them', async () => {
    const visitor = await sendCode(minute);
    app.clock.advance(61 * minute);
    // One that takes the token of before again gives the newest ones.
    expect((await visitor.get('/vault')).status).toBe(reuse === 'parent' ? 200 : 307);
  });
});

describe('two tabs', () => {
  it('that send the same code both end signed in', async () => {
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    const code = app.supabase.codeOf(factor);
    const answers = await Promise.all([
      visitor.postJson('/auth/verify', { code }),
      visitor.postJson('/auth/verify', { code }),
    ]);
    expect(answers.map(({ status }) => status)).toContain(200);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('of which one signs out end without a session', async () => {
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    const gate = app.supabase.gate('verify-factor');
    const giving = visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) });
    await gate.waitFor(1);
    await visitor.postJson('/auth/logout');
    gate.open();
    await giving;
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(app.supabase.sessionsOf(ada.email)).toEqual([]);
  });
});
