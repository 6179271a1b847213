import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import type { Visitor } from '../support/visitor.ts';

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
