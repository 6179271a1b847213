import { createCredential } from '../../support/authenticator.ts';
import { ada, postForm } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { changedAnswers } from '../../support/changed-answers.ts';
import { openAsGuest, signUpAsGuest } from '../../support/guest.ts';
import { addPasskey, party, signInWith, startPasskeyApp } from '../../support/passkeys.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

let app: BackendApp;
afterEach(() => app.close());

async function start(setup: BackendAppSetup = {}): Promise<Visitor> {
  app = await startPasskeyApp(setup);
  return app.signedIn();
}

const bob = { email: 'bob@example.com', password: 'a second account 1' };
const errorOf = ({ status, json }: Answer) => [status, json.error?.code];
const id = '00000000-0000-4000-8000-000000000000';
const own = () => app.supabase.passkeysOf(ada.email);
const listed = async (visitor: Visitor) => (await visitor.getJson('/auth/passkeys')).json.passkeys;

async function startAdding(visitor: Visitor) {
  const { status, json } = await visitor.postJson('/auth/passkeys', {});
  expect(status).toBe(200);
  const { challenge, user } = json.options;
  const answer = createCredential({ ...party, challenge, userHandle: user.id });
  return { challengeId: json.challengeId as string, challenge, answer };
}

describe('the list of passkeys', () => {
  it('has names and times, the newest first', async () => {
    const visitor = await start();
    await addPasskey(visitor);
    app.clock.advance(60_000);
    const newest = await addPasskey(visitor);
    await signInWith(app.visitor(), newest);
    const passkeys = await listed(visitor);
    expect(passkeys).toHaveLength(2);
    expect(passkeys[0]).toEqual({
      id: own()[1]!.passkeyId,
      name: 'Passkey',
      createdAt: new Date(app.clock.now()).toISOString(),
      lastUsedAt: new Date(app.clock.now()).toISOString(),
    });
    expect(passkeys[1].lastUsedAt).toBeNull();
  });

  it('is a page with the dates, and links to rename and to remove each', async () => {
    const visitor = await start();
    await addPasskey(visitor);
    const { passkeyId } = own()[0]!;
    const page = await visitor.get('/auth/passkeys?returnTo=/account');
    expect(page.status).toBe(200);
    expect(page.text).toContain('Added ');
    expect(page.text).toContain(`href="/auth/passkeys?rename=${passkeyId}&amp;returnTo=`);
    expect(page.text).toContain(`href="/auth/passkeys?remove=${passkeyId}&amp;returnTo=`);
    expect(page.text).toMatch(/<a href="\/account">Done<\/a>/);
  });

  it('says that the project has none, to a script too, and leads to the start page', async () => {
    const visitor = await start();
    app.supabase.switches.passkeys = false;
    for (const page of [
      await visitor.get('/auth/passkeys'),
      await postForm(visitor, '/auth/passkeys', { remove: id }),
    ]) {
      expect([page.status, page.text.includes('Passkeys aren’t available here.')]).toEqual([400, true]);
      expect(page.text.match(/<a [^>]*>[^<]*<\/a>/g)).toEqual(['<a class="button" href="/">Back to home</a>']);
    }
    for (const answer of [await visitor.getJson('/auth/passkeys'), await visitor.postJson('/auth/passkeys', {})])
      expect(answer.json.error).toMatchObject({ code: 'unknown_provider', message: 'Passkeys aren’t available here.' });
  });

  it('has what can be read of each, the newest first', async () => {
    const passkeys = [
      null,
      7,
      'text',
      [],
      {},
      { id: 7, friendly_name: 'a' },
      { id: 'old', friendly_name: 'Old', created_at: '2026-01-01T00:00:00Z', last_used_at: '2026-01-04T00:00:00Z' },
      { id: 'new', friendly_name: 'New', created_at: '2026-01-03T00:00:00Z', last_used_at: null },
      { id: 'mid', friendly_name: 7, created_at: '2026-01-02T00:00:00Z', last_used_at: 7 },
      { id: 'bare' },
    ];
    const visitor = await start({ options: { fetch: changedAnswers(/\/auth\/v1\/passkeys$/, () => passkeys) } });
    expect((await listed(visitor)).map(({ id, name }: { id: string; name: string }) => [id, name])).toEqual([
      ['new', 'New'],
      ['mid', expect.anything()],
      ['old', 'Old'],
      ['bare', expect.anything()],
    ]);
  });

  it('is asked for with a session: signed out, a page leads to the sign-in and back, JSON is a 401', async () => {
    await start();
    const visitor = app.visitor();
    const page = await visitor.get('/auth/passkeys?returnTo=/account');
    expect([page.status, page.headers.location]).toEqual([
      302,
      '/auth/login?returnTo=%2Fauth%2Fpasskeys%3FreturnTo%3D%252Faccount',
    ]);
    expect(errorOf(await visitor.getJson('/auth/passkeys'))).toEqual([401, 'unauthenticated']);
    expect(errorOf(await visitor.postJson('/auth/passkeys', {}))).toEqual([401, 'unauthenticated']);
    expect(app.supabase.calls('add-passkey-options')).toBe(0);
  });

  it('is where a sign-in leads back to, as returnTo may name it', async () => {
    await start();
    const visitor = app.visitor();
    const signedIn = await visitor.postJson('/auth/login', { ...ada, returnTo: '/auth/passkeys' });
    expect(signedIn.json).toEqual({ redirectTo: '/auth/passkeys' });
  });

  it('leads a guest to sign-up, and back', async () => {
    await start({ standIn: { anonymousUsers: true } });
    const browser = await openAsGuest(app);
    expect(errorOf(await browser.jar.getJson('/auth/passkeys'))).toEqual([403, 'forbidden']);
    expect(errorOf(await browser.jar.postJson('/auth/passkeys', {}))).toEqual([403, 'forbidden']);
    await browser.open('/auth/passkeys?returnTo=/account');
    expect(browser.at.answer.text).toContain('You’re here as a guest. To keep your data, sign up with your email.');
    const [before, after] = await signUpAsGuest(app, browser);
    expect(after).toBe(before);
    expect(browser.at.answer.text).toContain('<h1>Passkeys</h1>');
    expect(browser.links()).toContainEqual({ href: '/account', label: 'Done' });
  });

  it('ends a session that the backend has ended', async () => {
    const visitor = await start();
    for (const { id } of app.supabase.sessionsOf(ada.email)) app.supabase.revokeSession(id);
    const page = await visitor.get('/auth/passkeys');
    expect([page.status, page.headers.location]).toEqual([302, '/auth/login?returnTo=%2Fauth%2Fpasskeys']);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it.each([
    ['an object', { passkeys: [] }],
    ['null', null],
  ])('is an outage where the backend answers with %s', async (_, body) => {
    const answer = (input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> =>
      String(input instanceof Request ? input.url : input).endsWith('/auth/v1/passkeys')
        ? Promise.resolve(Response.json(body))
        : fetch(input, init);
    const visitor = await start({ options: { fetch: answer } });
    const { status } = await visitor.getJson('/auth/passkeys');
    expect([502, 503]).toContain(status);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describe('adding a passkey', () => {
  it('starts with a challenge for this account, which excludes what it has', async () => {
    const visitor = await start();
    const first = await addPasskey(visitor);
    const { json } = await visitor.postJson('/auth/passkeys', {});
    expect(json.options).toMatchObject({
      rp: { id: party.id },
      user: { name: ada.email },
      excludeCredentials: [{ id: first.id, type: 'public-key' }],
      authenticatorSelection: { residentKey: 'required' },
    });
  });

  it('adds it by its answer, and leads back to the list', async () => {
    const visitor = await start();
    const { challengeId, answer } = await startAdding(visitor);
    const added = await visitor.postJson('/auth/passkeys', { challengeId, credential: answer.response });
    expect([added.status, added.json]).toEqual([200, { redirectTo: '/auth/passkeys' }]);
    expect(own()).toHaveLength(1);
    expect((await signInWith(app.visitor(), answer)).status).toBe(200);
  });

  it('works as a form, and keeps returnTo', async () => {
    const visitor = await start();
    const { challengeId, answer } = await startAdding(visitor);
    const fields = { challengeId, credential: JSON.stringify(answer.response), returnTo: '/account' };
    const added = await postForm(visitor, '/auth/passkeys', fields);
    expect([added.status, added.headers.location]).toEqual([303, '/auth/passkeys?returnTo=%2Faccount']);
  });

  it('asks for a new sign-in where the last one is more than ten minutes ago, before the challenge and before the answer', async () => {
    const visitor = await start();
    const { challengeId, answer } = await startAdding(visitor);
    app.clock.advance(601_000);
    const refused = await visitor.postJson('/auth/passkeys', {});
    expect(errorOf(refused)).toEqual([401, 'fresh_sign_in_required']);
    expect(refused.json.redirectTo).toContain('/auth/login?');
    expect(refused.json.redirectTo).toContain(`returnTo=${encodeURIComponent('/auth/passkeys')}`);
    const late = await visitor.postJson('/auth/passkeys', { challengeId, credential: answer.response });
    expect(errorOf(late)).toEqual([401, 'fresh_sign_in_required']);
    const form = await postForm(visitor, '/auth/passkeys', {});
    expect([form.status, form.location]).toEqual([303, expect.stringContaining('/auth/login?max_age=600')]);
    expect([app.supabase.calls('add-passkey-options'), app.supabase.calls('add-passkey')]).toEqual([1, 0]);
    // The list does not ask.
    expect((await visitor.getJson('/auth/passkeys')).status).toBe(200);
  });

  it('is not made fresh by a refresh of the session', async () => {
    const visitor = await start();
    app.clock.advance(3_700_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.supabase.calls('refresh')).toBe(1);
    expect(errorOf(await visitor.postJson('/auth/passkeys', {}))).toEqual([401, 'fresh_sign_in_required']);
  });

  it.each(['totp', 'phone', 'webauthn', 'type_of_tomorrow'])(
    'asks for the second factor first, where there is one: %s',
    async (type) => {
      const visitor = await start();
      const { challengeId, answer } = await startAdding(visitor);
      app.supabase.addFactor(ada.email, { type });
      const refused = await visitor.postJson('/auth/passkeys', {});
      expect(errorOf(refused)).toEqual([403, 'second_factor_required']);
      expect(refused.json.redirectTo).toBe('/auth/verify?returnTo=%2Fauth%2Fpasskeys');
      const late = await visitor.postJson('/auth/passkeys', { challengeId, credential: answer.response });
      expect(errorOf(late)).toEqual([403, 'second_factor_required']);
      const form = await postForm(visitor, '/auth/passkeys', {});
      expect([form.status, form.headers.location]).toEqual([303, '/auth/verify?returnTo=%2Fauth%2Fpasskeys']);
      expect(own()).toHaveLength(0);
      // The backend, which would refuse as well, was not asked.
      expect([app.supabase.calls('add-passkey-options'), app.supabase.calls('add-passkey')]).toEqual([1, 0]);
    },
  );

  it('works at aal2', async () => {
    const visitor = await start();
    const factor = app.supabase.addFactor(ada.email);
    await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) });
    await addPasskey(visitor);
    expect(own()).toHaveLength(1);
  });

  it('asks for the second factor again where the backend denies the one of the token', async () => {
    const visitor = await start();
    const first = app.supabase.addFactor(ada.email);
    app.supabase.addFactor(ada.email, { name: 'second' });
    await visitor.postJson('/auth/verify', { factorId: first.id, code: app.supabase.codeOf(first) });
    app.supabase.removeFactor(ada.email, first);
    expect(errorOf(await visitor.postJson('/auth/passkeys', {}))).toEqual([403, 'second_factor_required']);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('refuses the challenge of another user, of another browser, a late one, and one that was answered', async () => {
    const visitor = await start();
    app.supabase.addUser(bob);
    const other = app.visitor();
    await other.postJson('/auth/login', bob);
    const { challengeId, answer } = await startAdding(visitor);
    const fields = { challengeId, credential: answer.response };
    expect(errorOf(await other.postJson('/auth/passkeys', fields))).toEqual([422, 'challenge_expired']);
    // Also with the cookie of the browser that asked.
    const name = 'sb-127-auth-token-ceremony';
    other.cookies.set(name, visitor.cookies.get(name)!);
    expect(errorOf(await other.postJson('/auth/passkeys', fields))).toEqual([422, 'challenge_expired']);
    expect((await visitor.postJson('/auth/passkeys', fields)).status).toBe(200);
    const again = { ...fields, returnTo: '/account' };
    expect(errorOf(await visitor.postJson('/auth/passkeys', again))).toEqual([422, 'challenge_expired']);
    const late = await startAdding(visitor);
    app.clock.advance(301_000);
    const answered = { challengeId: late.challengeId, credential: late.answer.response };
    expect(errorOf(await visitor.postJson('/auth/passkeys', answered))).toEqual([422, 'challenge_expired']);
    expect([own().length, app.supabase.passkeysOf(bob.email).length]).toEqual([1, 0]);
  });

  it('does not take the challenge of a sign-in', async () => {
    const visitor = await start();
    const { json } = await visitor.postJson('/auth/passkey', {});
    const credential = createCredential({ ...party, challenge: json.options.challenge }).response;
    const refused = await visitor.postJson('/auth/passkeys', { challengeId: json.challengeId, credential });
    expect(errorOf(refused)).toEqual([422, 'challenge_expired']);
  });

  it.each([
    ['of another origin', { origin: 'https://evil.example' }],
    ['of another relying party', { id: 'evil.example' }],
  ])('refuses an answer %s', async (_, other) => {
    const visitor = await start();
    const { challengeId, challenge } = await startAdding(visitor);
    const credential = createCredential({ ...party, ...other, challenge }).response;
    const refused = await visitor.postJson('/auth/passkeys', { challengeId, credential });
    expect([errorOf(refused), own().length]).toEqual([[422, 'code_wrong'], 0]);
  });

  it('says when the account has as many as it can have', async () => {
    const visitor = await start();
    for (let count = 0; count < 10; count += 1) await addPasskey(visitor);
    const refused = await visitor.postJson('/auth/passkeys', {});
    expect(errorOf(refused)).toEqual([422, 'factor_unavailable']);
    expect(refused.json.error.message).toBe('You’ve reached the limit. Remove a passkey first.');
    const page = await postForm(visitor, '/auth/passkeys', {});
    expect([page.status, page.text.includes('Remove a passkey first')]).toEqual([422, true]);
    expect((page.text.match(/class="row"/g) ?? []).length).toBe(10);
  });

  it('says that an account of an organization’s identity provider can have none', async () => {
    const visitor = await start();
    app.supabase.users().find(({ email }) => email === ada.email)!.isSsoUser = true;
    const refused = await visitor.postJson('/auth/passkeys', {});
    expect(errorOf(refused)).toEqual([403, 'managed_account']);
    expect(refused.json.error.message).toContain('organization');
  });

  it('is one passkey for a double submit', async () => {
    const visitor = await start();
    const { challengeId, answer } = await startAdding(visitor);
    const fields = { challengeId, credential: answer.response };
    const answers = await Promise.all([1, 2].map(() => visitor.postJson('/auth/passkeys', fields)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect([own().length, app.supabase.calls('add-passkey')]).toEqual([1, 1]);
  });
});

describe('renaming a passkey', () => {
  it('asks for the name on a page, and saves it', async () => {
    const visitor = await start();
    await addPasskey(visitor);
    const { passkeyId: id } = own()[0]!;
    const page = await visitor.get(`/auth/passkeys?rename=${id.toUpperCase()}`);
    expect(page.text).toContain('Rename “');
    expect(page.text).toMatch(/name="name"[^>]* value="Passkey"/);
    const saved = await postForm(visitor, '/auth/passkeys', {
      rename: id,
      name: '  Blue <key>  ',
      returnTo: '/account',
    });
    expect([saved.status, saved.headers.location]).toEqual([303, '/auth/passkeys?returnTo=%2Faccount']);
    expect((await listed(visitor))[0].name).toBe('Blue <key>');
    expect((await visitor.get('/auth/passkeys')).text).toContain('Blue &lt;key&gt;');
  });

  it.each([
    ['empty', ''],
    ['blank', '   '],
    ['of more than 120 bytes', 'ä'.repeat(61)],
    ['with control characters', 'a\u0007b'],
  ])('refuses a name that is %s, and keeps what was typed', async (_, name) => {
    const visitor = await start();
    await addPasskey(visitor);
    const { passkeyId: id } = own()[0]!;
    const page = await postForm(visitor, '/auth/passkeys', { rename: id, name });
    expect([page.status, page.text.includes('Enter a short name')]).toEqual([400, true]);
    expect(page.text).toContain('aria-invalid="true"');
    expect(errorOf(await visitor.postJson('/auth/passkeys', { rename: id, name }))).toEqual([400, 'invalid_request']);
    expect(own()[0]!.name).toBe('Passkey');
  });
});

describe.each([
  ['renaming', 'rename-passkey' as const, (id: string) => ({ rename: id, name: 'x' })],
  ['removing', 'remove-passkey' as const, (id: string) => ({ remove: id, sure: 'yes' })],
])('%s a passkey', (_change, endpoint, bodyOf) => {
  /** What is asked, in all ways, and the page that each way leads back to. */
  async function tryAll(visitor: Visitor) {
    const { passkeyId: id } = own()[0]!;
    const body = bodyOf(id);
    const page = `/auth/passkeys?${Object.keys(body)[0]}=${id}`;
    const answers = {
      json: await visitor.postJson('/auth/passkeys', body),
      form: await postForm(visitor, '/auth/passkeys', body),
      page: await visitor.get(page),
    };
    expect([own().map(({ name }) => name), app.supabase.calls(endpoint)]).toEqual([['Passkey'], 0]);
    return { ...answers, returnTo: `returnTo=${encodeURIComponent(page)}` };
  }

  it('needs a sign-in of the last ten minutes, as adding one does', async () => {
    const visitor = await start();
    await addPasskey(visitor);
    app.clock.advance(601_000);
    const { json, form, page, returnTo } = await tryAll(visitor);
    expect(errorOf(json)).toEqual([401, 'fresh_sign_in_required']);
    expect(json.json.redirectTo).toContain(returnTo);
    for (const [answer, status] of [
      [form, 303],
      [page, 307],
    ] as const) {
      expect([answer.status, answer.headers.location]).toEqual([
        status,
        expect.stringContaining('/auth/login?max_age=600'),
      ]);
      expect(answer.headers.location).toContain(returnTo);
    }
    await postForm(visitor, '/auth/login', ada);
    expect((await visitor.postJson('/auth/passkeys', bodyOf(own()[0]!.passkeyId))).status).toBe(200);
  });

  it('needs the second factor, where there is one', async () => {
    const visitor = await start();
    await addPasskey(visitor);
    app.supabase.addFactor(ada.email);
    const { json, form, page, returnTo } = await tryAll(visitor);
    expect(errorOf(json)).toEqual([403, 'second_factor_required']);
    expect([form.status, form.headers.location]).toEqual([303, `/auth/verify?${returnTo}`]);
    expect([page.status, page.headers.location]).toEqual([302, `/auth/verify?${returnTo}`]);
  });
});

describe('removing a passkey', () => {
  it('asks on a page first, and says what it means', async () => {
    const visitor = await start();
    const passkey = await addPasskey(visitor);
    const { passkeyId: remove } = own()[0]!;
    for (const page of [
      await visitor.get(`/auth/passkeys?remove=${remove}`),
      await postForm(visitor, '/auth/passkeys', { remove }),
    ]) {
      expect(page.status).toBe(200);
      expect(page.text).toContain('You won’t be able to sign in with it anymore.');
      expect(page.text).toContain('name="sure" value="yes"');
    }
    expect(own()).toHaveLength(1);
    const removed = await postForm(visitor, '/auth/passkeys', { remove, sure: 'yes' });
    expect([removed.status, removed.headers.location]).toEqual([303, '/auth/passkeys']);
    expect(own()).toHaveLength(0);
    expect(errorOf(await signInWith(app.visitor(), passkey))).toEqual([422, 'code_wrong']);
  });

  it('removes at once for JSON clients', async () => {
    const visitor = await start();
    await addPasskey(visitor);
    const removed = await visitor.postJson('/auth/passkeys', { remove: own()[0]!.passkeyId });
    expect([removed.status, removed.json, own().length]).toEqual([200, { redirectTo: '/auth/passkeys' }, 0]);
  });

  it('and renaming one of another user says that it does not exist, and does nothing', async () => {
    const visitor = await start();
    await addPasskey(visitor);
    app.supabase.addUser(bob);
    const other = app.visitor();
    await other.postJson('/auth/login', bob);
    const { passkeyId: id } = own()[0]!;
    for (const body of [{ remove: id }, { rename: id, name: 'mine' }]) {
      const refused = await other.postJson('/auth/passkeys', body);
      expect(errorOf(refused)).toEqual([400, 'invalid_request']);
      const page = await postForm(other, '/auth/passkeys', { ...body, sure: 'yes' });
      expect([page.status, page.text.includes('doesn’t exist anymore')]).toEqual([400, true]);
    }
    expect((await other.get(`/auth/passkeys?remove=${id}`)).text).not.toContain(id);
    expect(own().map(({ name }) => name)).toEqual(['Passkey']);
  });

  it.each(['../admin/users', '', 'x', '%2e%2e', '00000000-0000-4000-8000-00000000000g'])(
    'refuses an id that is none: %j',
    async (id) => {
      const visitor = await start();
      const before = app.supabase.requests.length;
      expect(errorOf(await visitor.postJson('/auth/passkeys', { remove: id }))).toEqual([400, 'invalid_request']);
      expect(errorOf(await visitor.postJson('/auth/passkeys', { rename: id, name: 'x' }))).toEqual([
        400,
        'invalid_request',
      ]);
      expect(app.supabase.requests.slice(before)).toEqual([]);
    },
  );
});

it('an outage of any call is a 503 with Retry-After, and ends no session', async () => {
  const visitor = await start();
  await addPasskey(visitor);
  const { passkeyId: id } = own()[0]!;
  const calls = [
    ['passkeys', () => visitor.getJson('/auth/passkeys')],
    ['add-passkey-options', () => visitor.postJson('/auth/passkeys', {})],
    ['rename-passkey', () => visitor.postJson('/auth/passkeys', { rename: id, name: 'x' })],
    ['remove-passkey', () => visitor.postJson('/auth/passkeys', { remove: id })],
  ] as const;
  for (const [endpoint, call] of calls) {
    app.supabase.fail(endpoint, 503, 1);
    const answer = await call();
    expect([endpoint, ...errorOf(answer)]).toEqual([endpoint, 503, 'provider_unavailable']);
    expect(answer.headers['retry-after']).toBeDefined();
  }
  expect((await visitor.getJson('/auth/session')).status).toBe(200);
});
