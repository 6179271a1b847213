import { identityIdOf } from '../../../stand-ins/supabase/users.ts';
import type { User } from '../../../stand-ins/supabase/types.ts';
import { ada, postForm, setSession, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { openAsGuest } from '../../support/guest.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

const path = '/auth/account';
const bob = { email: 'bob@example.com', password: 'something else 2' } as const;

let app: BackendApp;
const start = async ({ options, standIn, ...setup }: BackendAppSetup = {}): Promise<Visitor> => {
  app = await startBackendApp({
    options: {
      providers: ['github', 'google'],
      signInMethods: ['password', 'passkey'],
      oauthConsent: true,
      ...options,
    },
    standIn: {
      manualLinking: true,
      passkeys: true,
      oauthServer: true,
      anonymousUsers: true,
      mailFrequency: 0,
      ...standIn,
    },
    ...setup,
  });
  return app.signedIn();
};
afterEach(() => app.close());

const userOf = (email: string = ada.email): User => app.supabase.users().find((user) => user.email === email)!;
const code = ({ json }: Answer): string => json.error.code;
const idOf = (provider: string, user = userOf()): string => identityIdOf(provider, user);
/** The `session_id` of the visitor's token. */
function sessionIdOf({ cookies }: Visitor): string {
  const text = (cookies.get(app.cookieName) ?? '').replace('base64-', '');
  const { access_token: token } = JSON.parse(Buffer.from(text, 'base64url').toString());
  return JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()).session_id;
}
const openSessions = () => app.supabase.sessionsOf(ada.email).length;

/** Through the provider and back, as the person of this address there. */
async function comeBack(visitor: Visitor, url: string, email: string): Promise<Answer> {
  const callback = await app.supabase.authorize(url, { approve: true, user: email });
  return visitor.get(callback.href);
}

async function link(visitor: Visitor, provider = 'github', email: string = ada.email): Promise<Answer> {
  const { json } = await visitor.postJson(path, { link: provider });
  return comeBack(visitor, json.redirectTo, email);
}

describe('what an account has', () => {
  it('comes as JSON, and as rows that lead to the pages of the rooms and back', async () => {
    const visitor = await start();
    app.supabase.addFactor(ada.email, { verified: false });
    const answer = await visitor.getJson(path);
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        email: ada.email,
        password: true,
        passkeys: 0,
        factors: 0,
        apps: 0,
        identities: [{ id: idOf('email'), provider: 'email', email: ada.email }],
      },
    ]);
    const page = await visitor.get(`${path}?returnTo=/account`);
    expect(page.status).toBe(200);
    for (const text of ['Your account', ada.email, 'Two-step sign-in', 'Off', 'Connected apps', 'Link GitHub'])
      expect(page.text).toContain(text);
    const back = encodeURIComponent('/auth/account?returnTo=%2Faccount');
    for (const to of ['/auth/password', '/auth/passkeys', '/auth/enroll', '/oauth/apps'])
      expect(page.text).toContain(`href="${to}?returnTo=${back}"`);
    expect(page.text).toContain('<a href="/account">Done</a>');
    expect(page.text).not.toContain('<script');
  });

  it('has nothing of what is switched off, here or in the project', async () => {
    const visitor = await start({ options: { providers: [], signInMethods: ['password'], oauthConsent: false } });
    expect((await visitor.getJson(path)).json).toEqual({ email: ada.email, password: true, factors: 0 });
    expect((await visitor.get(path)).text).not.toMatch(/Passkeys|Connected apps|Linked/);
    await app.close();
    const other = await start({ standIn: { passkeys: false, oauthServer: false } });
    expect(Object.keys((await other.getJson(path)).json)).toEqual(['email', 'password', 'factors', 'identities']);
  });

  it.each([
    ['/auth/passkeys', 'passkeys'],
    ['/oauth/apps', 'apps'],
  ])('"Done" of %s leads there, unless the page was opened with a returnTo', async (page) => {
    const visitor = await start();
    expect((await visitor.get(page)).text).toContain('<a href="/auth/account">Done</a>');
    expect((await visitor.get(`${page}?returnTo=/notes`)).text).toContain('<a href="/notes">Done</a>');
  });

  it('"Done" of the second factors leads there, too', async () => {
    const visitor = await start();
    const { json } = await visitor.postJson('/auth/enroll', {});
    const [factor] = app.supabase.factorsOf(ada.email);
    await visitor.postJson('/auth/enroll', { factorId: json.factorId, code: app.supabase.codeOf(factor!) });
    expect((await visitor.get('/auth/enroll')).text).toContain('<a href="/auth/account">Done</a>');
    expect((await visitor.get(path)).text).toContain('On');
    expect((await visitor.getJson(path)).json.factors).toBe(1);
  });

  it('is asked for after a sign-in, which leads back', async () => {
    await start();
    const visitor = app.visitor();
    const page = await visitor.get(`${path}?returnTo=/notes`);
    expect([page.status, page.headers.location]).toEqual([
      302,
      `/auth/login?returnTo=${encodeURIComponent('/auth/account?returnTo=%2Fnotes')}`,
    ]);
    expect((await visitor.getJson(path)).status).toBe(401);
    expect((await postForm(visitor, path, { signOut: 'global' })).headers.location).toContain('/auth/login');
  });

  it('leads a guest to sign-up', async () => {
    await start();
    const { jar } = await openAsGuest(app);
    const page = await jar.get(path);
    expect([page.status, page.headers.location]).toEqual([307, '/auth/signup?returnTo=%2Fauth%2Faccount']);
    expect([(await jar.getJson(path)).status, code(await jar.postJson(path, { email: bob.email }))]).toEqual([
      403,
      'forbidden',
    ]);
  });

  it('is a 503 in an outage, and the session stays', async () => {
    const visitor = await start();
    for (const target of ['user', 'passkeys', 'grants'] as const) {
      app.supabase.fail(target, 503);
      expect([(await visitor.get(path)).status, (await visitor.getJson(path)).status]).toEqual([503, 503]);
      app.supabase.heal();
    }
    expect((await visitor.getJson(path)).status).toBe(200);
  });

  it('of a session that ended at the provider asks for a sign-in', async () => {
    const visitor = await start();
    app.supabase.removeUser(ada.email);
    expect((await visitor.get(path)).headers.location).toContain('/auth/login');
    expect(visitor.cookies.has(app.cookieName)).toBe(false);
  });

  it('has no address where Supabase sends none as text', async () => {
    const visitor = await start();
    Object.assign(userOf(), { email: 5, newEmail: {} });
    const { json } = await visitor.getJson(path);
    expect([json.email, 'newEmail' in json]).toEqual([null, false]);
    expect((await visitor.get(path)).status).toBe(200);
  });

  it('without an address has a row to add one', async () => {
    await start();
    const visitor = app.visitor();
    const user = app.supabase.addUser({ email: '' });
    user.providers.splice(0, 1, 'phone');
    setSession(visitor, await app.supabase.issueSession(user, { claims: { email: '' } }));
    expect((await visitor.getJson(path)).json).toMatchObject({ email: null, password: false });
    const answer = await visitor.postJson(path, { email: 'new@example.com' });
    expect(answer.json.message).toBe(
      'If new@example.com can be used, we’ve sent a link to it. Open it to change your email.',
    );
    expect(app.supabase.mails.map(({ to }) => to)).toEqual(['new@example.com']);
  });
});

describe('another address', () => {
  it('gets a mail, as the present one does, and says what waits', async () => {
    const visitor = await start();
    const page = await visitor.get(`${path}?change=email`);
    expect(page.text).toContain('New email');
    const sent = await postForm(visitor, path, { email: 'new@example.com' });
    expect(sent.status).toBe(200);
    expect(sent.text).toContain('If a link comes to');
    expect(app.supabase.mails.map(({ to }) => to)).toEqual([ada.email, 'new@example.com']);
    expect((await visitor.getJson(path)).json).toMatchObject({ email: ada.email, newEmail: 'new@example.com' });
    expect((await visitor.get(path)).text).toContain('isn’t confirmed yet');
    for (const { tokenHash } of app.supabase.mails)
      await postForm(visitor, '/auth/confirm', { token_hash: tokenHash, type: 'email_change' });
    const { json } = await visitor.getJson(path);
    expect([json.email, json.newEmail]).toEqual(['new@example.com', undefined]);
  });

  it('gets the only mail where the project sends one', async () => {
    const visitor = await start({ standIn: { secureEmailChange: false } });
    const { json } = await visitor.postJson(path, { email: 'new@example.com' });
    expect(json).toMatchObject({ email: 'new@example.com', redirectTo: path });
    expect(app.supabase.mails.map(({ to }) => to)).toEqual(['new@example.com']);
  });

  it('that is in use gets the same answer', async () => {
    const visitor = await start();
    app.supabase.addUser(bob);
    const [used, free] = [
      await visitor.postJson(path, { email: bob.email }),
      await visitor.postJson(path, { email: 'bab@example.com' }),
    ];
    const masked = ({ status, text }: Answer) => [status, text.replaceAll(/b.b@/g, '@')];
    expect(masked(used)).toEqual(masked(free));
    expect(app.supabase.mails.map(({ to }) => to)).toEqual([ada.email, 'bab@example.com']);
    expect(app.eventTypes()).toContain('mail_failed');
  });

  it.each([
    [ada.email.toUpperCase(), 'This is your email already.'],
    ['new@', 'Enter an email such as name@example.com.'],
    ['', 'Enter your email.'],
  ])('"%s" is refused at its field, and what was typed stays', async (email, message) => {
    const visitor = await start();
    const page = await postForm(visitor, path, { email });
    expect([page.status, page.text.includes(message), page.text.includes(`value="${email}"`)]).toEqual([
      400,
      true,
      true,
    ]);
    expect(app.supabase.mails).toEqual([]);
  });

  it('is also the former one again, as the account’s address is not that of a token', async () => {
    const visitor = await start();
    userOf().email = 'new@example.com';
    const same = await visitor.postJson(path, { email: 'new@example.com' });
    expect([same.status, same.json.error.message]).toEqual([400, 'This is your email already.']);
    const back = await visitor.postJson(path, { email: ada.email });
    expect(back.status).toBe(200);
    expect(back.json.message).toContain('If a link comes to new@example.com');
    expect(app.supabase.mails.map(({ to }) => to)).toEqual(['new@example.com', ada.email]);
  });

  /** Both links, opened in this browser. */
  async function confirmIn(visitor: Visitor): Promise<void> {
    for (const { tokenHash } of app.supabase.mails)
      await postForm(visitor, '/auth/confirm', { token_hash: tokenHash, type: 'email_change' });
  }

  it('that was confirmed is in the next request of the user’s other sessions', async () => {
    const visitor = await start();
    const other = await app.signedIn();
    await visitor.postJson(path, { email: 'new@example.com' });
    await confirmIn(visitor);
    const spent = app.supabase.calls('refresh');
    for (const browser of [visitor, other])
      expect((await browser.getJson('/auth/session')).json.user.email).toBe('new@example.com');
    // The confirming one has it from its link.
    expect(app.supabase.calls('refresh') - spent).toBe(1);
  });

  it('that was confirmed in a browser without the user is on the page, and in tokens with their next renewal', async () => {
    const visitor = await start();
    await visitor.postJson(path, { email: 'new@example.com' });
    await confirmIn(app.visitor());
    expect((await visitor.getJson(path)).json.email).toBe('new@example.com');
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
    expect(app.supabase.calls('refresh')).toBe(0);
    app.clock.advance(3_700_000);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe('new@example.com');
  });

  it('of an organization’s account is refused, and its row leads nowhere', async () => {
    const visitor = await start();
    const user = userOf();
    user.isSsoUser = true;
    user.providers.splice(0, 1, 'sso:1');
    expect((await visitor.get(path)).text).not.toContain('change=email');
    expect(code(await visitor.postJson(path, { email: 'new@example.com' }))).toBe('managed_account');
  });

  it('is a 503 in an outage, and the session stays', async () => {
    const visitor = await start();
    app.supabase.fail('update-user', 503);
    expect((await postForm(visitor, path, { email: 'new@example.com' })).status).toBe(503);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describe('who changes a way in', () => {
  it.each([{ email: 'new@example.com' }, { link: 'github' }, { unlink: 'x' }])(
    'has signed in just now: %j',
    async (body) => {
      await start();
      const visitor = await app.signedIn();
      app.clock.advance(700_000);
      const json = await visitor.postJson(path, body);
      expect([json.status, code(json)]).toEqual([401, 'fresh_sign_in_required']);
      const page = await postForm(visitor, path, body);
      expect([page.status, page.headers.location]).toEqual([303, expect.stringContaining('/auth/login?max_age=')]);
      expect(app.supabase.mails).toEqual([]);
    },
  );

  it.each([{ email: 'new@example.com' }, { link: 'github' }, { unlink: 'x' }])(
    'has given the second factor where there is one: %j',
    async (body) => {
      const visitor = await start();
      app.supabase.addFactor(ada.email);
      const json = await visitor.postJson(path, body);
      expect([json.status, code(json)]).toEqual([403, 'second_factor_required']);
    },
  );

  it.each(['?change=email', '?unlink='])('is asked before the page: %s', async (query) => {
    const visitor = await start();
    await link(visitor);
    app.clock.advance(700_000);
    const url = `${path}${query}${query.endsWith('=') ? idOf('github') : ''}`;
    expect((await visitor.get(url)).headers.location).toContain('/auth/login?max_age=');
  });
});

describe('linked sign-ins', () => {
  it('a provider’s account is linked to the account of the session, which comes back', async () => {
    const visitor = await start();
    const { id } = (await visitor.getJson('/auth/session')).json.user;
    const back = await link(visitor, 'github', 'octo@example.com');
    expect([back.status, back.headers.location]).toEqual([303, path]);
    expect((await visitor.getJson('/auth/session')).json.user.id).toBe(id);
    expect((await visitor.getJson(path)).json.identities).toMatchObject([
      { provider: 'email' },
      { provider: 'github' },
    ]);
    const page = await visitor.get(path);
    expect(page.text).toContain(`?unlink=${idOf('github')}`);
    expect(page.text).not.toContain('Link GitHub');
  });

  it('a page goes to the provider without a redirect, which the page’s policy would stop', async () => {
    const visitor = await start();
    const page = await postForm(visitor, path, { link: 'google' });
    expect([page.status, page.headers.location]).toEqual([200, undefined]);
    expect(page.headers['refresh']).toContain(`0; url=${app.supabase.url}/provider/google/authorize?`);
    expect(page.text).toContain('Link Google');
  });

  it('an account that is another user’s is refused, and the session stays', async () => {
    const visitor = await start();
    const other = app.supabase.addUser(bob);
    other.providers.push('github');
    const back = await link(visitor, 'github', bob.email);
    expect(back.status).toBeGreaterThanOrEqual(400);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
  });

  it('only listed providers can be linked', async () => {
    const visitor = await start();
    expect(code(await visitor.postJson(path, { link: 'keycloak' }))).toBe('unknown_provider');
    expect(app.supabase.calls('link-identity')).toBe(0);
  });

  it('is unlinked after a question on pages, and at once for JSON', async () => {
    const visitor = await start();
    await link(visitor);
    await link(visitor, 'google');
    const question = await visitor.get(`${path}?unlink=${idOf('github')}`);
    expect(question.text).toContain('Unlink <bdi>GitHub</bdi>?');
    const asked = await postForm(visitor, path, { unlink: idOf('github') });
    expect([asked.status, asked.text.includes('name="sure"')]).toEqual([200, true]);
    expect(userOf().providers).toEqual(['email', 'github', 'google']);
    const done = await postForm(visitor, path, { unlink: idOf('github').toUpperCase(), sure: 'yes' });
    expect([done.status, done.headers.location]).toEqual([303, path]);
    expect((await visitor.postJson(path, { unlink: idOf('google') })).json).toEqual({ redirectTo: path });
    expect(userOf().providers).toEqual(['email']);
    // A second try on a page goes on; a client learns that there is none.
    expect((await postForm(visitor, path, { unlink: idOf('google'), sure: 'yes' })).status).toBe(303);
    expect(code(await visitor.postJson(path, { unlink: idOf('google') }))).toBe('invalid_request');
  });

  it.each([
    ['is the only identity', ['github']],
    ['is the only one that signs in here', ['github', 'phone']],
    ['is the only one of the list', ['github', 'figma']],
  ])('is not unlinked where it %s', async (_name, providers) => {
    const visitor = await start();
    const user = userOf();
    user.providers.splice(0, 1, ...providers);
    const answer = await visitor.postJson(path, { unlink: idOf('github') });
    expect([answer.status, code(answer)]).toEqual([422, 'last_sign_in_method']);
    const page = await postForm(visitor, path, { unlink: idOf('github'), sure: 'yes' });
    expect([page.status, page.text.includes('This is your last way to sign in.')]).toEqual([422, true]);
    expect((await visitor.get(path)).text).not.toContain(`unlink=${idOf('github')}`);
    expect(user.providers).toEqual(providers);
  });

  it('have the provider’s address, and sign in to the account from then on', async () => {
    const visitor = await start();
    await link(visitor, 'github', 'octo@example.com');
    expect((await visitor.getJson(path)).json).toMatchObject({
      email: ada.email,
      identities: [
        { provider: 'email', email: ada.email },
        { provider: 'github', email: 'octo@example.com' },
      ],
    });
    const elsewhere = app.visitor();
    await comeBack(elsewhere, (await elsewhere.get('/auth/login?provider=github')).location, 'octo@example.com');
    expect((await elsewhere.getJson('/auth/session')).json.user.email).toBe(ada.email);
  });

  it('make a guest an account’s user, with the provider’s address', async () => {
    await start();
    await openAsGuest(app);
    const guest = app.supabase.users().find(({ isAnonymous }) => isAnonymous)!;
    const { url, publishableKey: apikey } = app.supabase;
    const authorization = `Bearer ${(await app.supabase.issueSession(guest)).access_token}`;
    const asked = await fetch(`${url}/auth/v1/user/identities/authorize?provider=github&skip_http_redirect=true`, {
      headers: { apikey, authorization },
    });
    const { url: to } = (await asked.json()) as { url: string };
    await app.supabase.authorize(to, { approve: true, user: 'octo@example.com' });
    expect([guest.email, guest.isAnonymous]).toEqual(['octo@example.com', false]);
  });

  it('are not both unlinked at once where no other one signs in', async () => {
    const visitor = await start({ options: { signInMethods: [] } });
    userOf().providers.push('github', 'google');
    const ids = [idOf('github'), idOf('google')];
    const answers = await Promise.all(ids.map((id) => visitor.postJson(path, { unlink: id })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect(userOf().providers).toHaveLength(2);
  });

  it('leave their address where the account has it from them, and the other’s is taken', async () => {
    const visitor = await start();
    const user = userOf();
    user.providers.pop();
    await link(visitor);
    await link(visitor, 'google', 'octo@example.com');
    await visitor.postJson(path, { unlink: idOf('github') });
    expect((await visitor.getJson(path)).json).toMatchObject({ email: 'octo@example.com' });
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe('octo@example.com');
  });

  it('that another tab unlinked meanwhile are no failure of a page', async () => {
    const visitor = await start();
    await link(visitor);
    app.supabase.fail('unlink-identity', { status: 422, code: 'identity_not_found' });
    const page = await postForm(visitor, path, { unlink: idOf('github'), sure: 'yes' });
    expect([page.status, page.headers.location]).toEqual([303, path]);
    expect(code(await visitor.postJson(path, { unlink: idOf('github') }))).toBe('invalid_request');
  });

  it('stay where the other one has the email of another account, and the page says why', async () => {
    const visitor = await start();
    const user = userOf();
    user.providers.pop();
    await link(visitor);
    await link(visitor, 'google', 'octo@example.com');
    app.supabase.addUser({ ...bob, email: 'octo@example.com' });
    const answer = await visitor.postJson(path, { unlink: idOf('github') });
    expect([answer.status, code(answer)]).toEqual([422, 'last_sign_in_method']);
    const page = await postForm(visitor, path, { unlink: idOf('github'), sure: 'yes' });
    expect([page.status, page.text.includes('This one has to stay')]).toEqual([422, true]);
  });

  it('that were canceled at the provider lead back, and keep the session', async () => {
    const visitor = await start();
    const { json } = await visitor.postJson(path, { link: 'github', returnTo: '/settings' });
    const callback = await app.supabase.authorize(json.redirectTo, { approve: false });
    const back = await visitor.get(callback.href);
    expect([back.status, back.headers.location]).toEqual([303, `${path}?returnTo=%2Fsettings`]);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
  });

  it('that were canceled after a sign-out say so', async () => {
    const visitor = await start();
    const { json } = await visitor.postJson(path, { link: 'github' });
    await visitor.post('/auth/logout');
    const callback = await app.supabase.authorize(json.redirectTo, { approve: false });
    const back = await visitor.get(callback.href);
    expect([back.status, back.text.includes('access_denied')]).toEqual([403, true]);
  });

  it.each(['phone', 'web3', 'email'])(
    'of any provider are not unlinked where only %s is left, which signs no one in',
    async (left) => {
      const visitor = await start({
        options: { providers: [], defaultProvider: 'github', signInMethods: ['passkey'] },
      });
      userOf().providers.splice(0, 1, left, 'github');
      const answer = await visitor.postJson(path, { unlink: idOf('github') });
      expect([answer.status, code(answer)]).toEqual([422, 'last_sign_in_method']);
    },
  );

  it.each(['email', 'phone'])('are no %s, which no request unlinks', async (provider) => {
    const visitor = await start();
    userOf().providers.splice(0, 1, provider, 'github');
    const id = idOf(provider);
    expect(code(await visitor.postJson(path, { unlink: id }))).toBe('invalid_request');
    expect((await visitor.get(`${path}?unlink=${id}`)).text).not.toContain('name="sure"');
    expect(userOf().providers).toContain(provider);
  });

  it.each([
    ['another user has signed in', async (visitor: Visitor) => visitor.postJson('/auth/login', bob)],
    ['a sign-out', async (visitor: Visitor) => visitor.post('/auth/logout')],
  ])('that began before %s sign no one in', async (_what, meanwhile) => {
    const visitor = await start();
    app.supabase.addUser(bob);
    const { json } = await visitor.postJson(path, { link: 'github' });
    await meanwhile(visitor);
    const before = (await visitor.getJson('/auth/session')).json.user?.email;
    const back = await comeBack(visitor, json.redirectTo, 'octo@example.com');
    expect(back.status).toBe(400);
    expect((await visitor.getJson('/auth/session')).json.user?.email).toBe(before);
  });

  it.each([
    [
      'an error that speaks of an email',
      [],
      async (visitor: Visitor) =>
        visitor.get('/auth/callback?error=access_denied&error_code=provider_email_needs_verification'),
    ],
    [
      'a code of another browser',
      ['/auth/login?provider=google'],
      async (visitor: Visitor) => {
        const { location } = await app.visitor().get('/auth/login?provider=google');
        return comeBack(visitor, location, bob.email);
      },
    ],
  ])('remain links after %s, and sign no one in after a sign-out', async (_what, others, arrives) => {
    const visitor = await start();
    for (const url of others) await visitor.get(url);
    const { json } = await visitor.postJson(path, { link: 'github' });
    await visitor.post('/auth/logout');
    await arrives(visitor);
    expect((await comeBack(visitor, json.redirectTo, 'octo@example.com')).status).toBe(400);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it('are only listed where Supabase does not know of linking, which is no fault of the configuration', async () => {
    const visitor = await start();
    app.supabase.fail('link-identity', 404);
    const page = await visitor.get(path);
    expect([page.status, page.text.includes('Link GitHub')]).toEqual([200, false]);
    expect(app.eventTypes()).not.toContain('configuration_warning');
  });

  it('remain links where another sign-in leaves no room for the rest of their state', async () => {
    const visitor = await start();
    const { json } = await visitor.postJson(path, { link: 'github', returnTo: `/${'x'.repeat(1_500)}` });
    await visitor.post('/auth/logout');
    await visitor.get(`/auth/login?provider=google&returnTo=/${'x'.repeat(2_000)}`);
    expect((await comeBack(visitor, json.redirectTo, 'octo@example.com')).status).toBe(400);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it.each(['/', '%2F', '&', ';'])('remain links where the way back has many %s', async (each) => {
    const visitor = await start();
    const returnTo = `/?q=${each.repeat(Math.floor(1_900 / each.length))}`;
    const { json } = await visitor.postJson(path, { link: 'github', returnTo });
    // Browsers drop larger ones.
    for (const [name, value] of visitor.cookies) expect(`${name}=${value}`.length).toBeLessThan(4_000);
    await visitor.post('/auth/logout');
    expect((await comeBack(visitor, json.redirectTo, 'octo@example.com')).status).toBe(400);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it('are only listed where the project has linking switched off', async () => {
    const visitor = await start();
    await link(visitor);
    app.supabase.switches.manualLinking = false;
    const page = await visitor.get(path);
    expect(page.text).toContain('GitHub');
    expect(page.text).not.toMatch(/unlink=|Link Google/);
    expect(code(await visitor.postJson(path, { link: 'google' }))).toBe('unknown_provider');
    expect((await visitor.postJson(path, { unlink: idOf('github') })).status).toBe(400);
    expect(userOf().providers).toEqual(['email', 'github']);
  });

  it('cost no session in an outage', async () => {
    const visitor = await start();
    await link(visitor);
    app.supabase.fail('unlink-identity', 503);
    app.supabase.fail('link-identity', 503);
    expect((await visitor.postJson(path, { unlink: idOf('github') })).status).toBe(503);
    expect((await visitor.postJson(path, { link: 'google' })).status).toBe(503);
    expect((await visitor.get(path)).text).not.toContain('unlink=');
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describe('sign-out', () => {
  it('of the others keeps this session', async () => {
    const visitor = await start();
    const other = await app.signedIn();
    const page = await postForm(visitor, path, { signOut: 'others' });
    expect([page.status, page.text.includes('Your other devices are signed out')]).toEqual([200, true]);
    expect(openSessions()).toBe(1);
    expect([(await visitor.getJson('/auth/session')).status, (await other.getJson('/auth/session')).status]).toEqual([
      200, 401,
    ]);
    expect((await visitor.postJson(path, { signOut: 'others' })).json).toEqual({ redirectTo: path });
  });

  it('everywhere ends this one, too, and tells onSignOut', async () => {
    const ended: unknown[] = [];
    const visitor = await start({ options: { onSignOut: ({ session }) => ended.push(session?.user.email) } });
    const other = await app.signedIn();
    const answer = await postForm(visitor, path, { signOut: 'global', returnTo: '/bye' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/bye']);
    expect([openSessions(), ended]).toEqual([0, [ada.email]]);
    expect([(await visitor.getJson('/auth/session')).status, (await other.getJson('/auth/session')).status]).toEqual([
      401, 401,
    ]);
    expect(visitor.cookies.has(app.cookieName)).toBe(false);
  });

  it.each(['others', 'global'])('of %s ends nothing in an outage', async (signOut) => {
    const visitor = await start();
    const other = await app.signedIn();
    app.supabase.fail('logout', 503);
    expect((await postForm(visitor, path, { signOut })).status).toBe(503);
    expect([(await visitor.getJson('/auth/session')).status, (await other.getJson('/auth/session')).status]).toEqual([
      200, 200,
    ]);
  });

  it.each([
    ['others', 200],
    ['global', 401],
  ])('of %s whose answer is lost is found out by each session that it is for', async (signOut, own) => {
    const visitor = await start();
    const other = await app.signedIn();
    app.supabase.fail('logout', 'lost', 1);
    expect((await visitor.postJson(path, { signOut })).status).toBe(503);
    expect([(await visitor.getJson('/auth/session')).status, (await other.getJson('/auth/session')).status]).toEqual([
      own,
      401,
    ]);
  });

  it('everywhere renews an expired token once', async () => {
    const visitor = await start();
    app.clock.advance(3_700_000);
    expect((await visitor.postJson(path, { signOut: 'global' })).json).toEqual({ redirectTo: '/' });
    expect([app.supabase.calls('refresh'), app.supabase.calls('logout')]).toEqual([1, 1]);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it('says nothing of others where the session has ended at the provider', async () => {
    const visitor = await start();
    const other = await app.signedIn();
    app.supabase.revokeSession(sessionIdOf(visitor));
    const page = await postForm(visitor, path, { signOut: 'others' });
    expect([page.status, page.headers.location]).toEqual([303, expect.stringContaining('/auth/login')]);
    expect((await other.getJson('/auth/session')).status).toBe(200);
  });

  it.each([{}, { signOut: 'local' }, { signOut: '' }])('refuses %j', async (body) => {
    const visitor = await start();
    expect(code(await visitor.postJson(path, body))).toBe('invalid_request');
  });
});

it('a request of another site changes nothing', async () => {
  const visitor = await start();
  const answer = await postForm(visitor, path, { signOut: 'global' }, { 'sec-fetch-site': 'cross-site' });
  expect([answer.status, openSessions()]).toEqual([403, 1]);
});

it('a double submit of a change sends once', async () => {
  const visitor = await start();
  const fields = { email: 'new@example.com' };
  const answers = await Promise.all([postForm(visitor, path, fields), postForm(visitor, path, fields)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(app.supabase.calls('update-user')).toBe(1);
});
