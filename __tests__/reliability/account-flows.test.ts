import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

const fresh = 'a brand new password';
const octavia = 'octavia@example.com';
let app: BackendApp;
beforeEach(async () => {
  app = await startBackendApp({
    // Long enough for a machine that stands still for a second.
    options: { timeoutMs: 1500, signInMethods: ['password', 'code'], sso: true },
    standIn: { mailFrequency: 0, ssoDomains: new Set(['example.com']) },
  });
});
afterEach(() => app.close());

/** Failures before the backend has done its work, in every form of an outage. */
const faults = [503, 'html502', 'refuse', 'hang'] as const;
const lastMail = () => app.supabase.mails.at(-1)!;
const sessionStatus = async (visitor: Visitor): Promise<number> => (await visitor.getJson('/auth/session')).status;

/** The form is still there, with the typed values and a correct wait; JSON reports the same. */
async function expectOutage(visitor: Visitor, path: string, fields: Record<string, string>, kept: string) {
  const page = await postForm(visitor, path, fields);
  expect([page.status, page.text.includes(kept)]).toEqual([503, true]);
  expect(Number(page.headers['retry-after'])).toBeGreaterThan(0);
}

describe.each(faults)('an outage (%s) keeps the form, and the next try continues:', (fault) => {
  async function outage(endpoint: Parameters<typeof app.supabase.fail>[0], during: () => Promise<void>) {
    app.supabase.fail(endpoint, fault);
    await during();
    app.supabase.heal();
  }

  it('a link for a new password, from the address to the session', async () => {
    const visitor = app.visitor();
    const asked = { email: ada.email, returnTo: '/account' };
    await outage('recover', () => expectOutage(visitor, '/auth/forgot', asked, `value="${ada.email}"`));
    expect((await postForm(visitor, '/auth/forgot', asked)).status).toBe(200);
    const link = { token_hash: lastMail().tokenHash, type: 'recovery', returnTo: '/account' };
    await outage('verify', () => expectOutage(visitor, '/auth/confirm', link, `value="${link.token_hash}"`));
    expect((await postForm(visitor, '/auth/confirm', link)).location).toContain('/auth/password?returnTo=%2Faccount');
    const chosen = { password: fresh, returnTo: '/account' };
    await outage('update-user', () => expectOutage(visitor, '/auth/password', chosen, 'name="password"'));
    expect((await postForm(visitor, '/auth/password', chosen)).headers.location).toBe('/account');
    expect(await sessionStatus(visitor)).toBe(200);
  });

  it('a new password of a signed-in user, whose session continues', async () => {
    const visitor = await app.signedIn();
    const fields = { currentPassword: ada.password, password: fresh, returnTo: '/account' };
    await outage('password', () => expectOutage(visitor, '/auth/password', fields, 'name="currentPassword"'));
    expect(await sessionStatus(visitor)).toBe(200);
    expect((await postForm(visitor, '/auth/password', fields)).headers.location).toBe('/account');
    expect(await sessionStatus(visitor)).toBe(200);
  });

  it('a code by email, from the address to the session', async () => {
    const visitor = app.visitor();
    const asked = { email: ada.email, returnTo: '/account' };
    await outage('otp', () => expectOutage(visitor, '/auth/code', asked, `value="${ada.email}"`));
    // An email that was not sent does not use up the minute.
    expect((await postForm(visitor, '/auth/code', asked)).status).toBe(200);
    const entered = { ...asked, code: lastMail().token };
    await outage('verify', async () => {
      // More often than the five wrong codes that are allowed.
      for (let count = 0; count < (fault === 'hang' ? 1 : 6); count += 1) {
        await expectOutage(visitor, '/auth/code', entered, 'name="code"');
      }
    });
    expect((await postForm(visitor, '/auth/code', entered)).headers.location).toBe('/account');
    expect(await sessionStatus(visitor)).toBe(200);
  });

  it('single sign-on, from the address to the session', async () => {
    const visitor = app.visitor();
    const asked = { email: octavia, returnTo: '/account' };
    await outage('sso', () => expectOutage(visitor, '/auth/sso', asked, `value="${octavia}"`));
    const signIn = async (): Promise<URL> => {
      const start = await postForm(visitor, '/auth/sso', asked);
      return app.supabase.authorize(start.location, { approve: true, user: octavia });
    };
    const back = await signIn();
    await outage('pkce', async () => {
      const answer = await visitor.get(back.href);
      expect([answer.status, Number(answer.headers['retry-after']) > 0]).toEqual([503, true]);
    });
    // The code may have been used, so the page leads to a new start with returnTo.
    expect((await visitor.get(back.href)).headers.location).toBe('/auth/login?returnTo=%2Faccount');
    expect((await visitor.get((await signIn()).href)).headers.location).toBe('/account');
    expect(await sessionStatus(visitor)).toBe(200);
  });

  it('an authenticator app, from the QR code to the session with both factors', async () => {
    const visitor = await app.signedIn();
    await outage('user', async () => expect((await visitor.get('/auth/enroll')).status).toBe(503));
    await outage('enroll', () => expectOutage(visitor, '/auth/enroll', {}, 'action="/auth/enroll"'));
    const { factorId, secret, uri } = (await visitor.postJson('/auth/enroll', {})).json;
    const fields = { factorId, uri, code: app.supabase.codeOf({ secret }), returnTo: '/account' };
    for (const endpoint of ['challenge', 'verify-factor'] as const) {
      await outage(endpoint, () => expectOutage(visitor, '/auth/enroll', fields, '<svg class="qr"'));
    }
    const added = await postForm(visitor, '/auth/enroll', fields);
    expect(added.headers.location).toBe('/auth/enroll?added=first&returnTo=%2Faccount');
    await outage('unenroll', () =>
      expectOutage(visitor, '/auth/enroll', { remove: factorId, sure: 'yes' }, '?remove='),
    );
    expect((await postForm(visitor, '/auth/enroll', { remove: factorId, sure: 'yes' })).headers.location).toBe(
      '/auth/enroll',
    );
    expect(await sessionStatus(visitor)).toBe(200);
  });
});

describe('an answer that is lost after the backend has done its work', () => {
  const lose = async (endpoint: Parameters<typeof app.supabase.fail>[0], answer: Promise<Answer>) => {
    app.supabase.fail(endpoint, 'lost', 1);
    expect((await answer).status).toBe(503);
  };

  it('keeps the code of the sent email valid', async () => {
    const visitor = app.visitor();
    await lose('otp', postForm(visitor, '/auth/code', { email: ada.email }));
    const answer = await postForm(visitor, '/auth/code', { email: ada.email, code: lastMail().token });
    expect(answer.status).toBe(303);
    expect(await sessionStatus(visitor)).toBe(200);
  });

  it('keeps the form of a code that was used, to request another email', async () => {
    const visitor = app.visitor();
    await postForm(visitor, '/auth/code', { email: ada.email });
    const entered = { email: ada.email, code: lastMail().token };
    await lose('verify', postForm(visitor, '/auth/code', entered));
    const again = await postForm(visitor, '/auth/code', entered);
    expect([again.status, again.text.includes('Send another email')]).toEqual([422, true]);
  });

  it('keeps the sent link for a new password valid', async () => {
    const visitor = app.visitor();
    await lose('recover', postForm(visitor, '/auth/forgot', { email: ada.email }));
    const link = { token_hash: lastMail().tokenHash, type: 'recovery' };
    expect((await postForm(visitor, '/auth/confirm', link)).headers.location).toBe('/auth/password');
  });

  it('lets single sign-on start again', async () => {
    const visitor = app.visitor();
    await lose('sso', postForm(visitor, '/auth/sso', { email: octavia }));
    const start = await postForm(visitor, '/auth/sso', { email: octavia });
    const back = await app.supabase.authorize(start.location, { approve: true, user: octavia });
    expect((await visitor.get(back.href)).status).toBe(303);
    expect(await sessionStatus(visitor)).toBe(200);
  });

  it('asks for the code of a new authenticator app once more', async () => {
    const visitor = await app.signedIn();
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    const fields = { factorId, code: app.supabase.codeOf({ secret }) };
    await lose('verify-factor', postForm(visitor, '/auth/enroll', fields));
    const again = await postForm(visitor, '/auth/enroll', fields);
    expect(again.headers.location).toBe('/auth/verify?returnTo=%2Fauth%2Fenroll');
    const given = await postForm(visitor, again.location, { code: app.supabase.codeOf({ secret }) });
    expect(given.headers.location).toBe('/auth/enroll');
    expect((await visitor.getJson('/auth/enroll')).json.factors).toEqual([{ id: factorId, type: 'totp' }]);
  });
});
