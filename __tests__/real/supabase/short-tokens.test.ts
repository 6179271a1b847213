import { postForm } from '../../support/backend-app.ts';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { expiry, sessionOf, useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { press } from '../support/mail-links.ts';

/** Until an access token of eight seconds is over. */
const aTokenLater = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 9_000));
const password = 'an entirely new password';

describeOwnGoTrue('a project whose access tokens live for eight seconds', () => {
  const settings = { GOTRUE_JWT_EXP: '8' };
  const real = useRealApp({ gotrue: { keys: [createSigningKey('only')], settings } });

  async function enrolled() {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    expect((await visitor.postJson('/auth/enroll', { factorId, code: totp(secret) })).status).toBe(200);
    return { user, secret };
  }

  async function recovering() {
    const user = await real.project.addUser();
    await real.app.visitor().postJson('/auth/forgot', { email: user.email, returnTo: '/account' });
    const visitor = real.app.visitor();
    const pressed = await press(visitor, await real.project.mails.take(user.email));
    expect([pressed.status, pressed.headers.location]).toEqual([303, '/auth/password?returnTo=%2Faccount']);
    return { user, visitor };
  }

  it('keeps a signed-in browser signed in', async () => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    for (let times = 0; times < 2; times += 1) {
      await expiry(visitor);
      expect((await visitor.get('/account')).status).toBe(200);
    }
    expect(sessionOf(visitor).expires_at * 1000).toBeGreaterThan(Date.now());
  });

  it('leaves ten minutes for a new password after a recovery link', async () => {
    const { user, visitor } = await recovering();
    await aTokenLater();
    const form = await visitor.get('/auth/password?returnTo=%2Faccount');
    expect([form.status, form.text.includes('autocomplete="new-password"')]).toEqual([200, true]);
    await aTokenLater();
    const done = await postForm(visitor, '/auth/password', { password, returnTo: '/account' });
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect((await real.app.signedIn({ email: user.email, password })).cookies.size).toBeGreaterThan(0);
  });

  it('leaves ten minutes for the second factor', async () => {
    const { user, secret } = await enrolled();
    const visitor = real.app.visitor();
    await visitor.postJson('/auth/login', user);
    await aTokenLater();
    expect((await visitor.get('/auth/verify')).status).toBe(200);
    const done = await visitor.postJson('/auth/verify', { code: totp(secret), returnTo: '/account' });
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account' }]);
  });

  it('still counts no session for a pending sign-in that was renewed', async () => {
    const { visitor } = await recovering();
    await aTokenLater();
    expect((await visitor.get('/auth/password')).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
  });
});
