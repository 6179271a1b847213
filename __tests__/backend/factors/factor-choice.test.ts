import { ada, postForm, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import type { Visitor } from '../../support/visitor.ts';

let app: BackendApp;
afterEach(() => app.close());

const start = async (setup: BackendAppSetup = {}): Promise<BackendApp> =>
  (app = await startBackendApp({ ...setup, standIn: { phoneFactors: true } }));

async function firstFactor(): Promise<Visitor> {
  const visitor = app.visitor();
  await visitor.postJson('/auth/login', ada);
  return visitor;
}

/** Changes the backend's answers about the user. */
const changed =
  (change: (user: Record<string, unknown>) => unknown): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    if (!new Request(input).url.endsWith('/user') || !response.ok) return response;
    return Response.json(change((await response.json()) as Record<string, unknown>));
  };

describe('the page of the code', () => {
  it('asks for the factor that its URL names, and for the first one if the id is unknown', async () => {
    await start();
    const first = app.supabase.addFactor(ada.email);
    const phone = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    const visitor = await firstFactor();
    const asksFor = async (id: string): Promise<boolean> =>
      (await visitor.get(`/auth/verify?factorId=${id}`)).text.includes('Send a code');
    expect([await asksFor(phone.id), await asksFor(phone.id.toUpperCase()), await asksFor(first.id)]).toEqual([
      true,
      true,
      false,
    ]);
    const gone = await visitor.get('/auth/verify?factorId=gone');
    expect([gone.text.includes('one-time-code'), gone.text.includes('no longer')]).toEqual([true, false]);
  });

  it('keeps the factor after a wrong code', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const other = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    const page = await postForm(visitor, '/auth/verify', { factorId: other.id, code: 'wrong' });
    expect(page.text).toContain(`name="factorId" value="${other.id}"`);
    const unknown = await postForm(visitor, '/auth/verify', { factorId: 'gone', code: '123456' });
    expect([unknown.status, unknown.text.includes('one-time-code')]).toEqual([422, true]);
  });

  it('offers another account, to a sign-in in progress and to a session', async () => {
    await start();
    const session = await app.signedIn();
    app.supabase.addFactor(ada.email);
    const waiting = await firstFactor();
    const offers = async (visitor: Visitor) => (await visitor.get('/auth/verify')).text.includes('Use another account');
    expect([await offers(waiting), await offers(session)]).toEqual([true, true]);
  });

  it('ignores a factor that was never verified', async () => {
    await start();
    const verified = app.supabase.addFactor(ada.email);
    const unverified = app.supabase.addFactor(ada.email, { verified: false });
    const visitor = await firstFactor();
    expect((await visitor.getJson('/auth/verify')).json).toEqual({ factors: [{ id: verified.id, type: 'totp' }] });
    const given = { factorId: unverified.id, code: app.supabase.codeOf(unverified) };
    expect((await visitor.postJson('/auth/verify', given)).status).toBe(422);
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'sign_in_failed', reason: 'factor' }));
  });

  it('redirects to sign-in if the backend ends the session between the two calls', async () => {
    let isOver = false;
    const ending: typeof fetch = (input, init) =>
      isOver && new Request(input).url.includes('/challenge')
        ? Promise.resolve(Response.json({ code: 'session_not_found', message: 'gone' }, { status: 403 }))
        : fetch(input, init);
    await start({ options: { fetch: ending } });
    const factor = app.supabase.addFactor(ada.email);
    const visitor = await firstFactor();
    isOver = true;
    const answer = await postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(factor), returnTo: '/account' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/auth/login?returnTo=%2Faccount']);
    expect([...visitor.cookies.keys()].filter((name) => name.includes('pending'))).toEqual([]);
  });
});

describe('a code by text message', () => {
  it('is sent only to the user’s own phones', async () => {
    await start();
    const totp = app.supabase.addFactor(ada.email);
    app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    const visitor = await firstFactor();
    for (const send of [totp.id, 'gone', '']) {
      const { status, json } = await visitor.postJson('/auth/verify', { send });
      expect([status, json.error.code]).toEqual([400, 'invalid_request']);
    }
    expect(app.supabase.texts).toEqual([]);
  });

  it('is sent at most ten times in 15 minutes, even if each one worked', async () => {
    await start();
    const visitor = await app.signedIn();
    const phone = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    for (let count = 0; count < 10; count += 1) {
      expect((await visitor.postJson('/auth/verify', { send: phone.id })).status).toBe(200);
      app.clock.advance(61_000);
    }
    expect((await visitor.postJson('/auth/verify', { send: phone.id })).status).toBe(429);
    expect(app.supabase.texts).toHaveLength(10);
    // To this phone: another one has a count of its own.
    const other = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550456', name: 'other' });
    expect((await visitor.postJson('/auth/verify', { send: other.id })).status).toBe(200);
  });

  it('keeps the challenge in an HttpOnly cookie, and ignores altered values', async () => {
    await start();
    const phone = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    const visitor = await firstFactor();
    const missing = await visitor.postJson('/auth/verify', { factorId: phone.id, code: '123456' });
    expect(missing.status).toBe(422);
    expect(app.events).toContainEqual(expect.objectContaining({ reason: 'no_challenge' }));
    const sent = await visitor.postJson('/auth/verify', { send: phone.id });
    const line = sent.setCookies.find((each) => each.includes('-challenge='));
    for (const attribute of ['HttpOnly', 'SameSite=Lax', 'Max-Age=600']) expect(line).toContain(attribute);
    const name = [...visitor.cookies.keys()].find((each) => each.endsWith('-challenge'))!;
    const value = visitor.cookies.get(name)!;
    for (const made of ['x', `${value}.x`, `x${value}`, value.split('.')[0]!]) {
      visitor.cookies.set(name, made);
      expect((await visitor.get('/auth/verify')).text).toContain('Send a code');
    }
    visitor.cookies.set(name, value);
    expect((await visitor.get('/auth/verify')).text).toContain('Send a new code');
  });

  it('is not kept in a cookie if the backend names its challenge in another form', async () => {
    const renamed: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!new Request(input).url.endsWith('/challenge')) return response;
      return Response.json({ ...((await response.json()) as object), id: 'x'.repeat(5_000) });
    };
    await start({ options: { fetch: renamed } });
    const phone = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    const sent = await (await firstFactor()).postJson('/auth/verify', { send: phone.id });
    expect([sent.status, sent.setCookies.filter((line) => line.includes('-challenge='))]).toEqual([200, []]);
  });
});

describe('the backend’s list of factors', () => {
  it('is sanitized: invalid names, kinds and days are left out', async () => {
    const factor = { id: 'a', factor_type: 'totp', status: 'verified', created_at: '2026-01-02T03:04:05Z' };
    const factors = [
      null,
      { ...factor, id: 7 },
      { ...factor, id: 'w', factor_type: 'webauthn' },
      { ...factor, id: 'b', factor_type: 'phone', phone: 7, created_at: 7 },
      { ...factor, friendly_name: 'app-0123456789ab' },
      { ...factor, id: 'c', friendly_name: 'My app-0123456789ab' },
      { ...factor, id: 'd', friendly_name: 'app-0123456789abc' },
      { ...factor, id: 'e', friendly_name: 'app-zzzzzzzzzzzz' },
    ];
    await start({ options: { fetch: changed((user) => ({ ...user, factors })) } });
    const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
    const { text } = await visitor.get('/auth/enroll');
    const rows = [...text.matchAll(/<bdi>(.*?)<\/bdi>(.*?)<\/span>/g)].map(([, name, date]) => `${name}${date}`);
    const date = ' <small>Added <time datetime="2026-01-02">Jan 2, 2026</time></small>';
    const names = ['Authenticator app', 'My app-0123456789ab', 'app-0123456789abc', 'app-zzzzzzzzzzzz'];
    const others = [`Another way (unknown)`, `Security key${date}`];
    const apps = names.map((name) => name + date);
    expect(rows).toEqual([`Authenticator app${date}`, ...apps, 'Phone ending in ', ...others]);
  });

  it('leads to no removal of a factor without an id', async () => {
    const factors = [{ factor_type: 'totp', status: 'verified' }];
    await start({ options: { fetch: changed((user) => ({ ...user, factors })) } });
    const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
    expect((await visitor.get('/auth/enroll?remove=')).text).not.toContain('name="sure"');
  });

  it.each([[undefined], [null]])('may be %s, and is empty then', async (factors) => {
    await start({ options: { fetch: changed((user) => ({ ...user, factors })) } });
    expect((await (await app.signedIn()).getJson('/auth/enroll')).json).toEqual({ factors: [] });
  });
});
