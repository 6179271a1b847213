import { endSession } from '../../lib/backend/index.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { createShared } from '../support/shared-memory.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

const eve = { email: 'eve@example.com', password: 'battery staple' };
const claimsMail = /check your email|we sent/i;

/** A form sent twice by one browser, which shows the response to the second; with a gap, the first has been answered. */
async function twice(gapMs: number, send: () => Promise<Answer>): Promise<readonly Answer[]> {
  const first = send();
  if (gapMs > 0) await first;
  app.clock.advance(gapMs);
  const second = send();
  return [await first, await second];
}

const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
  (await visitor.getJson('/auth/session')).status === 200;

it('a form that is sent again before its answer has arrived shares it, for two seconds', async () => {
  await start({ options: { signInMethods: ['code'] } });
  const visitor = app.visitor();
  await postForm(visitor, '/auth/code', { email: ada.email });
  const [tab, late] = [app.visitor(), app.visitor()];
  for (const [name, value] of visitor.cookies) [tab, late].forEach(({ cookies }) => cookies.set(name, value));
  const fields = { email: ada.email, code: app.supabase.mails[0]!.token };
  expect((await postForm(visitor, '/auth/code', fields)).status).toBe(303);
  expect((await postForm(tab, '/auth/code', fields)).status).toBe(303);
  expect(await isSignedIn(tab)).toBe(true);
  app.clock.advance(2_001);
  expect((await postForm(late, '/auth/code', fields)).status).toBe(422);
});

describe.each([0, 150, 600])('a form that is sent twice, %i ms apart, shows its first result', (gapMs) => {
  it('at sign-up: the session, and no word of an email', async () => {
    await start();
    const visitor = app.visitor();
    const answers = await twice(gapMs, () => postForm(visitor, '/auth/signup', { ...eve, returnTo: '/account' }));
    expect(answers.map(({ status, headers }) => [status, headers.location])).toEqual([
      [303, '/account'],
      [303, '/account'],
    ]);
    expect([app.supabase.calls('signup'), await isSignedIn(visitor)]).toEqual([1, true]);
    expect(app.eventTypes()).toEqual(['signed_in']);
  });

  it('with a password', async () => {
    await start();
    const visitor = app.visitor();
    const answers = await twice(gapMs, () => postForm(visitor, '/auth/login', ada));
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect([app.supabase.sessionsOf(ada.email).length, await isSignedIn(visitor)]).toEqual([1, true]);
  });

  it('with an emailed code: the email, and then the session', async () => {
    await start({ options: { signInMethods: ['code'] } });
    const visitor = app.visitor();
    const sent = await twice(gapMs, () => postForm(visitor, '/auth/code', { email: ada.email }));
    expect(sent.map(({ status }) => status)).toEqual([200, 200]);
    expect(app.supabase.mails).toHaveLength(1);
    const { token: code } = app.supabase.mails[0]!;
    const answers = await twice(gapMs, () => postForm(visitor, '/auth/code', { email: ada.email, code }));
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('with the button of an email’s link', async () => {
    await start({ standIn: { autoconfirm: false } });
    const visitor = app.visitor();
    await postForm(visitor, '/auth/signup', eve);
    const fields = { token_hash: app.supabase.mails[0]!.tokenHash, type: 'signup', returnTo: '/account' };
    const answers = await twice(gapMs, () => postForm(visitor, '/auth/confirm', fields));
    expect(answers.map(({ status, headers }) => [status, headers.location])).toEqual([
      [303, '/account'],
      [303, '/account'],
    ]);
    expect([app.supabase.calls('verify'), await isSignedIn(visitor)]).toEqual([1, true]);
    expect(app.eventTypes()).toEqual(['signed_in']);
  });

  it('at the enrollment of an app: one factor, and then one code', async () => {
    await start();
    const visitor = await app.signedIn();
    const started = await twice(gapMs, () => visitor.postJson('/auth/enroll'));
    expect(started.map(({ status }) => status)).toEqual([200, 200]);
    expect(started[1]!.json).toEqual(started[0]!.json);
    const { factorId, secret } = started[0]!.json;
    const code = app.supabase.codeOf({ secret });
    const answers = await twice(gapMs, () => visitor.postJson('/auth/enroll', { factorId, code }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  it('at a second factor, whose first answer deletes a cookie', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    const code = app.supabase.codeOf(factor);
    const answers = await twice(gapMs, () => visitor.postJson('/auth/verify', { code, returnTo: '/account' }));
    expect(answers.map(({ status, json }) => [status, json])).toEqual([
      [200, { redirectTo: '/account' }],
      [200, { redirectTo: '/account' }],
    ]);
    expect(app.supabase.calls('verify-factor')).toBe(1);
  });

  it('at a new password', async () => {
    await start();
    const visitor = await app.signedIn();
    const fields = { currentPassword: ada.password, password: 'another battery' };
    const answers = await twice(gapMs, () => postForm(visitor, '/auth/password', fields));
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it.each(['/auth/forgot', '/auth/resend'])('at %s: one email', async (path) => {
    await start({ standIn: { autoconfirm: false } });
    app.supabase.addUser({ ...eve, confirmed: false });
    const email = path === '/auth/forgot' ? ada.email : eve.email;
    const visitor = app.visitor();
    const answers = await twice(gapMs, () => postForm(visitor, path, { email }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[1]!.text).toBe(answers[0]!.text);
    expect(app.supabase.mails).toHaveLength(1);
  });

  it('at single sign-on: one way to the provider', async () => {
    await start({ options: { sso: true }, standIn: { ssoDomains: new Set(['choir.example']) } });
    const visitor = app.visitor();
    const answers = await twice(gapMs, () => postForm(visitor, '/auth/sso', { domain: 'choir.example' }));
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(answers[1]!.headers.location).toBe(answers[0]!.headers.location);
  });
});

describe('the shared result of a form', () => {
  it.each([
    ['another address', { 'x-forwarded-for': '203.0.113.9' }],
    ['another kind of browser', { 'user-agent': 'Another/1.0' }],
  ])('lets no browser in that has %s', async (_name, headers) => {
    await start({
      options: { signInMethods: ['code'], clientAddress: (req) => String(req.headers['x-forwarded-for'] ?? 'here') },
    });
    await postForm(app.visitor(), '/auth/code', { email: ada.email });
    const fields = { email: ada.email, code: app.supabase.mails[0]!.token };
    const [one, other] = [app.visitor(), app.visitor()];
    const answers = await Promise.all([
      postForm(one, '/auth/code', fields),
      postForm(other, '/auth/code', fields, headers),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 422]);
    expect([await isSignedIn(one), await isSignedIn(other)].filter(Boolean)).toHaveLength(1);
  });

  it('lets no browser in that lacks the cookies of the first response and does not know the password', async () => {
    await start();
    const [one, other] = [app.visitor(), app.visitor()];
    await postForm(one, '/auth/signup', eve);
    expect((await postForm(other, '/auth/signup', { ...eve, password: 'battery stapler' })).status).toBe(409);
    expect(await isSignedIn(other)).toBe(false);
  });

  it('is a sign-up’s for two seconds, also in a browser that has no cookie of ours', async () => {
    await start();
    const [first, second, late] = [app.visitor(), app.visitor(), app.visitor()];
    await postForm(first, '/auth/signup', { ...eve, returnTo: '/account' });
    app.clock.advance(400);
    const answer = await postForm(second, '/auth/signup', { ...eve, returnTo: '/account' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/account']);
    expect([app.supabase.calls('signup'), await isSignedIn(second)]).toEqual([1, true]);
    app.clock.advance(1_601);
    expect((await postForm(late, '/auth/signup', { ...eve, returnTo: '/account' })).status).toBe(409);
    expect(app.eventTypes().filter((type) => type === 'signed_in')).toHaveLength(1);
  });

  it.each([
    ['no cookie of ours', ''],
    ['another cookie of ours', 'challenge'],
  ])('is over with the session that it left, in a browser with %s', async (_browser, cookie) => {
    await start();
    const visitor = app.visitor();
    if (cookie !== '') visitor.cookies.set(`${app.cookieName}-${cookie}`, 'x');
    await postForm(visitor, '/auth/login', ada);
    await visitor.postJson('/auth/logout');
    const answer = await postForm(visitor, '/auth/login', ada);
    expect([answer.status, await isSignedIn(visitor)]).toEqual([303, true]);
    await postForm(visitor, '/auth/signup', eve);
    await visitor.postJson('/auth/logout');
    expect((await postForm(visitor, '/auth/signup', eve)).status).toBe(409);
  });

  it('is a session of their own for two browsers that sign in one after the other', async () => {
    await start();
    await app.signedIn();
    await app.signedIn();
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(2);
  });

  it('is over with the session: the same form is then a new sign-in', async () => {
    await start();
    const visitor = await app.signedIn();
    await visitor.postJson('/auth/logout');
    await visitor.postJson('/auth/login', ada);
    expect(app.eventTypes().filter((type) => type === 'signed_in')).toHaveLength(2);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('is over with a session that was ended: the same form, sent twice, is one new sign-in', async () => {
    const shared = createShared();
    const read: typeof shared.read = async (subject) => {
      await new Promise((resolve) => setImmediate(resolve));
      return shared.read(subject);
    };
    await start({ options: { coordinator: { ...shared, read } } });
    const visitor = await app.signedIn();
    await postForm(visitor, '/auth/login', ada);
    const { id: userId } = (await visitor.getJson('/auth/session')).json.user as { readonly id: string };
    app.clock.advance(1_000);
    await endSession(app.auth, { userId });
    const answers = await Promise.all([1, 2].map(() => postForm(visitor, '/auth/login', ada)));
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(app.eventTypes().filter((type) => type === 'signed_in')).toHaveLength(3);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('is over after two seconds, and a failure with its response', async () => {
    await start();
    const visitor = app.visitor();
    for (let round = 0; round < 2; round += 1) await postForm(visitor, '/auth/login', { ...ada, password: 'wrong' });
    expect(app.eventTypes()).toEqual(['sign_in_failed', 'sign_in_failed']);
    await postForm(visitor, '/auth/login', ada);
    for (let round = 0; round < 2; round += 1) await postForm(visitor, '/auth/login', { ...ada, password: 'wrong' });
    expect(app.eventTypes().filter((type) => type === 'sign_in_failed')).toHaveLength(4);
    app.clock.advance(3_000);
    await postForm(visitor, '/auth/login', ada);
    expect(app.eventTypes().filter((type) => type === 'signed_in')).toHaveLength(2);
  });

  it('is a failure for both where the first one failed', async () => {
    await start();
    const visitor = app.visitor();
    const wrong = { ...ada, password: 'wrong' };
    const answers = await twice(0, () => visitor.postJson('/auth/login', wrong));
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
  });
});

it('a project that is known not to confirm addresses never says that it sent an email', async () => {
  await start();
  await postForm(app.visitor(), '/auth/signup', eve);
  app.supabase.switches.mailFailure = 'smtp';
  app.supabase.switches.autoconfirm = false;
  const answer = await postForm(app.visitor(), '/auth/signup', { ...eve, email: 'eva@example.com' });
  expect([answer.status, claimsMail.test(answer.text)]).toEqual([503, false]);
});
