import { getSupabaseClient } from '../../lib/backend/index.ts';
import { sendText } from '../support/hosts.ts';
import { follow } from '../../stand-ins/supabase/browser.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { Mail } from '../../stand-ins/supabase/stand-in.ts';
import type { Visitor } from '../support/visitor.ts';

const eve = { email: 'eve@example.com', password: 'battery staple' };
let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> =>
  (app = await startBackendApp({ ...setup, standIn: { autoconfirm: false, ...setup?.standIn } }));
afterEach(() => app.close());

async function signUp(returnTo = '/account'): Promise<{ visitor: Visitor; mail: Mail }> {
  const visitor = app.visitor();
  const answer = await visitor.postJson('/auth/signup', { ...eve, returnTo });
  if (answer.status !== 200) throw new Error(answer.text);
  return { visitor, mail: app.supabase.mails.at(-1)! };
}

describe('the link of a confirmation email', () => {
  it('signs in in the same browser, and returns to returnTo', async () => {
    await start();
    const { visitor, mail } = await signUp('/account?from=signup');
    const done = await visitor.get(await follow(mail.confirmationUrl));
    expect([done.status, done.headers.location]).toEqual([303, '/account?from=signup']);
    expect([...visitor.cookies.keys()]).toEqual([app.cookieName]);
  });

  it('says "please sign in" in another browser, without claiming that anything is confirmed', async () => {
    await start();
    const { mail } = await signUp();
    for (const callback of [await follow(mail.confirmationUrl), '/auth/callback?code=nonsense']) {
      const page = await app.visitor().get(callback);
      expect([page.status, page.text.includes('<h1>Sign in to continue</h1>')]).toEqual([200, true]);
      expect(page.text).not.toMatch(/is confirmed|emblem good/);
      expect(page.text).toContain('href="/auth/login"');
    }
  });

  it('says so after five minutes, when the backend has dropped the flow, and deletes the cookies', async () => {
    await start();
    const { visitor, mail } = await signUp();
    app.clock.advance(6 * 60_000);
    const page = await visitor.get(await follow(mail.confirmationUrl));
    expect([page.status, page.text.includes('Sign in to continue')]).toEqual([200, true]);
    expect(page.text).toContain('/auth/login?returnTo=%2Faccount');
    expect([...visitor.cookies.keys()].filter((name) => name.includes('-flow-'))).toEqual([]);
    expect((await visitor.postJson('/auth/login', eve)).status).toBe(200);
  });

  it('redirects to the start page when it is opened twice', async () => {
    await start();
    const { visitor, mail } = await signUp();
    await visitor.get(await follow(mail.confirmationUrl));
    const again = await visitor.get(await follow(mail.confirmationUrl));
    expect([again.status, again.headers.location]).toEqual([303, '/']);
  });
});

describe('the two links of a change of address', () => {
  const oneMore = {
    otherLinkRequired: true,
    message: 'Open the links in both emails: the one to your old address and the one to your new address.',
  };

  it('work one after the other: the first asks for the other one, the second signs in', async () => {
    await start();
    const visitor = await app.signedIn();
    const [first, second] = app.supabase.sendEmailChange(ada.email);
    const fields = { type: 'email_change', returnTo: '/account' };
    const one = await postForm(visitor, '/auth/confirm', { ...fields, token_hash: first!.tokenHash });
    expect([one.status, one.text.includes('One more link to open')]).toEqual([200, true]);
    expect(one.text).toContain('href="/account"');
    expect(one.text).not.toMatch(/is confirmed|sign in to continue/i);
    const two = await postForm(visitor, '/auth/confirm', { ...fields, token_hash: second!.tokenHash });
    expect([two.status, two.headers.location]).toEqual([303, '/account']);
  });

  it('show the same from the backend’s own link, whose redirect carries only a message', async () => {
    await start();
    const [first] = app.supabase.sendEmailChange(ada.email, `${app.origin}/auth/callback`);
    const callback = await follow(first!.confirmationUrl);
    expect(callback).toContain('message=');
    const page = await app.visitor().get(callback);
    expect([page.status, page.text.includes('One more link to open')]).toEqual([200, true]);
    expect(page.text).not.toContain('Confirmation link accepted');
    expect((await app.visitor().getJson(callback)).json).toEqual({ ...oneMore, redirectTo: '/' });
  });

  it('are told to a script as well, which learns from the first that the address is still the former one', async () => {
    await start();
    const visitor = await app.signedIn();
    const [first, second] = app.supabase.sendEmailChange(ada.email);
    const open = async (mail: typeof first): Promise<unknown> => {
      const fields = { type: 'email_change', returnTo: '/account', token_hash: mail!.tokenHash };
      return (await visitor.postJson('/auth/confirm', fields)).json;
    };
    expect(await open(first)).toEqual({ ...oneMore, redirectTo: '/account' });
    expect(await open(second)).toEqual({ redirectTo: '/account' });
  });
});

describe('the backend’s own link of a password recovery', () => {
  it('that the application itself requested opens no session before the new password', async () => {
    await start({
      after: (host) => {
        host.get('/reset', (req, res, next) => {
          getSupabaseClient(req)
            .then((client) =>
              client.auth.resetPasswordForEmail(ada.email, { redirectTo: `${app.origin}/auth/callback` }),
            )
            .then(() => sendText(res, 'sent'), next);
        });
      },
    });
    const visitor = app.visitor();
    await visitor.get('/reset');
    const answer = await visitor.get(await follow(app.supabase.mails.at(-1)!.confirmationUrl));
    expect([answer.status, answer.headers.location]).toEqual([303, '/auth/password']);
    expect([...visitor.cookies.keys()].filter((name) => !name.endsWith('-pending'))).toEqual([]);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect(app.eventTypes()).toEqual([]);
  });
});

describe('/auth/confirm', () => {
  const link = ({ tokenHash }: Mail, type = 'email'): string =>
    `/auth/confirm?token_hash=${tokenHash}&type=${type}&next=/account`;

  it('renders a button and verifies nothing, because link scanners press none', async () => {
    await start();
    const { mail } = await signUp();
    const page = await app.visitor().get(link(mail));
    expect(page.status).toBe(200);
    expect(page.text).toContain(`name="token_hash" value="${mail.tokenHash}"`);
    expect(page.text).toMatch(/name="returnTo" value="[^"]*\/account"/);
    expect([page.headers['referrer-policy'], page.headers.vary]).toEqual([
      'same-origin',
      expect.stringContaining('Accept'),
    ]);
    expect(app.supabase.calls('verify')).toBe(0);
  });

  it.each(['email', 'signup'])('signs in by its POST, in any browser (type %s)', async (type) => {
    await start();
    const { mail } = await signUp();
    const visitor = app.visitor();
    const done = await postForm(visitor, '/auth/confirm', { token_hash: mail.tokenHash, type, returnTo: '/account' });
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(eve.email);
    expect(app.supabase.requests.find(({ endpoint }) => endpoint === 'verify')?.body).not.toHaveProperty('email');
  });

  it('reports a used link, and redirects a user who pressed twice', async () => {
    await start();
    const { mail } = await signUp();
    const visitor = app.visitor();
    const fields = { token_hash: mail.tokenHash, type: 'email', returnTo: '/account' };
    await postForm(visitor, '/auth/confirm', fields);
    expect((await postForm(visitor, '/auth/confirm', fields)).headers.location).toBe('/account');
    expect(app.eventTypes()).toEqual(['signed_in']);
    // No double click any more.
    app.clock.advance(3_000);
    expect((await postForm(visitor, '/auth/confirm', fields)).headers.location).toBe('/account');
    expect(app.eventTypes()).toEqual(['signed_in', 'sign_in_failed']);
    const stranger = await postForm(app.visitor(), '/auth/confirm', fields);
    expect(stranger.status).toBe(400);
    expect(stranger.text).toContain('has been used or has expired');
    expect(stranger.text).not.toContain('name="token_hash"');
    expect(app.events.slice(2)).toMatchObject([{ type: 'sign_in_failed', code: 'link_expired' }]);
  });

  it.each([
    [503, 503, 'provider_unavailable'],
    [429, 429, 'rate_limited'],
  ] as const)('keeps the button while the backend answers %d', async (fault, status, code) => {
    await start();
    const { mail } = await signUp();
    const fields = { token_hash: mail.tokenHash, type: 'email' };
    const signedIn = app.visitor();
    app.supabase.addUser({ email: 'bob@example.com', password: 'bobs long password' });
    await signedIn.postJson('/auth/login', { email: 'bob@example.com', password: 'bobs long password' });
    app.supabase.fail('verify', fault);
    for (const visitor of [app.visitor(), signedIn]) {
      const failed = await postForm(visitor, '/auth/confirm', fields);
      expect([failed.status, Number(failed.headers['retry-after']) > 0]).toEqual([status, true]);
      expect(failed.text).toContain(`value="${mail.tokenHash}"`);
      expect((await visitor.postJson('/auth/confirm', fields)).json.error.code).toBe(code);
    }
    app.supabase.heal();
    expect((await postForm(app.visitor(), '/auth/confirm', fields)).status).toBe(303);
  });

  it('signs two users in as themselves who press at the same moment', async () => {
    await start();
    const emails = ['eve@example.com', 'eva@example.com'];
    for (const email of emails) await app.visitor().postJson('/auth/signup', { ...eve, email });
    const visitors = [app.visitor(), app.visitor()];
    await Promise.all(
      app.supabase.mails.map(({ tokenHash }, index) =>
        postForm(visitors[index]!, '/auth/confirm', { token_hash: tokenHash, type: 'email' }),
      ),
    );
    const sessions = await Promise.all(visitors.map((visitor) => visitor.getJson('/auth/session')));
    expect(sessions.map(({ json }) => json.user.email)).toEqual(emails);
  });

  it.each([
    ['type=phone_change&token_hash=abc', 'invalid_request'],
    ['type=email', 'invalid_request'],
    ['type=email&token_hash=<script>', 'invalid_request'],
    ['type=email&token_hash=<abc', 'invalid_request'],
    ['type=email&token_hash=abc>', 'invalid_request'],
    ['token_hash=abc', 'invalid_request'],
  ])('refuses ?%s', async (query, code) => {
    await start();
    const answer = await app.visitor().getJson(`/auth/confirm?${query}`);
    expect([answer.status, answer.json.error.code]).toEqual([400, code]);
    const posted = await postForm(app.visitor(), '/auth/confirm', Object.fromEntries(new URLSearchParams(query)));
    expect(posted.status).toBe(400);
  });

  it('reports a malformed link as a failed sign-in when its button is pressed', async () => {
    await start();
    const answer = await postForm(app.visitor(), '/auth/confirm', { type: 'email', token_hash: '<abc' });
    expect([answer.status, app.events.map(({ type, ...event }) => [type, 'code' in event && event.code])]).toEqual([
      400,
      [['sign_in_failed', 'invalid_request']],
    ]);
  });

  it('refuses a post from another site, which would sign the visitor in as another user', async () => {
    await start();
    const { mail } = await signUp();
    const fields = { token_hash: mail.tokenHash, type: 'email' };
    const answer = await postForm(app.visitor(), '/auth/confirm', fields, { 'sec-fetch-site': 'cross-site' });
    expect([answer.status, app.supabase.calls('verify')]).toEqual([403, 0]);
  });
});

describe('POST /auth/resend', () => {
  it('sends the email again, and its link works in this browser', async () => {
    await start({ standIn: { mailFrequency: 0 } });
    await signUp();
    const visitor = app.visitor();
    await visitor.postJson('/auth/resend', { email: eve.email, returnTo: '/account' });
    expect(app.supabase.mails).toHaveLength(2);
    const done = await visitor.get(await follow(app.supabase.mails[1]!.confirmationUrl));
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
  });

  it('answers the same for every address: unconfirmed, emailed a moment ago, confirmed, unknown', async () => {
    await start();
    await signUp();
    app.supabase.addUser({ email: 'waiting@example.com', password: 'long enough', confirmed: false });
    const emails = ['waiting@example.com', eve.email, ada.email, 'unknown@example.com'];
    const answers: string[] = [];
    for (const email of emails) {
      const visitor = app.visitor();
      const { status, text } = await visitor.postJson('/auth/resend', { email });
      const cookies = [...visitor.cookies.keys()].map((name) => name.replace(/[0-9a-f]{32}/, 'ID'));
      answers.push(JSON.stringify([status, text.replaceAll(email, 'EMAIL'), cookies]));
    }
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain('"emailConfirmationRequired\\":true');
    expect(app.supabase.mails).toHaveLength(2);
  });

  it('shows a page to a form, and refuses a malformed address', async () => {
    await start();
    const page = await postForm(app.visitor(), '/auth/resend', { email: ada.email });
    expect([page.status, page.text.includes('Check your email')]).toEqual([200, true]);
    expect((await app.visitor().postJson('/auth/resend', { email: 'x' })).status).toBe(400);
    const refused = await postForm(app.visitor(), '/auth/resend', { email: 'x', returnTo: '/account' });
    expect([refused.status, refused.text.includes('/auth/login?returnTo=%2Faccount')]).toEqual([400, true]);
    expect(app.eventTypes()).toEqual([]);
    expect((await app.visitor().get('/auth/resend')).status).toBe(405);
  });

  it('reports an unreachable backend', async () => {
    await start();
    app.supabase.fail('resend', 503);
    expect((await app.visitor().postJson('/auth/resend', { email: ada.email })).status).toBe(503);
  });
});
