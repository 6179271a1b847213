import { format } from 'node:util';
import createDebug from 'debug';
import { getSupabaseClient } from '../../../lib/backend/index.ts';
import { ada, continueAsOther, postForm, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { changedAnswers } from '../../support/changed-answers.ts';
import { sendText } from '../../support/hosts.ts';
import { until } from '../../support/until.ts';
import { flowPrefix } from '../../support/variant.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { createShared } from '../../support/shared-memory.ts';

const fresh = 'a brand new password';
let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

/** Asks for a link and opens it in the browser that asked: the backend's own link, with a code for the callback. */
async function openDefaultLink(visitor: Visitor, returnTo = '/account'): Promise<Answer> {
  await visitor.postJson('/auth/forgot', { email: ada.email, returnTo });
  const link = await fetch(app.supabase.mails.at(-1)!.confirmationUrl, { redirect: 'manual' });
  return visitor.get(link.headers.get('location') ?? '');
}

/** Opens the link of a template with `token_hash` and presses its button, in any browser. */
async function openHashLink(visitor: Visitor, returnTo = '/account', type = 'recovery'): Promise<Answer> {
  if (type === 'recovery') await app.visitor().postJson('/auth/forgot', { email: ada.email });
  const fields = { token_hash: app.supabase.mails.at(-1)!.tokenHash, type, returnTo };
  return postForm(visitor, '/auth/confirm', fields);
}

const signIn = (password: string): Promise<Answer> =>
  app.visitor().postJson('/auth/login', { email: ada.email, password });

describe('a link for a new password', () => {
  it('of the backend leads to the form, which leads to a session and to returnTo', async () => {
    await start();
    const visitor = app.visitor();
    const opened = await openDefaultLink(visitor);
    expect([opened.status, opened.headers.location]).toEqual([303, '/auth/password?returnTo=%2Faccount']);
    const page = await visitor.get('/auth/password?returnTo=%2Faccount');
    expect(page.status).toBe(200);
    expect(page.text).toContain('<h1>Choose a new password</h1>');
    expect(page.text).toContain('For <strong dir="auto">ada@example.com</strong>');
    expect(page.text).not.toContain('name="currentPassword"');
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    const saved = await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
    expect([saved.status, saved.headers.location]).toEqual([303, '/account']);
    const issued = visitor.cookieHeader();
    expect((await visitor.get('/account')).text).toBe('account');
    expect(visitor.cookieHeader()).toBe(issued);
    expect([...visitor.cookies.keys()].filter((name) => name.includes('pending'))).toEqual([]);
    expect([(await signIn(fresh)).status, (await signIn(ada.password)).status]).toEqual([200, 401]);
  });

  it('with a token_hash works in any browser, and a GET uses nothing up', async () => {
    await start();
    await app.visitor().postJson('/auth/forgot', { email: ada.email });
    const { tokenHash } = app.supabase.mails.at(-1)!;
    const visitor = app.visitor();
    const url = `/auth/confirm?token_hash=${tokenHash}&type=recovery&returnTo=%2Faccount`;
    for (const page of [await visitor.get(url), await visitor.get(url)]) {
      expect(page.text).toContain('<h1>Choose a new password</h1>');
    }
    expect(app.supabase.calls('verify')).toBe(0);
    const pressed = await postForm(visitor, '/auth/confirm', {
      token_hash: tokenHash,
      type: 'recovery',
      returnTo: '/account',
    });
    expect([pressed.status, pressed.headers.location]).toEqual([303, '/auth/password?returnTo=%2Faccount']);
    const saved = await visitor.postJson('/auth/password', { password: fresh });
    expect([saved.status, saved.json]).toEqual([200, { redirectTo: '/account' }]);
    expect((await visitor.getJson('/api/me')).json.user.email).toBe(ada.email);
  });

  it('ends every other session of the account, here at once and at the backend', async () => {
    await start();
    const elsewhere = await app.signedIn();
    expect((await elsewhere.getJson('/api/me')).status).toBe(200);
    const visitor = app.visitor();
    await openHashLink(visitor);
    await postForm(visitor, '/auth/password', { password: fresh });
    expect((await elsewhere.getJson('/api/me')).status).toBe(401);
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(1);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(app.supabase.calls('logout')).toBe(1);
  });

  it('keeps the live session of another account until the new password is set', async () => {
    await start();
    app.supabase.addUser({ email: 'eve@example.com', password: 'battery staple' });
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', { email: 'eve@example.com', password: 'battery staple' });
    await openHashLink(visitor);
    expect((await visitor.getJson('/api/me')).json.user.email).toBe('eve@example.com');
    expect((await visitor.get('/auth/password')).text).toContain('For <strong dir="auto">eve@example.com</strong>');
    await continueAsOther(visitor);
    expect((await visitor.getJson('/api/me')).json.user.email).toBe('eve@example.com');
    expect((await visitor.get('/auth/password')).text).toContain('For <strong dir="auto">ada@example.com</strong>');
    await postForm(visitor, '/auth/password', { password: fresh });
    expect((await visitor.getJson('/api/me')).json.user.email).toBe(ada.email);
  });

  it('ends the session that it replaces without clearing its cookie, and no other account’s meanwhile', async () => {
    await start();
    const eve = { email: 'eve@example.com', password: 'battery staple' };
    app.supabase.addUser(eve);
    const duringChange = async (account: { readonly email: string; readonly password: string }): Promise<Answer> => {
      const visitor = app.visitor();
      await visitor.postJson('/auth/login', account);
      const cookie = visitor.cookieHeader();
      await openHashLink(visitor);
      if (account !== ada) await continueAsOther(visitor);
      const gate = app.supabase.gate('logout');
      const arrived = gate.arrived + 1;
      const changing = postForm(visitor, '/auth/password', { password: `${fresh} of ${account.email}` });
      await gate.waitFor(arrived);
      const meanwhile = await app.visitor().get('/api/me', { headers: { cookie, accept: 'application/json' } });
      gate.open();
      expect((await changing).status).toBe(303);
      return meanwhile;
    };
    const own = await duringChange(ada);
    expect([own.status, own.setCookies]).toEqual([401, []]);
    app.clock.advance(61_000);
    expect((await duringChange(eve)).json.user.email).toBe(eve.email);
  });

  it('works when its button is pressed twice, and the form is sent twice, at the same time', async () => {
    await start();
    await app.visitor().postJson('/auth/forgot', { email: ada.email });
    const { tokenHash } = app.supabase.mails.at(-1)!;
    const visitor = app.visitor();
    const fields = { token_hash: tokenHash, type: 'recovery' };
    const pressed = await Promise.all([1, 2, 3].map(() => postForm(visitor, '/auth/confirm', fields)));
    expect(pressed.map(({ headers }) => headers.location)).toEqual(Array(3).fill('/auth/password'));
    expect(app.supabase.calls('verify')).toBe(1);
    const saved = await Promise.all([1, 2, 3].map(() => postForm(visitor, '/auth/password', { password: fresh })));
    expect(saved.map(({ status, headers }) => [status, headers.location])).toEqual(Array(3).fill([303, '/']));
    expect(app.supabase.calls('update-user')).toBe(1);
    expect(app.eventTypes().filter((type) => type === 'signed_in')).toHaveLength(1);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('gives two users who choose the same password a session each', async () => {
    await start();
    app.supabase.addUser({ email: 'eve@example.com' });
    const [one, other] = [app.visitor(), app.visitor()];
    await openHashLink(one);
    await app.visitor().postJson('/auth/forgot', { email: 'eve@example.com' });
    const fields = { token_hash: app.supabase.mails.at(-1)!.tokenHash, type: 'recovery' };
    await postForm(other, '/auth/confirm', fields);
    for (const visitor of [one, other]) await postForm(visitor, '/auth/password', { password: fresh });
    const emailOf = async (visitor: Visitor) => (await visitor.getJson('/api/me')).json.user.email;
    expect([await emailOf(one), await emailOf(other)]).toEqual([ada.email, 'eve@example.com']);
  });

  it('shows a second tab the form for a signed-in user', async () => {
    await start();
    const visitor = app.visitor();
    await openHashLink(visitor);
    await postForm(visitor, '/auth/password', { password: fresh });
    const late = await postForm(visitor, '/auth/password', { password: 'yet another password' });
    expect([late.status, late.text.includes('name="currentPassword"')]).toEqual([422, true]);
    app.clock.advance(1_000);
    expect((await signIn(fresh)).status).toBe(200);
  });

  it('changes nothing with a token that the backend never signed, or that belongs to another application', async () => {
    await start();
    const name = `${flowPrefix}${app.cookieName}-pending`;
    const { access_token: own, refresh_token } = await app.supabase.issueSession(ada.email);
    const foreign = (await app.supabase.issueSession(ada.email, { claims: { client_id: 'another-app' } })).access_token;
    const [head, , signature] = own.split('.');
    const claims = JSON.parse(Buffer.from(own.split('.')[1]!, 'base64url').toString());
    const altered = Buffer.from(JSON.stringify({ ...claims, sub: 'someone-else' })).toString('base64url');
    for (const access_token of [foreign, `${head}.${altered}.${signature}`, 'rubbish', '']) {
      const visitor = app.visitor();
      const value = JSON.stringify({ needs: ['password'], returnTo: '/', access_token, refresh_token });
      visitor.cookies.set(name, Buffer.from(value).toString('base64url'));
      const answer = await visitor.postJson('/auth/password', { password: fresh });
      expect([answer.status, answer.json.error.code]).toEqual([400, 'link_expired']);
    }
    expect(app.supabase.calls('update-user')).toBe(0);
  });

  it('redirects to the form when it is opened again before the password is set', async () => {
    await start();
    const visitor = app.visitor();
    await visitor.postJson('/auth/forgot', { email: ada.email, returnTo: '/account' });
    const link = await fetch(app.supabase.mails.at(-1)!.confirmationUrl, { redirect: 'manual' });
    const callback = link.headers.get('location') ?? '';
    for (let time = 0; time < 2; time += 1) {
      const answer = await visitor.get(callback);
      expect([answer.status, answer.headers.location]).toEqual([303, '/auth/password?returnTo=%2Faccount']);
    }
    app.clock.advance(120_000);
    const hash = app.visitor();
    await openHashLink(hash);
    const { tokenHash } = app.supabase.mails.at(-1)!;
    app.clock.advance(60_000);
    const again = await postForm(hash, '/auth/confirm', { token_hash: tokenHash, type: 'recovery' });
    expect([again.status, again.headers.location]).toEqual([303, '/auth/password']);
    expect(app.events).toMatchObject([{ type: 'sign_in_failed', code: 'link_expired' }]);
  });

  it('of the backend, opened in another browser, shows "please sign in" and how to request a new link', async () => {
    await start();
    await app.visitor().postJson('/auth/forgot', { email: ada.email });
    const link = await fetch(app.supabase.mails.at(-1)!.confirmationUrl, { redirect: 'manual' });
    const page = await app.visitor().get(link.headers.get('location') ?? '');
    expect(page.text).toContain('<h1>Sign in to continue</h1>');
    expect(page.text).toContain('href="/auth/forgot">Forgot password?</a>');
  });

  it('that was used or has expired offers a new one', async () => {
    await start();
    await openHashLink(app.visitor());
    const { tokenHash } = app.supabase.mails.at(-1)!;
    app.clock.advance(60_000);
    const fields = { token_hash: tokenHash, type: 'recovery', returnTo: '/account' };
    const page = await postForm(app.visitor(), '/auth/confirm', fields);
    expect(page.status).toBe(400);
    expect(page.text).toContain('<h1>This link doesn’t work anymore</h1>');
    expect(page.text).toContain('href="/auth/forgot?returnTo=%2Faccount">Request a new link</a>');
    const answer = await app.visitor().postJson('/auth/confirm', fields);
    expect([answer.status, answer.json.error.code]).toEqual([400, 'link_expired']);
  });

  it('of the backend that has expired offers a new one in the browser that asked for it, and every kind of new link in others', async () => {
    await start();
    const visitor = app.visitor();
    await visitor.postJson('/auth/forgot', { email: ada.email, returnTo: '/account' });
    const expired = '/auth/callback?error=access_denied&error_code=otp_expired';
    const stranger = await app.visitor().get(expired);
    expect([stranger.status, stranger.text.includes('href="/auth/forgot"')]).toEqual([400, true]);
    expect(stranger.text).toContain('action="/auth/resend"');
    const page = await visitor.get(expired);
    expect(page.status).toBe(400);
    expect(page.text).toContain('href="/auth/forgot?returnTo=%2Faccount">Request a new link</a>');
    const failed = { type: 'sign_in_failed', code: 'link_expired' };
    expect(app.events).toMatchObject([failed, failed]);
  });

  it.each(['GET', 'POST'])('expires after ten minutes, and the form links to a new one: %s', async (method) => {
    await start();
    const visitor = app.visitor();
    await openHashLink(visitor);
    app.clock.advance(11 * 60_000);
    const page =
      method === 'GET'
        ? await visitor.get('/auth/password?returnTo=/account')
        : await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
    expect(page.status).toBe(400);
    expect(page.text).toContain('href="/auth/forgot?returnTo=%2Faccount">Request a new link</a>');
    const answer = await visitor.postJson('/auth/password', { password: fresh });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'link_expired']);
    expect(app.supabase.calls('update-user')).toBe(0);
  });

  it('ends when its session was ended at the backend', async () => {
    await start();
    const visitor = app.visitor();
    await openHashLink(visitor);
    for (const { id } of app.supabase.sessionsOf(ada.email)) app.supabase.revokeSession(id);
    const page = await postForm(visitor, '/auth/password', { password: fresh });
    expect(page.text).toContain('Request a new link');
    expect(page.status).toBe(400);
  });

  it('invites: the user chooses a password before the session', async () => {
    await start();
    await app.supabase.invite('new@example.com');
    const visitor = app.visitor();
    const { tokenHash } = app.supabase.mails.at(-1)!;
    const page = await visitor.get(`/auth/confirm?token_hash=${tokenHash}&type=invite`);
    expect(page.text).toContain('<h1>Accept your invitation</h1>');
    const pressed = await openHashLink(visitor, '/account', 'invite');
    expect(pressed.headers.location).toBe('/auth/password?returnTo=%2Faccount');
    const saved = await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
    expect(saved.headers.location).toBe('/account');
    const again = await app.visitor().postJson('/auth/login', { email: 'new@example.com', password: fresh });
    expect(again.status).toBe(200);
  });
});

it('a script that sends a new password without a session or a link learns that one of them comes first', async () => {
  await start();
  const { status, json } = await app.visitor().postJson('/auth/password', { password: fresh });
  const message = 'Sign in, or ask for a link by email first.';
  expect([status, json.error]).toEqual([400, { status, code: 'link_expired', message }]);
});

describe('the form that asks for a link', () => {
  it('says “reset” to a stranger alone: a member, who may have no password yet, finds the address in it', async () => {
    await start();
    const visitor = app.visitor();
    expect((await visitor.get('/auth/forgot')).text).toContain('<h1>Reset your password</h1>');
    await visitor.postJson('/auth/login', ada);
    const page = await visitor.get('/auth/forgot');
    for (const part of ['<h1>Choose a new password</h1>', `value="${ada.email}"`]) expect(page.text).toContain(part);
    const other = await visitor.get('/auth/forgot?prompt=login');
    expect([other.text.includes('<h1>Reset'), other.text.includes(ada.email)]).toEqual([true, false]);
  });

  it('keeps the address and returnTo, and gives its URL to a client that wants JSON', async () => {
    await start();
    const visitor = app.visitor();
    const page = await visitor.get('/auth/forgot?returnTo=/account');
    expect(page.status).toBe(200);
    for (const field of ['name="email"', 'name="returnTo" value="/account"']) expect(page.text).toContain(field);
    const told = await visitor.getJson('/auth/forgot?returnTo=/account');
    expect(told.json).toEqual({ redirectTo: '/auth/forgot?returnTo=%2Faccount' });
    const refused = await postForm(visitor, '/auth/forgot', { email: 'no address', returnTo: '/account' });
    expect(refused.status).toBe(400);
    for (const value of ['no address', '/account']) expect(refused.text).toContain(`value="${value}"`);
    expect(refused.text).toContain('id="email-error"');
  });

  it('shows the same result in HTML and JSON, and a link to sign in', async () => {
    await start();
    const fields = { email: ada.email, returnTo: '/account' };
    const page = await postForm(app.visitor(), '/auth/forgot', fields);
    expect([page.status, page.text.includes('<h1>Check your email</h1>')]).toEqual([200, true]);
    expect(page.text).toContain(ada.email);
    expect((await app.visitor().postJson('/auth/forgot', fields)).json).toEqual({
      email: ada.email,
      message: expect.stringContaining('password'),
      redirectTo: '/auth/login?returnTo=%2Faccount',
    });
  });
});

it('of 64 characters is saved', async () => {
  await start();
  const visitor = app.visitor();
  await openHashLink(visitor);
  const password = 'p'.repeat(64);
  expect((await postForm(visitor, '/auth/password', { password })).status).toBe(303);
  expect((await signIn(password)).status).toBe(200);
});

describe('a password that is refused', () => {
  it.each([
    ['abc12', 'too short', 'This password is too short. Use at least 8 characters.'],
    ['€'.repeat(25), 'over 72 bytes', 'This password is too long. Choose a shorter one.'],
    [ada.password, 'the same as before', 'This is your current password. Choose a different one.'],
  ])('is a 422 with the reason, and the form is shown again: %#', async (password, _why, message) => {
    await start({ standIn: { minimumPasswordLength: 8 } });
    const visitor = app.visitor();
    await openHashLink(visitor);
    const page = await postForm(visitor, '/auth/password', { password, returnTo: '/account' });
    expect(page.status).toBe(422);
    expect(page.text).toContain(`id="password-error">${message}</p>`);
    expect(page.text).not.toContain(password);
    const answer = await visitor.postJson('/auth/password', { password });
    expect([answer.status, answer.json.error.message]).toEqual([422, message]);
    expect((await postForm(visitor, '/auth/password', { password: fresh })).status).toBe(303);
  });

  it('is missing: the form reports it', async () => {
    await start();
    const visitor = app.visitor();
    await openHashLink(visitor);
    const page = await postForm(visitor, '/auth/password', {});
    expect([page.status, page.text.includes('Enter your password.')]).toEqual([400, true]);
  });
});

const maybeSaved = 'It may have been saved. Sign in with it.';

describe('an outage', () => {
  it('shows the form again, and the next try tells that the password may have been saved', async () => {
    await start({ options: { timeoutMs: 1500 } });
    const elsewhere = await app.signedIn();
    const visitor = app.visitor();
    await openHashLink(visitor);
    app.supabase.fail('update-user', 'lost', 1);
    const page = await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
    expect([page.status, page.headers['retry-after']]).toEqual([503, '5']);
    expect(page.text).toContain('name="password"');
    expect(page.text).not.toContain(maybeSaved);
    const again = await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
    expect([again.status, again.text.includes(`id="password-error">${maybeSaved}</p>`)]).toEqual([422, true]);
    expect(again.text).toContain('href="/auth/login?returnTo=%2Faccount&amp;prompt=login">Back to sign-in</a>');
    const { status, json } = await visitor.postJson('/auth/password', { password: fresh });
    expect([status, json.error.code, json.error.message]).toEqual([422, 'same_password', maybeSaved]);
    expect((await elsewhere.getJson('/api/me')).status).toBe(401);
    app.clock.advance(1_000);
    expect((await signIn(fresh)).status).toBe(200);
    // Another password is set as before.
    const other = await postForm(visitor, '/auth/password', { password: 'yet another password' });
    expect([other.status, (await visitor.getJson('/api/me')).status]).toEqual([303, 200]);
  });

  it('is still known after a second factor that was added meanwhile', async () => {
    await start({ options: { timeoutMs: 1500 } });
    const visitor = app.visitor();
    await openHashLink(visitor);
    app.supabase.fail('update-user', 'lost', 1);
    expect((await postForm(visitor, '/auth/password', { password: fresh })).status).toBe(503);
    const factor = app.supabase.addFactor(ada.email);
    const given = await postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(factor) });
    expect(given.headers.location).toBe('/auth/password?returnTo=%2Faccount');
    const again = await visitor.postJson('/auth/password', { password: fresh });
    expect([again.status, again.json.error.message]).toEqual([422, maybeSaved]);
  });

  it('is told from a password that was the current one before', async () => {
    await start();
    const visitor = app.visitor();
    await openHashLink(visitor);
    const answer = await visitor.postJson('/auth/password', { password: ada.password });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'same_password']);
    expect(answer.json.error.message).not.toBe(maybeSaved);
  });

  it('that prevents other sessions from ending is logged, and the new password stays', async () => {
    const lines: string[] = [];
    const { log } = createDebug;
    createDebug.log = (...given: unknown[]) => void lines.push(format(...given));
    createDebug.enable('express-auth-adapters:backend');
    try {
      const coordinator = { ...createShared(), merge: () => Promise.reject(new Error('no store')) };
      await start({ options: { coordinator } });
      const visitor = app.visitor();
      await openHashLink(visitor);
      app.supabase.fail('logout', 503);
      expect((await postForm(visitor, '/auth/password', { password: fresh })).status).toBe(303);
    } finally {
      createDebug.disable();
      createDebug.log = log;
    }
    expect(lines.join('\n')).toMatch(/the other sessions were ended in this process only: .+/);
    expect(lines.join('\n')).toMatch(/the other sessions were not ended at the backend: .+/);
  });

  it('does not use up the link: the button and the form still work afterwards', async () => {
    await start();
    app.supabase.fail('recover', 503, 1);
    for (const answer of [await app.visitor().postJson('/auth/forgot', { email: ada.email })]) {
      expect([answer.status, answer.json.error.code]).toEqual([503, 'provider_unavailable']);
    }
    await app.visitor().postJson('/auth/forgot', { email: ada.email });
    const fields = { token_hash: app.supabase.mails.at(-1)!.tokenHash, type: 'recovery', returnTo: '/account' };
    const visitor = app.visitor();
    app.supabase.fail('verify', 503, 1);
    const button = await postForm(visitor, '/auth/confirm', fields);
    expect([button.status, button.text.includes(`value="${fields.token_hash}"`)]).toEqual([503, true]);
    expect((await postForm(visitor, '/auth/confirm', fields)).status).toBe(303);
    for (const [fault, status] of [
      [429, 429],
      [500, 503],
      ['html502', 503],
      ['refuse', 503],
    ] as const) {
      app.supabase.fail('update-user', fault, 1);
      const form = await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
      expect([fault, form.status, form.text.includes('name="password"')]).toEqual([fault, status, true]);
    }
    app.supabase.fail('logout', 503, 1);
    const saved = await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
    expect([saved.status, saved.headers.location]).toEqual([303, '/account']);
  });

  it('at the callback offers a new link, as the code may have been used', async () => {
    await start();
    const visitor = app.visitor();
    await visitor.postJson('/auth/forgot', { email: ada.email, returnTo: '/account' });
    const link = await fetch(app.supabase.mails.at(-1)!.confirmationUrl, { redirect: 'manual' });
    const callback = link.headers.get('location') ?? '';
    app.supabase.fail('pkce', 'lost', 1);
    expect((await visitor.get(callback)).status).toBe(503);
    const again = await visitor.get(callback);
    expect([again.status, again.headers.location]).toEqual([303, '/auth/forgot?returnTo=%2Faccount']);
  });

  it('in which the session cannot be renewed is reported as such, not as a link that has expired', async () => {
    await start();
    const visitor = await app.signedIn();
    app.clock.advance(3_700_000);
    app.supabase.fail('refresh', 503);
    const fields = { currentPassword: ada.password, password: fresh, returnTo: '/account' };
    const page = await postForm(visitor, '/auth/password', fields);
    expect([page.status, page.text.includes('doesn’t work anymore')]).toEqual([503, false]);
    expect(page.headers['retry-after']).toBeDefined();
    app.supabase.heal();
    expect((await postForm(visitor, '/auth/password', fields)).status).toBe(303);
  });

  it('while a signed-in user changes the password says at once that it may have been saved', async () => {
    await start({ options: { timeoutMs: 1500 } });
    const visitor = await app.signedIn();
    const fields = { currentPassword: ada.password, password: fresh, returnTo: '/account' };
    app.supabase.fail('update-user', 'lost', 1);
    const page = await postForm(visitor, '/auth/password', fields);
    expect([page.status, page.headers['retry-after'], page.text.includes(maybeSaved)]).toEqual([503, '5', true]);
    expect(page.text).toContain('href="/auth/login?returnTo=%2Faccount&amp;prompt=login">Back to sign-in</a>');
    expect([...visitor.cookies.keys()].some((name) => name.endsWith('-pending'))).toBe(false);
    // It was saved, which has ended this session at the backend.
    const again = await visitor.postJson('/auth/password', fields);
    expect([again.status, again.json.error.code]).toEqual([401, 'unauthenticated']);
    expect((await visitor.postJson('/auth/login', { email: ada.email, password: fresh })).status).toBe(200);
  });
});

describe('an account with a second factor', () => {
  it('must give it before the new password', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await openHashLink(visitor);
    const page = await visitor.get('/auth/password?returnTo=/account');
    expect([page.status, page.headers.location]).toEqual([303, '/auth/verify?returnTo=%2Faccount']);
    const saved = await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
    expect([saved.status, saved.headers.location]).toEqual([303, '/auth/verify?returnTo=%2Faccount']);
    expect((await visitor.postJson('/auth/password', { password: fresh })).json).toEqual({
      redirectTo: '/auth/verify?returnTo=%2Faccount',
    });
    expect(app.supabase.calls('update-user')).toBe(0);
    const fields = { code: app.supabase.codeOf(factor), returnTo: '/account' };
    const verified = await postForm(visitor, '/auth/verify', fields);
    expect([verified.status, verified.headers.location]).toEqual([303, '/auth/password?returnTo=%2Faccount']);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    const done = await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect([(await signIn(fresh)).status, (await signIn(ada.password)).status]).toEqual([200, 401]);
  });

  it('must give it even if it was added after the link was opened', async () => {
    await start();
    const visitor = app.visitor();
    await openHashLink(visitor);
    app.supabase.addFactor(ada.email);
    const saved = await postForm(visitor, '/auth/password', { password: fresh, returnTo: '/account' });
    expect([saved.status, saved.headers.location]).toEqual([303, '/auth/verify?returnTo=%2Faccount']);
    expect((await signIn(ada.password)).status).not.toBe(401);
  });

  it('can change its password in a session with the second factor, and in no other', async () => {
    await start({
      after: (host) => {
        host.get('/step-up', (req, res, next) => {
          const code = app.supabase.codeOf(factor);
          getSupabaseClient(req)
            .then((client) => client.auth.mfa.challengeAndVerify({ factorId: factor.id, code }))
            .then(({ error }) => sendText(res, String(error)), next);
        });
      },
    });
    const [first, second] = [await app.signedIn(), await app.signedIn()];
    const factor = app.supabase.addFactor(ada.email);
    const fields = { currentPassword: ada.password, password: fresh, returnTo: '/account' };
    const sent = await postForm(first, '/auth/password', fields);
    const back = '/auth/verify?returnTo=%2Fauth%2Fpassword%3FreturnTo%3D%252Faccount';
    expect([sent.status, sent.headers.location]).toEqual([303, back]);
    expect(app.supabase.calls('update-user')).toBe(0);
    expect((await second.get('/step-up')).text).toBe('null');
    const saved = await postForm(second, '/auth/password', fields);
    expect([saved.status, saved.headers.location]).toEqual([303, '/account']);
    expect((await second.getJson('/api/me')).status).toBe(200);
    expect((await first.getJson('/api/me')).status).toBe(401);
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(1);
  });
});

describe('a signed-in user', () => {
  it('gives the current password with the new one', async () => {
    await start();
    const elsewhere = await app.signedIn();
    const visitor = await app.signedIn();
    const page = await visitor.get('/auth/password?returnTo=/account');
    expect(page.text).toContain('name="currentPassword"');
    expect(page.text).toContain('href="/auth/forgot?returnTo=%2Faccount">Forgot password?</a>');
    const fields = { currentPassword: ada.password, password: fresh, returnTo: '/account' };
    const saved = await postForm(visitor, '/auth/password', fields);
    expect([saved.status, saved.headers.location]).toEqual([303, '/account']);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect((await elsewhere.getJson('/api/me')).status).toBe(401);
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(1);
    expect([(await signIn(fresh)).status, (await signIn(ada.password)).status]).toEqual([200, 401]);
  });

  it('keeps its cookie in another tab while the password is being changed', async () => {
    await start();
    const visitor = await app.signedIn();
    const tab = app.visitor();
    for (const [name, value] of visitor.cookies) tab.cookies.set(name, value);
    const gate = app.supabase.gate('logout');
    const changing = visitor.postJson('/auth/password', { currentPassword: ada.password, password: fresh });
    await until(() => app.supabase.calls('logout') > 0);
    // The former session has ended, and the cookie of the new one is on its way.
    const meanwhile = await tab.getJson('/auth/session');
    expect([meanwhile.status, meanwhile.setCookies]).toEqual([401, []]);
    gate.open();
    expect((await changing).status).toBe(200);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('can change the password where the project also asks for the current one', async () => {
    await start({ standIn: { requireCurrentPassword: true } });
    const visitor = await app.signedIn();
    const answer = await visitor.postJson('/auth/password', { currentPassword: ada.password, password: fresh });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/' }]);
  });

  it.each([
    ['POST', 'token?grant_type=password', { expires_at: 'soon' }],
    ['PUT', 'user', { user: 'done' }],
  ])('gets a 502 if the backend’s answer has another form: %s %s', async (method, end, other) => {
    let isOther = false;
    const altered: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      const response = await fetch(request);
      if (!isOther || request.method !== method || !request.url.endsWith(`/${end}`)) return response;
      return Response.json({ ...((await response.json()) as object), ...other });
    };
    await start({ options: { fetch: altered } });
    const visitor = await app.signedIn();
    isOther = true;
    const answer = await visitor.postJson('/auth/password', { currentPassword: ada.password, password: fresh });
    expect([answer.status, answer.json.error.code]).toEqual([502, 'token_rejected']);
  });

  it.each<{ readonly currentPassword?: string }>([{ currentPassword: 'wrong' }, { currentPassword: '' }, {}])(
    'gets a 422 for a wrong or missing current password: %j',
    async (given) => {
      await start();
      const visitor = await app.signedIn();
      const page = await postForm(visitor, '/auth/password', { ...given, password: fresh });
      expect(page.status).toBe(422);
      expect(page.text).toContain('id="currentPassword-error"');
      const isWrong = given.currentPassword === 'wrong';
      expect(page.text).toContain(isWrong ? 'The current password isn’t correct.' : 'Enter your password.');
      const answer = await visitor.postJson('/auth/password', { ...given, password: fresh });
      expect([answer.status, answer.json.error.code]).toEqual([422, 'current_password_wrong']);
      expect((await visitor.getJson('/api/me')).status).toBe(200);
      expect(app.supabase.calls('update-user')).toBe(0);
      expect(app.supabase.calls('password')).toBe(isWrong ? 3 : 1);
      // Whether the address was changed elsewhere.
      expect(app.supabase.calls('user')).toBe(isWrong ? 2 : 0);
      const reason = isWrong ? { reason: 'invalid_credentials' } : {};
      const event = { adapter: 'backend', type: 'sign_in_failed', code: 'current_password_wrong', ...reason };
      expect(app.events.filter(({ type }) => type === 'sign_in_failed')).toEqual([event, event]);
    },
  );

  it('gets a 503 where the current password cannot be checked, and nothing else is asked', async () => {
    await start();
    const visitor = await app.signedIn();
    app.supabase.fail('password', 503);
    const answer = await visitor.postJson('/auth/password', { currentPassword: ada.password, password: fresh });
    expect([answer.status, answer.json.error.code]).toEqual([503, 'provider_unavailable']);
    expect([app.supabase.calls('user'), app.supabase.calls('update-user')]).toEqual([0, 0]);
  });

  it('can try the current password as often as a sign-in can', async () => {
    await start();
    const visitor = await app.signedIn();
    const guess = { currentPassword: 'wrong', password: fresh };
    for (let tries = 0; tries < 10; tries += 1) {
      expect((await visitor.postJson('/auth/password', guess)).status).toBe(422);
    }
    const calls = app.supabase.calls('password');
    const limited = await visitor.postJson('/auth/password', guess);
    expect([limited.status, limited.json.error.code]).toEqual([429, 'rate_limited']);
    expect(app.supabase.calls('password')).toBe(calls);
  });

  it('has all tries again after a correct current password', async () => {
    await start();
    const visitor = await app.signedIn();
    const change = async (currentPassword: string, password: string): Promise<number> =>
      (await visitor.postJson('/auth/password', { currentPassword, password })).status;
    for (let tries = 0; tries < 9; tries += 1) expect(await change('wrong', fresh)).toBe(422);
    expect(await change(ada.password, fresh)).toBe(200);
    for (let tries = 0; tries < 9; tries += 1) expect(await change('wrong', fresh)).toBe(422);
  });

  it('gives the second factor first, and then both passwords', async () => {
    await start();
    const visitor = await app.signedIn();
    const factor = app.supabase.addFactor(ada.email);
    const fields = { currentPassword: ada.password, password: fresh, returnTo: '/account' };
    const asked = await postForm(visitor, '/auth/password', fields);
    expect(asked.headers.location).toBe('/auth/verify?returnTo=%2Fauth%2Fpassword%3FreturnTo%3D%252Faccount');
    const verified = await postForm(visitor, asked.location, { code: app.supabase.codeOf(factor) });
    expect(verified.headers.location).toBe('/auth/password?returnTo=%2Faccount');
    const saved = await postForm(visitor, '/auth/password', fields);
    expect([saved.status, saved.headers.location]).toEqual([303, '/account']);
    expect((await signIn(ada.password)).status).toBe(401);
  });

  it('must give a second factor that was added while the password was changed', async () => {
    await start({
      options: {
        fetch: (input, init) => {
          if (init?.method === 'PUT') app.supabase.addFactor(ada.email);
          return fetch(input, init);
        },
      },
    });
    const visitor = await app.signedIn();
    const fields = { currentPassword: ada.password, password: fresh };
    expect((await visitor.postJson('/auth/password', fields)).json).toEqual({
      redirectTo: '/auth/verify?returnTo=%2Fauth%2Fpassword',
    });
  });

  it('with the current password changes their own password, even if another user’s link is open', async () => {
    await start();
    const eve = { email: 'eve@example.com', password: 'battery staple' };
    app.supabase.addUser(eve);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', eve);
    await openHashLink(visitor);
    const fields = { currentPassword: eve.password, password: fresh };
    expect((await visitor.postJson('/auth/password', fields)).status).toBe(200);
    expect((await visitor.getJson('/api/me')).json.user.email).toBe(eve.email);
    expect((await signIn(ada.password)).status).toBe(200);
  });

  it('has their own form beside a sign-in that waits for its second factor, which opens no form by itself', async () => {
    await start();
    app.supabase.addUser({ email: 'eve@example.com', password: 'battery staple' });
    app.supabase.addFactor('eve@example.com');
    const [visitor, other] = [await app.signedIn(), app.visitor()];
    for (const each of [visitor, other]) {
      await each.postJson('/auth/login', { email: 'eve@example.com', password: 'battery staple' });
    }
    const page = await visitor.get('/auth/password');
    expect([page.text.includes('name="currentPassword"'), page.text.includes(ada.email)]).toEqual([true, true]);
    const { status, headers } = await other.get('/auth/password');
    expect([status, headers.location]).toEqual([302, '/auth/verify?returnTo=%2Fauth%2Fpassword']);
  });

  it('sends a form that was shown for another account again, which changes nothing', async () => {
    await start();
    const visitor = await app.signedIn();
    const fields = { username: 'bob@example.com', currentPassword: ada.password, password: fresh };
    const page = await postForm(visitor, '/auth/password', fields);
    expect([page.status, page.text.includes('This form was for another account.')]).toEqual([400, true]);
    expect(page.text).toContain('value="ada@example.com"');
    expect(app.supabase.calls('update-user')).toBe(0);
    expect((await postForm(visitor, '/auth/password', { ...fields, username: 'ADA@example.com' })).status).toBe(303);
  });

  it('can use the current password after the address was changed elsewhere', async () => {
    await start();
    const visitor = await app.signedIn({ claims: { email: 'former@example.com' } });
    const change = (currentPassword: string) =>
      visitor.postJson('/auth/password', { currentPassword, password: fresh });
    expect((await change('wrong')).json.error.code).toBe('current_password_wrong');
    expect((await change(ada.password)).status).toBe(200);
    app.clock.advance(1_000);
    expect((await signIn(fresh)).status).toBe(200);
  });

  it.each<[string, (user: any) => object]>([
    ['no address anymore', (user) => ({ ...user, email: '' })],
    ['no address', (user) => ({ ...user, email: undefined })],
    ['another user', (user) => ({ ...user, id: 'another' })],
  ])('is asked for one password only where the backend names %s', async (_what, change) => {
    await start({ options: { fetch: changedAnswers(/\/auth\/v1\/user$/, change) } });
    const visitor = await app.signedIn({ claims: { email: 'former@example.com' } });
    const answer = await visitor.postJson('/auth/password', { currentPassword: ada.password, password: fresh });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'current_password_wrong']);
    expect([app.supabase.calls('user'), app.supabase.calls('password')]).toEqual([1, 1]);
  });

  it('with a JSON client gets the URL of the form', async () => {
    await start();
    const visitor = await app.signedIn();
    const { status, json } = await visitor.getJson('/auth/password?returnTo=/account');
    expect([status, json]).toEqual([200, { redirectTo: '/auth/password?returnTo=%2Faccount' }]);
  });

  it('keeps the session when the new password is refused, without a second session', async () => {
    await start();
    const visitor = await app.signedIn();
    const answer = await visitor.postJson('/auth/password', { currentPassword: ada.password, password: ada.password });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'same_password']);
    expect(answer.json.error.message).not.toContain(maybeSaved);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(1);
  });

  it('without a password is redirected to /auth/forgot, and a script learns why', async () => {
    await start({ standIn: { oauthEmail: 'git@example.com' } });
    const visitor = app.visitor();
    const begin = await visitor.get('/auth/login?provider=github');
    await visitor.get((await app.supabase.authorize(begin.location, { approve: true })).href);
    const page = await visitor.get('/auth/password?returnTo=/account');
    expect([page.status, page.headers.location]).toEqual([303, '/auth/forgot?returnTo=%2Faccount']);
    const { status, json } = await visitor.postJson('/auth/password', { currentPassword: 'x', password: fresh });
    const message = 'Nothing was saved. Ask for a link by email to choose a password.';
    expect([status, json]).toEqual([
      422,
      { error: { status, code: 'form_refused', message }, redirectTo: '/auth/forgot' },
    ]);
    await visitor.postJson('/auth/forgot', { email: 'git@example.com' });
    const fields = { token_hash: app.supabase.mails.at(-1)!.tokenHash, type: 'recovery' };
    await postForm(visitor, '/auth/confirm', fields);
    expect((await postForm(visitor, '/auth/password', { password: fresh })).status).toBe(303);
    const signedIn = await app.visitor().postJson('/auth/login', { email: 'git@example.com', password: fresh });
    expect(signedIn.status).toBe(200);
  });

  it('of an organization learns that it manages the sign-in, and stays signed in', async () => {
    await start();
    const person = { email: 'octavia@example.com', password: 'correct horse' };
    const appMetadata = { provider: 'sso:5e1f', providers: ['email', 7, 'sso:5e1f'] };
    app.supabase.addUser({ ...person, appMetadata });
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', person);
    const page = await visitor.get('/auth/password');
    expect([page.status, page.text.includes('through its organization')]).toEqual([403, true]);
    const fields = { currentPassword: person.password, password: fresh };
    expect((await postForm(visitor, '/auth/password', fields)).status).toBe(403);
    expect((await visitor.postJson('/auth/password', fields)).json.error.code).toBe('managed_account');
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });
});

describe('a browser that two people use', () => {
  const bob = { email: 'bob@example.com', password: 'bobs long password' };

  it('drops the link of one user when the other one signs in', async () => {
    await start();
    app.supabase.addUser(bob);
    const visitor = app.visitor();
    await openHashLink(visitor);
    await visitor.postJson('/auth/login', bob);
    const answer = await visitor.postJson('/auth/password', { password: fresh });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'current_password_wrong']);
    expect(app.supabase.sessionsOf(ada.email)).toEqual([]);
    expect((await signIn(ada.password)).status).toBe(200);
  });

  it('keeps the link of a user who signs in before using it', async () => {
    await start();
    const visitor = app.visitor();
    await openHashLink(visitor);
    await visitor.postJson('/auth/login', ada);
    expect((await visitor.postJson('/auth/password', { password: fresh })).status).toBe(200);
  });
});

describe('a change of the password', () => {
  it('refuses the current password of another user who now has the address', async () => {
    await start();
    const bob = { email: 'bob@example.com', password: 'bobs long password' };
    app.supabase.addUser(bob);
    app.supabase.addFactor(bob.email);
    app.supabase.addFactor(ada.email);
    const visitor = await app.signedIn({ claims: { aal: 'aal2', email: bob.email } });
    const answer = await visitor.postJson('/auth/password', { currentPassword: bob.password, password: fresh });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'current_password_wrong']);
    expect([app.supabase.calls('update-user'), app.supabase.sessionsOf(bob.email)]).toEqual([0, []]);
    expect(app.events).toContainEqual(expect.objectContaining({ type: 'sign_in_failed', reason: 'other_user' }));
  });

  it('redirects a session whose token has no address to /auth/forgot', async () => {
    await start();
    const visitor = await app.signedIn({ claims: { email: '' } });
    expect((await visitor.get('/auth/password')).headers.location).toBe('/auth/forgot');
    const answer = await visitor.postJson('/auth/password', { currentPassword: ada.password, password: fresh });
    expect([answer.status, answer.json.redirectTo]).toEqual([422, '/auth/forgot']);
  });

  it('can be retried after an outage by a session with a second factor', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
    const change = () => visitor.postJson('/auth/password', { currentPassword: ada.password, password: fresh });
    app.supabase.fail('update-user', 503);
    expect((await change()).status).toBe(503);
    app.supabase.heal();
    expect((await change()).json).toEqual({ redirectTo: '/' });
    app.clock.advance(1_000);
    expect((await signIn(fresh)).status).toBe(200);
  });
});
