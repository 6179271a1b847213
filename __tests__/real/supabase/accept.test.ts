import { decodeJwt } from 'jose';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { postForm } from '../../support/backend-app.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { sessionOf, setSession, useRealApp } from '../support/application.ts';
import { ageSession } from '../support/database.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { press } from '../support/mail-links.ts';
import { pendingOf, setPending } from '../support/pending.ts';
import { newUser } from '../support/project.ts';
import type { Project, User } from '../support/project.ts';

const password = 'an entirely new password';

const tokensOf = async (project: Project, { email, password: known }: Pick<User, 'email' | 'password'>): Promise<any> =>
  (await project.ask('/token?grant_type=password', 'POST', { email, password: known })).body;

const bearer = (visitor: Visitor, path: string, token: string): Promise<Answer> =>
  visitor.get(path, { headers: { authorization: `Bearer ${token}` } });

describeOwnGoTrue('an application only for the staff', () => {
  const hooked: string[] = [];
  const options = {
    signInMethods: ['password', 'code'] as const,
    accept: ({ user }: { user: { email: string | null } }): boolean =>
      user.email?.endsWith('@staff.example.com') === true,
    onSignIn: ({ session }: { session: { user: { email: string | null } } }): void =>
      void hooked.push(session.user.email ?? ''),
  };
  const guarded = { '/api/both': { adapter: 'backend', credentials: ['cookie', 'bearer'] } } as const;
  const real = useRealApp({ gotrue: { keys: [createSigningKey('only')] }, options, guarded });
  const staff = (): Promise<User> => real.project.addUser({ email: newUser().email.replace('@', '@staff.') });

  it('lets the staff in by password, cookie and bearer token', async () => {
    const user = await staff();
    const visitor = await real.app.signedIn(user);
    expect((await visitor.get('/account')).status).toBe(200);
    const { access_token: token } = await tokensOf(real.project, user);
    expect((await bearer(real.app.visitor(), '/api/both', token)).status).toBe(200);
  });

  it('refuses a stranger’s password, and stores nothing', async () => {
    const stranger = await real.project.addUser();
    const visitor = real.app.visitor();
    const answer = await visitor.postJson('/auth/login', stranger);
    expect([answer.status, answer.json.error.code, sessionOf(visitor)]).toEqual([403, 'not_accepted', undefined]);
    expect(hooked).not.toContain(stranger.email);
  });

  it('refuses a stranger’s tokens from the project’s own token endpoint as a cookie, without a loop', async () => {
    const stranger = await real.project.addUser();
    const visitor = real.app.visitor();
    setSession(visitor, await tokensOf(real.project, stranger));
    for (const path of ['/account', '/api/me', '/secure', '/api/both']) {
      const asked = await visitor.getJson(path);
      expect([path, asked.status]).toEqual([path, 403]);
      const sent = await visitor.get(path);
      expect([path, sent.status, sent.location]).toEqual([path, 403, '']);
    }
    expect((await visitor.getJson('/api/me')).json.error.code).toBe('not_accepted');
    expect((await visitor.getJson('/auth/session')).json.authenticated).not.toBe(true);
    // The cookie may be another application's.
    expect(sessionOf(visitor)).toBeDefined();
    expect(real.app.eventTypes().filter((type) => type === 'session_rejected')).toHaveLength(1);
  });

  it('refuses a stranger’s tokens as bearer tokens', async () => {
    const { access_token: token } = await tokensOf(real.project, await real.project.addUser());
    const answer = await bearer(real.app.visitor(), '/api/both', token);
    expect([answer.status, answer.json.error.code]).toEqual([403, 'not_accepted']);
  });

  it.each(['forgot', 'code'])(
    'refuses a stranger’s link from /auth/%s, and what of it was written elsewhere',
    async (way) => {
      const stranger = await real.project.addUser();
      await real.app.visitor().postJson(`/auth/${way}`, { email: stranger.email });
      const visitor = real.app.visitor();
      await press(visitor, await real.project.mails.take(stranger.email));
      const waiting = pendingOf(visitor);
      if (waiting !== undefined) setSession(visitor, { ...waiting, token_type: 'bearer', user: {} });
      expect((await visitor.getJson('/api/me')).status).toBeGreaterThanOrEqual(401);
      expect((await visitor.getJson('/auth/session')).json.authenticated).not.toBe(true);
    },
  );

  it('refuses a stranger’s tokens as a pending recovery', async () => {
    const stranger = await real.project.addUser();
    const visitor = real.app.visitor();
    setPending(visitor, await tokensOf(real.project, stranger));
    expect((await visitor.postJson('/auth/password', { password })).status).toBeGreaterThanOrEqual(400);
    expect((await tokensOf(real.project, stranger)).access_token).toEqual(expect.any(String));
  });
});

describeOwnGoTrue('a session of three days ago', () => {
  const guarded = { '/recent': { adapter: 'backend', maxAge: 300 } } as const;
  const real = useRealApp({ gotrue: { keys: [createSigningKey('only')] }, guarded });

  /** Tokens that are new, of a sign-in that is old. */
  async function old() {
    const user = await real.project.addUser();
    const { access_token: token, refresh_token: refreshToken } = await tokensOf(real.project, user);
    await ageSession(String(decodeJwt(token)['session_id']), 3);
    const { body: session } = await real.project.refresh(refreshToken);
    const visitor = real.app.visitor();
    setSession(visitor, session);
    return { user, session, visitor };
  }

  it('is served, and is not fresh', async () => {
    const { visitor } = await old();
    expect((await visitor.get('/account')).status).toBe(200);
    expect((await visitor.getJson('/recent')).status).toBe(401);
  });

  it('is no pending recovery: its tokens do not open /auth/password', async () => {
    const { user, session } = await old();
    const visitor = real.app.visitor();
    setPending(visitor, session);
    const answer = await visitor.postJson('/auth/password', { password });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect((await tokensOf(real.project, { ...user, password })).access_token).toBeUndefined();
    expect((await tokensOf(real.project, user)).access_token).toEqual(expect.any(String));
  });

  it('is no pending recovery either where it began a minute ago by a password', async () => {
    const user = await real.project.addUser();
    const visitor = real.app.visitor();
    setPending(visitor, await tokensOf(real.project, user));
    expect((await visitor.postJson('/auth/password', { password })).status).toBeGreaterThanOrEqual(400);
    expect((await tokensOf(real.project, user)).access_token).toEqual(expect.any(String));
  });

  it('cannot add a first factor: it has to sign in again', async () => {
    const { user, visitor } = await old();
    const refused = await visitor.postJson('/auth/enroll', {});
    expect([refused.status, refused.json.error.code]).toEqual([401, 'fresh_sign_in_required']);
    expect(await real.project.admin(`/admin/users/${user.id}/factors`)).toEqual([]);
  });

  it('adds one after the new sign-in that the page’s form leads to', async () => {
    const { user, visitor } = await old();
    const form = { returnTo: '/account' };
    expect((await visitor.get('/auth/enroll')).status).toBe(200);
    const sent = await postForm(visitor, '/auth/enroll', form);
    const { pathname, searchParams } = new URL(sent.location);
    expect([sent.status, pathname]).toEqual([303, '/auth/login']);
    const returnTo = searchParams.get('returnTo') ?? '';
    expect(returnTo).toBe('/auth/enroll?returnTo=%2Faccount');
    expect((await visitor.get(sent.location)).text).toContain('name="password"');
    const { email, password: known } = user;
    const back = await postForm(visitor, '/auth/login', { email, password: known, returnTo });
    expect([back.status, back.location]).toEqual([303, `${real.app.origin}${returnTo}`]);
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    expect((await visitor.postJson('/auth/enroll', { factorId, code: totp(secret) })).status).toBe(200);
    expect((await visitor.getJson('/recent')).status).toBe(200);
    expect((await visitor.getJson('/secure')).status).toBe(200);
  });

  it('does not get fresh by a second factor that was added to it', async () => {
    const { user, session } = await old();
    const ask = (path: string, body: object): Promise<any> =>
      real.project.ask(path, 'POST', body, session.access_token);
    const { body: factor } = await ask('/factors', { factor_type: 'totp', friendly_name: 'App' });
    const { body: challenge } = await ask(`/factors/${factor.id}/challenge`, {});
    const code = totp(factor.totp.secret);
    const { body: verified } = await ask(`/factors/${factor.id}/verify`, { challenge_id: challenge.id, code });
    expect(decodeJwt(verified.access_token)).toMatchObject({
      aal: 'aal2',
      amr: [{ method: 'totp' }, { method: 'password' }],
    });
    const visitor = real.app.visitor();
    setSession(visitor, verified);
    expect((await visitor.getJson('/secure')).status).toBe(200);
    expect((await visitor.getJson('/recent')).status).toBe(401);
    expect((await visitor.getJson('/api/me')).json.user.id).toBe(user.id);
  });
});
