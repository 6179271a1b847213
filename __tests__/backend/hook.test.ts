import { AuthError } from '../../lib/backend/index.ts';
import type { AuthErrorCode, BackendAuthOptions } from '../../lib/backend/index.ts';
import { ada, continueAsOther, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { itAtRoot } from '../support/only.ts';
import type { Visitor } from '../support/visitor.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

describe('the hook', () => {
  itAtRoot('runs once, after verification and before any cookie, and may redirect elsewhere', async () => {
    const seen: unknown[] = [];
    await start({
      options: {
        onSignIn({ session, returnTo }) {
          seen.push([session.user.email, returnTo]);
          return { redirectTo: '/welcome' };
        },
      },
    });
    const answer = await app.visitor().postJson('/auth/login', { ...ada, returnTo: '/account' });
    expect(answer.json).toEqual({ redirectTo: '/welcome' });
    expect(seen).toEqual([[ada.email, '/account']]);
  });

  describe('that refuses with a code of another page decides the answer', () => {
    const refused = 'Single sign-on isn’t set up for this email.';
    const startRefusing = (
      code: AuthErrorCode = 'sso_unavailable',
      options?: BackendAuthOptions,
    ): Promise<BackendApp> =>
      start({
        options: {
          onSignIn({ session }) {
            if (session.user.email === ada.email) throw new AuthError(code);
          },
          ...options,
        },
      });

    it('when the second factor is given', async () => {
      const { supabase } = await startRefusing();
      const factor = supabase.addFactor(ada.email);
      const visitor = app.visitor();
      await postForm(visitor, '/auth/login', ada);
      const answer = await postForm(visitor, '/auth/verify', { code: supabase.codeOf(factor) });
      expect(answer.status).toBe(422);
      expect(answer.text).toContain(refused);
    });

    it('when a new password is set after a link', async () => {
      const { supabase } = await startRefusing();
      const visitor = app.visitor();
      await postForm(visitor, '/auth/forgot', { email: ada.email });
      const { location } = await visitor.get(supabase.mails.at(-1)!.confirmationUrl);
      await visitor.get(location);
      const answer = await postForm(visitor, '/auth/password', { password: 'a brand new password 1' });
      expect(answer.status).toBe(422);
      expect(answer.text).toContain(refused);
    });

    it.each([
      ['page', (visitor: Visitor) => postForm(visitor, '/auth/password', { password: 'a brand new password 1' })],
      ['JSON', (visitor: Visitor) => visitor.postJson('/auth/password', { password: 'a brand new password 1' })],
    ])('when a new password is set after a link, also with the code for a missing factor (%s)', async (_form, save) => {
      const { supabase } = await startRefusing('second_factor_required');
      const visitor = app.visitor();
      await postForm(visitor, '/auth/forgot', { email: ada.email });
      const { location } = await visitor.get(supabase.mails.at(-1)!.confirmationUrl);
      await visitor.get(location);
      const answer = await save(visitor);
      expect(answer.status).toBe(403);
      expect(answer.text).toContain('This page needs two-step sign-in.');
      expect((await visitor.getJson('/auth/session')).status).toBe(401);
    });

    it('when the password of a session is changed, also with the code for a missing factor', async () => {
      await startRefusing('second_factor_required');
      const visitor = await app.signedIn({});
      const fields = { currentPassword: ada.password, password: 'a brand new password 1' };
      const answer = await postForm(visitor, '/auth/password', fields);
      expect(answer.status).toBe(403);
      expect(answer.text).toContain('This page needs two-step sign-in.');
    });

    it('when an emailed code is entered', async () => {
      const { supabase } = await startRefusing('rate_limited', { signInMethods: ['code'] });
      const visitor = app.visitor();
      await postForm(visitor, '/auth/code', { email: ada.email });
      const answer = await postForm(visitor, '/auth/code', { email: ada.email, code: supabase.mails.at(-1)!.token });
      expect([answer.status, answer.text.includes('wrong codes')]).toEqual([429, false]);
    });

    it.each([
      ['link_expired', '/auth/confirm'],
      ['code_rejected', '/auth/callback'],
    ] as const)('beside the session of another user (%s at %s)', async (code, path) => {
      const { supabase } = await startRefusing(code, { signInMethods: ['password', 'code'] });
      const eve = { email: 'eve@example.com', password: 'battery staple' };
      supabase.addUser(eve);
      const visitor = app.visitor();
      await visitor.postJson('/auth/login', eve);
      await postForm(visitor, '/auth/code', { email: ada.email });
      const { confirmationUrl, tokenHash } = supabase.mails.at(-1)!;
      if (path === '/auth/confirm') await postForm(visitor, path, { token_hash: tokenHash, type: 'magiclink' });
      else await visitor.get((await visitor.get(confirmationUrl)).location);
      const answer = await continueAsOther(visitor);
      expect([answer.status, answer.headers.location]).toEqual([400, undefined]);
      expect((await visitor.getJson('/auth/session')).json.user.email).toBe(eve.email);
    });
  });

  it.each<[string, () => unknown, number]>([
    ['an AuthError', () => new AuthError('forbidden', { message: 'Not you.' }), 403],
    ['anything else', () => new Error('broken'), 500],
  ])('that throws %s leaves no session, neither here nor at the backend', async (_what, failure, status) => {
    await start({
      options: {
        onSignIn() {
          throw failure();
        },
      },
    });
    const visitor = app.visitor();
    const answer = await visitor.postJson('/auth/login', ada);
    expect(answer.status).toBe(status);
    expect(answer.setCookies).toEqual([]);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(app.supabase.calls('logout')).toBe(1);
    expect(app.eventTypes()).not.toContain('signed_in');
  });
});
