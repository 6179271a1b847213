import { requireSession } from '../../../lib/backend/index.ts';
import { ada, continueAsOther, postForm, setSession, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { sendText } from '../../support/hosts.ts';
import { flowPrefix } from '../../support/variant.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { until } from '../../support/until.ts';

let app: BackendApp;
afterEach(() => app.close());

async function start(setup: BackendAppSetup = {}) {
  app = await startBackendApp({
    after: (host) => {
      host.get('/vault', requireSession({ aal: 'aal2' }), (_req, res) => sendText(res, 'vault'));
    },
    ...setup,
  });
}

const code = (factor: { readonly secret: string }): string => app.supabase.codeOf(factor);
const wrong = (right: string): string => (right === '000000' ? '111111' : '000000');

/** The first factor of an enrolled user. */
async function firstFactor(returnTo = '/vault'): Promise<{ visitor: Visitor; answer: Answer }> {
  const visitor = app.visitor();
  const answer = await postForm(visitor, '/auth/login', { ...ada, returnTo });
  return { visitor, answer };
}

/** Opens the link for a new password of `email` in this browser. */
async function openRecovery(visitor: Visitor, email: string): Promise<Answer> {
  await app.visitor().postJson('/auth/forgot', { email });
  const { tokenHash } = app.supabase.mails.at(-1)!;
  return postForm(visitor, '/auth/confirm', { token_hash: tokenHash, type: 'recovery' });
}

const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
  (await visitor.getJson('/auth/session')).status === 200;

it('leads someone who has lost the app to support, and past the factor once it was removed there', async () => {
  await start({ options: { pages: { links: { help: 'https://help.example/' } } } });
  const factor = app.supabase.addFactor(ada.email);
  const { visitor, answer } = await firstFactor('/account');
  const page = await visitor.get(answer.location);
  expect(page.text).toContain('<a href="https://help.example/">Can’t confirm it’s you? Contact support.</a>');
  app.supabase.removeFactor(ada.email, factor);
  const removed = await visitor.get(answer.location);
  expect(removed.text).not.toContain('Contact support');
  expect((await postForm(visitor, '/auth/verify', {})).headers.location).toBe('/account');
});

describe('a sign-in of a user with a second factor', () => {
  it('waits for the code, and becomes a session with both factors', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const { visitor, answer } = await firstFactor();
    expect([answer.status, answer.headers.location]).toEqual([303, '/auth/verify?returnTo=%2Fvault']);
    expect(await isSignedIn(visitor)).toBe(false);
    expect((await visitor.get('/account')).status).toBe(307);
    expect(app.eventTypes()).not.toContain('signed_in');

    const page = await visitor.get('/auth/verify?returnTo=%2Fvault');
    expect(page.status).toBe(200);
    expect(page.text).toContain('autocomplete="one-time-code"');
    const right = await postForm(visitor, '/auth/verify', { code: code(factor), returnTo: '/vault' });
    expect([right.status, right.headers.location]).toEqual([303, '/vault']);
    expect((await visitor.get('/vault')).text).toBe('vault');
    expect([...visitor.cookies.keys()].filter((name) => /pending|challenge/.test(name))).toEqual([]);
    expect(app.eventTypes().filter((type) => type === 'signed_in')).toHaveLength(1);
  });

  it('gives a JSON client the URL of the form, and accepts its code', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    const first = await visitor.postJson('/auth/login', { ...ada, returnTo: '/vault' });
    expect([first.status, first.json]).toEqual([200, { redirectTo: '/auth/verify?returnTo=%2Fvault' }]);
    expect((await visitor.getJson('/auth/verify')).json).toEqual({ factors: [{ id: factor.id, type: 'totp' }] });
    const answer = await visitor.postJson('/auth/verify', { code: code(factor), factorId: factor.id });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/vault' }]);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('shows the form again after a wrong code, and keeps waiting', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const { visitor } = await firstFactor();
    const page = await postForm(visitor, '/auth/verify', { code: wrong(code(factor)), returnTo: '/vault' });
    expect(page.status).toBe(422);
    expect(page.text).toContain('aria-invalid="true"');
    expect(page.text).toContain('name="returnTo" value="/vault"');
    expect((await visitor.postJson('/auth/verify', { code: '12' })).json.error.code).toBe('code_wrong');
    expect((await visitor.postJson('/auth/verify', { code: '' })).json.error.code).toBe('invalid_request');
    expect((await visitor.postJson('/auth/verify', { code: code(factor) })).status).toBe(200);
  });

  it('must give it after OAuth, too', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    const { location } = await visitor.get('/auth/login?provider=github&returnTo=/vault');
    const callback = await app.supabase.authorize(location, { approve: true, user: ada.email });
    const answer = await visitor.get(callback.href);
    expect([answer.status, answer.headers.location]).toEqual([303, '/auth/verify?returnTo=%2Fvault']);
    expect(await isSignedIn(visitor)).toBe(false);
    const right = await visitor.postJson('/auth/verify', { code: code(factor) });
    expect(right.json).toEqual({ redirectTo: '/vault' });
    expect((await visitor.get('/vault')).text).toBe('vault');
  });

  it('ignores a factor that was never verified', async () => {
    await start();
    app.supabase.addFactor(ada.email, { verified: false });
    const { answer } = await firstFactor('/account');
    expect(answer.headers.location).toBe('/account');
  });

  it('continues without the factor once an administrator has removed it', async () => {
    await start();
    const elsewhere = await app.signedIn();
    const factor = app.supabase.addFactor(ada.email);
    const { visitor } = await firstFactor('/account');
    app.supabase.removeFactor(ada.email, factor);
    const page = await visitor.get('/auth/verify?returnTo=/account');
    expect([page.status, page.text.includes('Two-step sign-in is off')]).toEqual([200, true]);
    expect(await isSignedIn(visitor)).toBe(false);
    const answer = await postForm(visitor, '/auth/verify', { returnTo: '/account' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/account']);
    expect(await isSignedIn(visitor)).toBe(true);
    // Supabase ends no other session here, so none is renewed to find out.
    expect([await isSignedIn(elsewhere), app.supabase.calls('refresh')]).toEqual([true, 0]);
  });

  it('ends with sign-out, also at the backend', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const { visitor } = await firstFactor();
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(1);
    await postForm(visitor, '/auth/logout', {});
    expect(app.supabase.sessionsOf(ada.email)).toEqual([]);
    const page = await visitor.get('/auth/verify?returnTo=/vault');
    expect([page.status, page.headers.location]).toEqual([302, '/auth/login?returnTo=%2Fvault']);
  });

  it('expires after ten minutes', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const { visitor } = await firstFactor();
    app.clock.advance(11 * 60_000);
    const answer = await visitor.postJson('/auth/verify', { code: code(factor) });
    expect([answer.status, answer.json.error.code]).toEqual([401, 'unauthenticated']);
    expect(answer.json.redirectTo).toMatch(/^\/auth\/login/);
  });

  it('ends when the backend has ended it', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const { visitor } = await firstFactor();
    for (const { id } of app.supabase.sessionsOf(ada.email)) app.supabase.revokeSession(id);
    const answer = await postForm(visitor, '/auth/verify', { code: code(factor), returnTo: '/vault' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/auth/login?returnTo=%2Fvault']);
    expect([...visitor.cookies.keys()].filter((name) => name.includes('pending'))).toEqual([]);
  });

  it('replaces the session of another user only with the second factor', async () => {
    await start();
    const bob = { email: 'bob@example.com', password: 'another battery' };
    app.supabase.addUser(bob);
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', bob);
    await visitor.postJson('/auth/login', ada);
    const user = async () => (await visitor.getJson('/auth/session')).json.user.email;
    expect(await user()).toBe(bob.email);
    await visitor.postJson('/auth/verify', { code: code(factor) });
    expect(await user()).toBe(ada.email);
    // No response waits for the end at Supabase.
    await until(() => app.supabase.sessionsOf(bob.email).length === 0);
  });

  it('leaves no session if the hook refuses it after the second factor', async () => {
    const asked: unknown[] = [];
    const { AuthError } = await import('../../../lib/errors.ts');
    await start({
      options: {
        onSignIn: ({ session }) => {
          asked.push(session.claims['aal']);
          throw new AuthError('forbidden');
        },
      },
    });
    const factor = app.supabase.addFactor(ada.email);
    const { visitor } = await firstFactor();
    expect(asked).toEqual([]);
    const answer = await visitor.postJson('/auth/verify', { code: code(factor) });
    expect([answer.status, asked]).toEqual([403, ['aal2']]);
    expect(app.supabase.sessionsOf(ada.email)).toEqual([]);
    expect(visitor.cookies.size).toBe(0);
  });

  it('can be retried after an outage in which no one could verify its tokens', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const { visitor } = await firstFactor();
    await app.supabase.rotateKeys();
    app.supabase.fail('jwks', 503);
    expect((await visitor.postJson('/auth/verify', { code: code(factor) })).status).toBe(503);
    app.supabase.heal();
    app.clock.advance(60_000);
    expect((await visitor.postJson('/auth/verify', { code: code(factor) })).status).toBe(200);
    expect(await isSignedIn(visitor)).toBe(true);
  });
});

describe('a phone as the second factor', () => {
  it('gets its code by a POST, and that code completes the sign-in', async () => {
    await start({ standIn: { phoneFactors: true } });
    const factor = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    const { visitor } = await firstFactor();
    const page = await visitor.get('/auth/verify?returnTo=/vault');
    expect(page.text).toContain('ending in 123');
    expect(page.text).not.toContain('15550');
    expect(app.supabase.texts).toEqual([]);
    const sent = await postForm(visitor, '/auth/verify', { send: factor.id, returnTo: '/vault' });
    expect([sent.status, sent.text.includes('one-time-code')]).toEqual([200, true]);
    const [challenge] = app.supabase.requests.filter(({ endpoint }) => endpoint === 'challenge');
    expect(challenge?.body).toMatchObject({ channel: 'sms' });
    const { code: right } = app.supabase.texts[0]!;
    const bad = await postForm(visitor, '/auth/verify', { code: wrong(right), factorId: factor.id });
    expect([bad.status, bad.text.includes('one-time-code')]).toEqual([422, true]);
    const answer = await postForm(visitor, '/auth/verify', { code: right, factorId: factor.id, returnTo: '/vault' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/vault']);
    expect((await visitor.get('/vault')).text).toBe('vault');
    expect([...visitor.cookies.keys()].filter((name) => name.endsWith('-challenge'))).toEqual([]);
  });

  it('shows how long to wait before another code is sent', async () => {
    await start({ standIn: { phoneFactors: true } });
    const factor = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    const { visitor } = await firstFactor();
    expect((await visitor.postJson('/auth/verify', { send: factor.id })).json).toMatchObject({ factorId: factor.id });
    // Not a double click any more.
    app.clock.advance(3_000);
    const again = await visitor.postJson('/auth/verify', { send: factor.id });
    expect([again.status, again.json.error.code]).toEqual([429, 'rate_limited']);
    expect(Number(again.headers['retry-after'])).toBe(57);
  });

  it('requires a code that was sent', async () => {
    await start({ standIn: { phoneFactors: true } });
    app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123' });
    const { visitor } = await firstFactor();
    expect((await visitor.postJson('/auth/verify', { code: '123456' })).json.error.code).toBe('code_wrong');
  });

  it('can be used beside an app', async () => {
    await start({ standIn: { phoneFactors: true } });
    const phone = app.supabase.addFactor(ada.email, { type: 'phone', phone: '15550123', name: 'p' });
    const totp = app.supabase.addFactor(ada.email);
    const { visitor } = await firstFactor();
    const page = await visitor.get('/auth/verify');
    expect(page.text).toContain('authenticator app');
    expect(page.text).toContain(`factorId=${phone.id}`);
    expect((await visitor.get(`/auth/verify?factorId=${phone.id}`)).text).toContain('ending in 123');
    const given = await visitor.postJson('/auth/verify', { code: code(totp) });
    expect([given.status, given.setCookies.filter((line) => line.includes('-challenge='))]).toEqual([200, []]);
  });
});

describe('the other sessions of a user who gives a second factor', () => {
  it('end here, too, unless they have the second factor', async () => {
    await start();
    const [one, other] = [await app.signedIn(), await app.signedIn()];
    const factor = app.supabase.addFactor(ada.email);
    const { visitor: safe } = await firstFactor();
    await safe.postJson('/auth/verify', { code: code(factor) });
    expect([await isSignedIn(one), await isSignedIn(other)]).toEqual([false, false]);
    expect(await isSignedIn(safe)).toBe(true);
    // Tokens have a resolution of one second.
    app.clock.advance(1_000);
    const { visitor } = await firstFactor();
    expect(await isSignedIn(safe)).toBe(true);
    await visitor.postJson('/auth/verify', { code: code(factor) });
    expect([await isSignedIn(safe), await isSignedIn(visitor)]).toEqual([true, true]);
    expect((await safe.get('/vault')).text).toBe('vault');
  });
});

describe('a new password of a user with a second factor', () => {
  it('ends the other sessions with the second factor already', async () => {
    await start();
    const other = await app.signedIn();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await openRecovery(visitor, ada.email);
    await postForm(visitor, '/auth/verify', { code: code(factor) });
    expect(await isSignedIn(other)).toBe(false);
    expect((await postForm(visitor, '/auth/password', { password: 'a whole new password' })).status).toBe(303);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('is set after the second factor, and both make the session', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await visitor.postJson('/auth/forgot', { email: ada.email, returnTo: '/vault' });
    const { tokenHash } = app.supabase.mails.at(-1)!;
    const fields = { token_hash: tokenHash, type: 'recovery', returnTo: '/vault' };
    const link = await postForm(visitor, '/auth/confirm', fields);
    expect(link.headers.location).toBe('/auth/verify?returnTo=%2Fvault');
    const early = await visitor.get('/auth/password?returnTo=/vault');
    expect([early.status, early.headers.location]).toEqual([303, '/auth/verify?returnTo=%2Fvault']);
    const given = await postForm(visitor, '/auth/verify', { code: code(factor), returnTo: '/vault' });
    expect([given.status, given.headers.location]).toEqual([303, '/auth/password?returnTo=%2Fvault']);
    expect(await isSignedIn(visitor)).toBe(false);
    expect((await visitor.get('/auth/verify')).headers.location).toBe('/auth/password?returnTo=%2Fvault');
    app.clock.advance(5_000);
    const done = await postForm(visitor, '/auth/password', { password: 'a whole new password', returnTo: '/vault' });
    expect([done.status, done.headers.location]).toEqual([303, '/vault']);
    const issued = visitor.cookieHeader();
    expect((await visitor.get('/vault')).text).toBe('vault');
    expect(visitor.cookieHeader()).toBe(issued);
  });

  it('requires no second factor once an administrator has removed it', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await openRecovery(visitor, ada.email);
    app.supabase.removeFactor(ada.email, factor);
    const answer = await postForm(visitor, '/auth/verify', {});
    expect(answer.headers.location).toBe('/auth/password');
    expect((await visitor.get('/auth/password')).status).toBe(200);
  });
});

describe('a session without its second factor', () => {
  it('gives it here, keeps its id, and is not asked again', async () => {
    await start();
    const visitor = await app.signedIn();
    const factor = app.supabase.addFactor(ada.email);
    const [before] = app.supabase.sessionsOf(ada.email);
    const answer = await postForm(visitor, '/auth/verify', { code: code(factor), returnTo: '/vault' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/vault']);
    expect((await visitor.get('/vault')).text).toBe('vault');
    expect(app.supabase.sessionsOf(ada.email).map(({ id }) => id)).toEqual([before!.id]);
    const again = await visitor.get('/auth/verify?returnTo=/vault');
    expect([again.status, again.headers.location]).toEqual([302, '/vault']);
  });

  it('is redirected to add a factor if there is none', async () => {
    await start();
    const visitor = await app.signedIn();
    const answer = await visitor.get('/auth/verify?returnTo=/vault');
    expect([answer.status, answer.headers.location]).toEqual([302, '/auth/enroll?returnTo=%2Fvault']);
    const posted = await postForm(visitor, '/auth/verify', { code: '123456', returnTo: '/vault' });
    expect([posted.status, posted.headers.location]).toEqual([303, '/auth/enroll?returnTo=%2Fvault']);
  });

  it('gives its own when a link of the same user is open, and continues to the form for the password', async () => {
    await start();
    const visitor = await app.signedIn();
    await openRecovery(visitor, ada.email);
    const factor = app.supabase.addFactor(ada.email);
    const given = await postForm(visitor, '/auth/verify', { code: code(factor), returnTo: '/vault' });
    expect([given.status, given.headers.location]).toEqual([303, '/auth/password?returnTo=%2Fvault']);
  });

  it('gives it even if other processes cannot be informed', async () => {
    const down = () => Promise.reject(new Error('down'));
    await start({
      options: { coordinator: { read: down, merge: down, take: down, settle: down } },
    });
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email));
    const given = await postForm(visitor, '/auth/verify', { code: code(factor), returnTo: '/vault' });
    expect([given.status, given.headers.location]).toEqual([303, '/vault']);
  });

  it('ends when the backend reports that it is gone', async () => {
    await start();
    const visitor = await app.signedIn();
    app.supabase.addFactor(ada.email);
    for (const { id } of app.supabase.sessionsOf(ada.email)) app.supabase.revokeSession(id);
    const answer = await visitor.get('/auth/verify?returnTo=/vault');
    expect([answer.status, answer.headers.location]).toEqual([302, '/auth/login?returnTo=%2Fvault']);
    expect(await isSignedIn(visitor)).toBe(false);
  });
});

describe('a browser with an unfinished sign-in of another user', () => {
  const bob = { email: 'bob@example.com', password: 'bobs long password' };

  it('asks for the factor of that sign-in until it is complete or signed out, also beside a session', async () => {
    await start();
    app.supabase.addUser(bob);
    const [own, other] = [app.supabase.addFactor(bob.email), app.supabase.addFactor(ada.email)];
    const visitor = app.visitor();
    // Issued before the factor was added.
    setSession(visitor, await app.supabase.issueSession(ada.email));
    await openRecovery(visitor, bob.email);
    await continueAsOther(visitor);
    const guarded = await visitor.get('/vault');
    expect(guarded.headers.location).toBe('/auth/verify?returnTo=%2Fvault');
    expect((await visitor.get(guarded.location)).text).toContain(own.id);
    expect((await visitor.getJson('/auth/verify')).json).toEqual({ factors: [{ id: own.id, type: 'totp' }] });
    expect((await visitor.postJson('/auth/verify', { code: code(other) })).json.error.code).toBe('code_wrong');
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
    await visitor.post('/auth/logout');
    await visitor.postJson('/auth/login', ada);
    expect((await visitor.get('/auth/verify')).text).toContain(other.id);
  });

  it('asks for the factor of the session once that sign-in has expired', async () => {
    await start();
    app.supabase.addUser(bob);
    const [own, other] = [app.supabase.addFactor(bob.email), app.supabase.addFactor(ada.email)];
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email));
    await openRecovery(visitor, bob.email);
    await continueAsOther(visitor);
    expect((await visitor.get('/auth/verify')).text).toContain(own.id);
    app.clock.advance(11 * 60_000);
    expect((await visitor.get('/auth/verify')).text).toContain(other.id);
  });

  it.each(['recovery', 'magiclink'] as const)('asks for the factor of a link (%s) if it leads there', async (type) => {
    await start({ options: { signInMethods: ['password', 'code'] } });
    app.supabase.addUser(bob);
    const [own, other] = [app.supabase.addFactor(bob.email), app.supabase.addFactor(ada.email)];
    const visitor = app.visitor();
    // Issued before the factor was added.
    setSession(visitor, await app.supabase.issueSession(ada.email));
    await app.visitor().postJson(type === 'recovery' ? '/auth/forgot' : '/auth/code', { email: bob.email });
    const fields = { token_hash: app.supabase.mails.at(-1)!.tokenHash, type, returnTo: '/account' };
    await postForm(visitor, '/auth/confirm', fields);
    let answer = await continueAsOther(visitor);
    expect([answer.status, answer.headers.location]).toEqual([303, '/auth/verify?returnTo=%2Faccount']);
    const page = await visitor.get(answer.location);
    expect([page.text.includes(own.id), page.text.includes(other.id)]).toEqual([true, false]);
    answer = await postForm(visitor, '/auth/verify', { code: code(own), returnTo: '/account' });
    if (type === 'recovery') {
      expect(answer.headers.location).toBe('/auth/password?returnTo=%2Faccount');
      answer = await postForm(visitor, '/auth/password', { password: 'a brand new password', returnTo: '/account' });
    }
    expect([answer.status, answer.headers.location]).toEqual([303, '/account']);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(bob.email);
  });

  it('keeps the form of its sign-in in progress, whatever session another tab stores meanwhile', async () => {
    await start();
    app.supabase.addUser(bob);
    const [own] = [app.supabase.addFactor(bob.email), app.supabase.addFactor(ada.email)];
    const visitor = app.visitor();
    await postForm(visitor, '/auth/login', { ...bob, returnTo: '/account' });
    setSession(visitor, await app.supabase.issueSession(ada.email));
    const given = await postForm(visitor, '/auth/verify', { code: code(own), returnTo: '/account' });
    expect([given.status, given.headers.location]).toEqual([303, '/account']);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(bob.email);
  });

  it('asks for the factor of the sign-in in progress once the session has given its own', async () => {
    await start();
    app.supabase.addUser(bob);
    const factor = app.supabase.addFactor(bob.email);
    const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
    await openRecovery(visitor, bob.email);
    await continueAsOther(visitor);
    expect((await visitor.get('/auth/verify')).text).toContain(factor.id);
  });
});

it('does not refresh an expired session beside a sign-in in progress', async () => {
  await start();
  app.supabase.addFactor(ada.email);
  const visitor = app.visitor();
  setSession(visitor, await app.supabase.issueSession(ada.email, { ttl: -60 }));
  const answer = await postForm(visitor, '/auth/login', { ...ada, returnTo: '/vault' });
  expect([answer.status, answer.headers.location]).toEqual([303, '/auth/verify?returnTo=%2Fvault']);
  expect(app.supabase.calls('refresh')).toBe(0);
});

it('ignores the cookie of a sign-in in progress whose token has both factors', async () => {
  await start();
  const factor = app.supabase.addFactor(ada.email);
  const { access_token, refresh_token } = await app.supabase.issueSession(ada.email, { claims: { aal: 'aal2' } });
  const value = JSON.stringify({ needs: ['factor'], returnTo: '/vault', access_token, refresh_token });
  const visitor = app.visitor();
  setSession(visitor, await app.supabase.issueSession(ada.email));
  visitor.cookies.set(`${flowPrefix}${app.cookieName}-pending`, Buffer.from(value).toString('base64url'));
  const guarded = await visitor.get('/vault');
  const page = await visitor.get(guarded.location);
  expect([page.status, page.text.includes('one-time-code')]).toEqual([200, true]);
  await postForm(visitor, '/auth/verify', { code: code(factor) });
  expect((await visitor.get('/vault')).text).toBe('vault');
});
