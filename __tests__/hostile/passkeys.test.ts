import { requireSession } from '../../lib/backend/index.ts';
import { createCredential } from '../support/authenticator.ts';
import type { SoftwareCredential } from '../support/authenticator.ts';
import { ada, postForm, setSession } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { sendText } from '../support/hosts.ts';
import { addPasskey, party, signInWith, startPasskeyApp } from '../support/passkeys.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

let app: BackendApp;
afterEach(() => app.close());

async function start(setup: BackendAppSetup = {}): Promise<void> {
  app = await startPasskeyApp({
    after: (host) =>
      host.get('/enrolled', requireSession({ aal: 'enrolled' }), (_req, res) => sendText(res, 'enrolled')),
    ...setup,
  });
}

const bob = { email: 'bob@example.com', password: 'a second account 1' };
const errorOf = ({ status, json }: Answer) => [status, json.error?.code];
const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
  (await visitor.getJson('/auth/session')).status === 200;
const verified = (email: string = ada.email) => app.supabase.factorsOf(email).filter(({ isVerified }) => isVerified);
const calls = (...names: Parameters<BackendApp['supabase']['calls']>[0][]): number =>
  names.reduce((sum, name) => sum + app.supabase.calls(name), 0);

/** Adds a security key to the account of a visitor who has signed in just now. */
async function addKey(visitor: Visitor): Promise<{ key: SoftwareCredential; factorId: string }> {
  const { json } = await visitor.postJson('/auth/enroll', { type: 'webauthn' });
  const { factorId, challengeId, options } = json;
  const key = createCredential({ ...party, challenge: options.challenge });
  const added = await visitor.postJson('/auth/enroll', { factorId, challengeId, credential: key.response });
  if (added.status !== 200) throw new Error(added.text);
  return { key, factorId };
}

/** A visitor whose password was right. */
async function pending(person: { readonly email: string; readonly password: string } = ada): Promise<Visitor> {
  const visitor = app.visitor();
  const { json } = await visitor.postJson('/auth/login', person);
  expect(json).toEqual({ redirectTo: '/auth/verify' });
  return visitor;
}

async function challengeOf(visitor: Visitor, path: string, body: object = {}) {
  const { status, json, text } = await visitor.postJson(path, body);
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  const { options, ...fields } = json;
  return { challenge: options.challenge as string, fields: fields as { challengeId: string; factorId?: string } };
}

/** The browser's secret that its challenges are bound to; behind https its name has a prefix. */
const ceremonyCookies = ({ cookies }: Visitor) => [...cookies].filter(([name]) => name.endsWith('-ceremony'));

/** A body as it was written, for what `JSON.stringify` would not write. */
const postText = (visitor: Visitor, path: string, body: string): Promise<Answer> =>
  visitor.post(path, { headers: { accept: 'application/json', 'content-type': 'application/json' }, body });

describe('an answer that is none', () => {
  const shapes = [null, [], [{}], 5, true, '', 'text', '{', '[]', 'null', '5'] as const;

  it.each(shapes)('%j is refused on every route, and starts nothing', async (credential) => {
    await start();
    const owner = await app.signedIn();
    const { factorId } = await addKey(owner);
    const visitor = await pending();
    const asked = {
      '/auth/passkey': [app.visitor(), {}],
      '/auth/passkeys': [owner, {}],
      '/auth/verify': [visitor, { challenge: factorId }],
      '/auth/enroll': [owner, { type: 'webauthn' }],
    } as const;
    for (const [path, [browser, body]] of Object.entries(asked)) {
      const { fields } = await challengeOf(browser, path, body);
      const before = calls('passkey-options', 'add-passkey-options', 'challenge', 'enroll');
      const factors = app.supabase.factorsOf(ada.email).length;
      const refused = await browser.postJson(path, { ...fields, credential });
      expect([path, ...errorOf(refused)]).toEqual([path, 422, 'code_wrong']);
      expect([path, ...errorOf(await browser.postJson(path, fields))]).toEqual([path, 422, 'code_wrong']);
      expect([path, calls('passkey-options', 'add-passkey-options', 'challenge', 'enroll')]).toEqual([path, before]);
      expect(app.supabase.factorsOf(ada.email)).toHaveLength(factors);
    }
    expect(await isSignedIn(owner)).toBe(true);
    expect(await isSignedIn(visitor)).toBe(false);
  });

  it('in a form that names it twice is refused, too', async () => {
    await start();
    const visitor = app.visitor();
    const { fields } = await challengeOf(visitor, '/auth/passkey');
    const page = await visitor.post('/auth/passkey', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `challengeId=${fields.challengeId}&credential=%7B%7D&credential=%7B%7D`,
    });
    expect([page.status, page.text.includes('data-again')]).toEqual([422, false]);
  });

  it('does not stand in the way of a code beside an id of a challenge', async () => {
    await start();
    const owner = await app.signedIn();
    const { factorId, secret } = (await owner.postJson('/auth/enroll', {})).json;
    const answer = { factorId, challengeId: 'x', code: app.supabase.codeOf({ secret }) };
    expect((await owner.postJson('/auth/enroll', answer)).status).toBe(200);
    const visitor = await pending();
    const code = app.supabase.codeOf({ secret });
    expect((await visitor.postJson('/auth/verify', { factorId, challengeId: 'x', code })).status).toBe(200);
  });
});

describe('a hostile body', () => {
  const lists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

  it.each([
    ['JSON', 40],
    ['JSON', 8_000],
    ['text in JSON', 40],
    ['text in JSON', 8_000],
    ['a form', 40],
    ['a form', 2_600],
  ] as const)('with a credential of many levels is an error and no failure: %s, %d', async (kind, levels) => {
    await start();
    const visitor = app.visitor();
    const { fields } = await challengeOf(visitor, '/auth/passkey');
    const credential = `{"id":"x","response":${lists(levels)}}`;
    const body = `{"challengeId":${JSON.stringify(fields.challengeId)},"credential":`;
    const answer =
      kind === 'a form'
        ? await postForm(visitor, '/auth/passkey', { ...fields, credential })
        : await postText(
            visitor,
            '/auth/passkey',
            `${body}${kind === 'JSON' ? credential : JSON.stringify(credential)}}`,
          );
    expect([400, 422]).toContain(answer.status);
    expect(app.supabase.calls('passkey-verify')).toBe(0);
  });

  // What a deep object is as JSON depends on the version of Node: a text, or an exhausted stack.
  it.each([40, 100_000])('with a credential that the application has parsed is an error, too: %d', async (depth) => {
    let levels = 0;
    await start({
      before: (host) =>
        host.use((req: any, _res: unknown, next: () => void) => {
          if (levels > 0) {
            req.resume();
            req.body = { credential: JSON.parse(`{"a":${lists(levels)}}`) as unknown };
            Object.defineProperty(req, 'readableEnded', { value: true });
          }
          next();
        }),
    });
    const visitor = app.visitor();
    levels = depth;
    expect(errorOf(await visitor.postJson('/auth/passkey', {}))).toEqual([400, 'invalid_request']);
  });

  it.each([
    '{"__proto__":{"credential":{},"challengeId":"x"}}',
    '{"constructor":{"prototype":{"credential":"{}"}}}',
    '{"challengeId":["x"],"returnTo":{"a":1}}',
    '{"toString":1,"hasOwnProperty":2}',
  ])('inherits nothing, and asks for a challenge: %s', async (body) => {
    await start();
    const answer = await postText(app.visitor(), '/auth/passkey', body);
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.json).sort()).toEqual(['challengeId', 'options']);
    expect(({} as Record<string, unknown>)['credential']).toBeUndefined();
  });

  it.each([
    [
      'members of objects',
      (good: any) => ({ ...good, ...JSON.parse('{"__proto__":{"id":"x"},"constructor":1}') }),
      200,
    ],
    ['text that is no base64url', (good: any) => ({ ...good, response: { ...good.response, signature: '%%%' } }), 422],
    ['numbers for bytes', (good: any) => ({ ...good, response: { ...good.response, signature: 7 } }), 422],
    ['lists for bytes', (good: any) => ({ ...good, response: { ...good.response, clientDataJSON: ['x'] } }), 422],
    ['nulls', (good: any) => ({ ...good, response: { ...good.response, userHandle: null } }), 422],
    ['half a character', (good: any) => ({ ...good, id: '\ud800' }), 422],
    ['another type', (good: any) => ({ ...good, rawId: {}, type: 5, response: 'x' }), 422],
  ])('with %s in a credential is judged by the backend', async (_, spoil, status) => {
    await start();
    const passkey = await addPasskey(await app.signedIn());
    const visitor = app.visitor();
    const { challenge, fields } = await challengeOf(visitor, '/auth/passkey');
    const answer = { ...fields, credential: spoil(passkey.assert({ challenge })) };
    const { status: given, json } = await visitor.postJson('/auth/passkey', answer);
    expect([given, json.error?.code]).toEqual([status, status === 200 ? undefined : 'code_wrong']);
    expect(await isSignedIn(visitor)).toBe(status === 200);
  });

  it('of more than 16 KB is 413, also where it is one field of many', async () => {
    await start();
    const visitor = app.visitor();
    const { fields } = await challengeOf(visitor, '/auth/passkey');
    const long = { ...fields, credential: { id: 'x', response: { signature: 'A'.repeat(17_000) } } };
    expect(errorOf(await visitor.postJson('/auth/passkey', long))).toEqual([413, 'payload_too_large']);
    expect((await postForm(visitor, '/auth/passkey', { ...fields, credential: 'A'.repeat(17_000) })).status).toBe(413);
  });
});

describe('an answer of the backend of another shape', () => {
  /** The body in place of the answer to one call, once it is set. */
  let planted: { readonly end: string; readonly body: string } | undefined;
  afterEach(() => {
    planted = undefined;
  });
  const plant = (end: string, body: unknown): void => {
    planted = { end, body: typeof body === 'string' ? body : JSON.stringify(body) };
  };
  const planting: typeof fetch = async (input, init) => {
    const url = new URL(String(input instanceof Request ? input.url : input));
    if (planted === undefined || !url.pathname.endsWith(planted.end)) return fetch(input, init);
    return new Response(planted.body, { status: 200, headers: { 'content-type': 'application/json' } });
  };
  const startPlanting = (setup: BackendAppSetup = {}) =>
    start({ ...setup, options: { ...setup.options, fetch: planting } });
  const deep = '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000);
  const challengeId = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';

  it.each([
    ['nothing', {}],
    ['a number for its id', { challenge_id: 5, options: {} }],
    ['a path for its id', { challenge_id: '../../admin/users', options: {} }],
    ['no options', { challenge_id: challengeId }],
    ['null for its options', { challenge_id: challengeId, options: null }],
    ['a list for its options', { challenge_id: challengeId, options: [] }],
    ['no challenge in its options', { challenge_id: challengeId, options: { rpId: 'localhost' } }],
    ['a number in its options', { challenge_id: challengeId, options: { challenge: 7 } }],
    ['options of many levels', `{"challenge_id":"${challengeId}","options":${deep}}`],
    ['a list', '[]'],
    ['text', '"challenge"'],
    ['null', 'null'],
  ])('a challenge of %s is an outage, and no secret is left in the browser', async (_, body) => {
    await startPlanting();
    const owner = await app.signedIn();
    plant('/options', body);
    for (const [visitor, path] of [
      [app.visitor(), '/auth/passkey'],
      [owner, '/auth/passkeys'],
    ] as const) {
      const { status, setCookies } = await visitor.postJson(path, {});
      expect([502, 503]).toContain(status);
      expect(setCookies).toEqual([]);
    }
    expect(await isSignedIn(owner)).toBe(true);
  });

  const key = (publicKey: unknown, type = 'request') => ({
    id: challengeId,
    type: 'webauthn',
    webauthn: { type, credential_options: { publicKey } },
  });
  it.each([
    ['nothing', {}],
    ['no key', { id: challengeId, type: 'webauthn' }],
    ['null for the key', { id: challengeId, type: 'webauthn', webauthn: null }],
    [
      'null for the options',
      { id: challengeId, type: 'webauthn', webauthn: { type: 'request', credential_options: null } },
    ],
    ['null for the public key', key(null)],
    ['a list for the public key', key([])],
    ['a number for the challenge', key({ challenge: 7 })],
    ['a challenge that is no base64url', key({ challenge: '%%%' })],
    ['text for the list of keys', key({ challenge: 'AAAA', allowCredentials: 'all' })],
    ['numbers in the list of keys', key({ challenge: 'AAAA', allowCredentials: [7, null] })],
    ['an unknown kind', key({ challenge: 'AAAA' }, 'other')],
    ['many levels', JSON.stringify(key('DEEP')).replace('"DEEP"', `{"challenge":"AAAA","extensions":${deep}}`)],
  ])('a challenge of a security key with %s is an outage, and the sign-in can go on', async (_, body) => {
    await startPlanting();
    const { key: device, factorId } = await addKey(await app.signedIn());
    const visitor = await pending();
    plant('/challenge', body);
    expect([502, 503]).toContain((await visitor.postJson('/auth/verify', { challenge: factorId })).status);
    planted = undefined;
    const { challenge, fields } = await challengeOf(visitor, '/auth/verify', { challenge: factorId });
    const answer = { ...fields, credential: device.assert({ challenge }) };
    expect((await visitor.postJson('/auth/verify', answer)).status).toBe(200);
  });

  it.each([
    ['nothing', { id: undefined }],
    ['no secret', { id: challengeId, type: 'totp' }],
    ['null for the secret', { id: challengeId, type: 'totp', totp: null }],
    ['a number for its id', { id: 5, type: 'totp', totp: { secret: 'A', uri: 'x', qr_code: 'x' } }],
  ])('a new factor with %s is an outage', async (_, body) => {
    await startPlanting();
    const owner = await app.signedIn();
    plant('/factors', body);
    expect([502, 503]).toContain((await owner.postJson('/auth/enroll', {})).status);
    expect([502, 503]).toContain((await postForm(owner, '/auth/enroll', {})).status);
    const key = await owner.postJson('/auth/enroll', { type: 'webauthn' });
    // The backend knows no factor of a made-up id.
    expect(typeof body.id === 'string' ? [422] : [502, 503]).toContain(key.status);
    expect(await isSignedIn(owner)).toBe(true);
  });

  it.each([
    ['no user', (good: any) => ({ ...good, user: undefined })],
    ['null for the user', (good: any) => ({ ...good, user: null })],
    ['a list for the user', (good: any) => ({ ...good, user: [] })],
    ['a user without an id', (good: any) => ({ ...good, user: { ...good.user, id: undefined, factors: [] } })],
    ['another user', (good: any) => ({ ...good, user: { ...good.user, id: challengeId, factors: [] } })],
    ['no tokens', (good: any) => ({ ...good, access_token: undefined })],
    ['a number for a token', (good: any) => ({ ...good, access_token: 7 })],
    ['a token that is none', (good: any) => ({ ...good, access_token: 'a.b.c' })],
    ['nothing', () => ({})],
  ])('a session with %s signs no one in, and skips no second factor', async (_, spoil) => {
    let isSpoiled = false;
    await start({
      options: {
        fetch: async (input, init) => {
          const answer = await fetch(input, init);
          if (!isSpoiled || !String(input instanceof Request ? input.url : input).endsWith('/verify')) return answer;
          return Response.json(spoil(await answer.json()));
        },
      },
    });
    const owner = await app.signedIn();
    const passkey = await addPasskey(owner);
    await addKey(owner);
    const visitor = app.visitor();
    isSpoiled = true;
    const { status } = await signInWith(visitor, passkey);
    expect([502, 503]).toContain(status);
    expect(await isSignedIn(visitor)).toBe(false);
    expect([...visitor.cookies.keys()].filter((name) => !name.endsWith('-ceremony'))).toEqual([]);
    isSpoiled = false;
    expect((await signInWith(visitor, passkey)).json).toEqual({ redirectTo: '/auth/verify' });
  });

  it.each([
    ['nothing', {}],
    ['another user', { id: challengeId, factors: [] }],
    ['a message', { msg: 'Welcome to the hotel network' }],
  ])('a user of %s is never one without second factors', async (_, body) => {
    await startPlanting();
    await addKey(await app.signedIn());
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email));
    plant('/user', body);
    for (const answer of [
      await visitor.getJson('/enrolled'),
      await visitor.postJson('/auth/passkeys', {}),
      await visitor.postJson('/auth/enroll', { type: 'webauthn' }),
    ]) {
      expect([502, 503]).toContain(answer.status);
    }
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('a list of passkeys with other types in it shows what can be read', async () => {
    await startPlanting();
    const owner = await app.signedIn();
    plant('/passkeys', [
      7,
      null,
      {},
      { id: 5 },
      { id: 'a"><b>', friendly_name: {}, created_at: 7 },
      { id: 'x', friendly_name: 'ok', created_at: 'x' },
    ]);
    expect((await owner.getJson('/auth/passkeys')).json.passkeys).toHaveLength(2);
    const page = await owner.get('/auth/passkeys');
    expect([page.status, page.text.includes('<b>')]).toEqual([200, false]);
  });
});

describe('a challenge', () => {
  it('of one pending sign-in does not complete that of another user in the same browser', async () => {
    await start();
    app.supabase.addUser(bob);
    const first = await addKey(await app.signedIn());
    const other = app.visitor();
    await other.postJson('/auth/login', bob);
    const second = await addKey(other);
    const visitor = await pending();
    const adas = await challengeOf(visitor, '/auth/verify', { challenge: first.factorId });
    expect((await visitor.postJson('/auth/login', bob)).json).toEqual({ redirectTo: '/auth/verify' });
    for (const answer of [
      { ...adas.fields, credential: first.key.assert({ challenge: adas.challenge }) },
      { ...adas.fields, factorId: second.factorId, credential: first.key.assert({ challenge: adas.challenge }) },
      { ...adas.fields, factorId: second.factorId, credential: second.key.assert({ challenge: adas.challenge }) },
    ]) {
      expect((await visitor.postJson('/auth/verify', answer)).status).toBe(422);
    }
    expect(await isSignedIn(visitor)).toBe(false);
    const bobs = await challengeOf(visitor, '/auth/verify', { challenge: second.factorId });
    const right = { ...bobs.fields, credential: second.key.assert({ challenge: bobs.challenge }) };
    expect((await visitor.postJson('/auth/verify', right)).status).toBe(200);
  });

  it('in a browser with a secret that another person has planted is answered only from there', async () => {
    await start();
    const passkey = await addPasskey(await app.signedIn());
    const attacker = app.visitor();
    const { challenge, fields } = await challengeOf(attacker, '/auth/passkey');
    const victim = app.visitor();
    for (const [name, value] of attacker.cookies) victim.cookies.set(name, value);
    // The browsers of both know the secret, so the answer fits; a page of another site still cannot post it.
    const body = JSON.stringify({ ...fields, credential: passkey.assert({ challenge }) });
    const headers = {
      'content-type': 'application/json',
      origin: 'https://evil.example',
      'sec-fetch-site': 'cross-site',
    };
    expect((await victim.post('/auth/passkey', { headers, body })).status).toBe(403);
    expect(await isSignedIn(victim)).toBe(false);
  });

  it('is asked for with any cookies in the secret’s place, and takes a new one then', async () => {
    await start();
    const passkey = await addPasskey(await app.signedIn());
    const asked = app.visitor();
    await challengeOf(asked, '/auth/passkey');
    const [[name]] = ceremonyCookies(asked) as [[string, string]];
    for (const value of ['', 'x', 'A'.repeat(4_000), '%00', '../../x', 'A'.repeat(21), `${'A'.repeat(22)}=`]) {
      const visitor = app.visitor();
      visitor.cookies.set(name, value);
      const answer = await signInWith(visitor, passkey);
      expect([value, answer.status]).toEqual([value, 200]);
      expect(visitor.cookies.get(name)).toMatch(/^[\w-]{22}$/);
    }
  });

  it('takes one small cookie, however many are asked for', async () => {
    await start();
    const visitor = app.visitor();
    for (let asked = 0; asked < 30; asked += 1) await challengeOf(visitor, '/auth/passkey');
    expect([...visitor.cookies.values()].join('').length).toBe(22);
  });

  it('replayed after its sign-in waits for the second factor changes nothing', async () => {
    await start();
    const owner = await app.signedIn();
    const passkey = await addPasskey(owner);
    await addKey(owner);
    const visitor = app.visitor();
    const { challenge, fields } = await challengeOf(visitor, '/auth/passkey');
    const answer = { ...fields, credential: passkey.assert({ challenge }) };
    const before = ceremonyCookies(visitor);
    expect(before).toHaveLength(1);
    expect((await visitor.postJson('/auth/passkey', answer)).json).toEqual({ redirectTo: '/auth/verify' });
    const thief = app.visitor();
    expect(errorOf(await thief.postJson('/auth/passkey', answer))).toEqual([422, 'challenge_expired']);
    for (const [name, value] of before) thief.cookies.set(name, value);
    app.clock.advance(3_000);
    expect(errorOf(await thief.postJson('/auth/passkey', answer))).toEqual([422, 'challenge_expired']);
    expect(await isSignedIn(thief)).toBe(false);
  });

  it('leaves a former session where it is refused, and ends it where it signs in another user', async () => {
    await start();
    app.supabase.addUser(bob);
    const passkey = await addPasskey(await app.signedIn());
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', bob);
    const former = new Map(visitor.cookies);
    expect((await signInWith(visitor, passkey)).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
    const old = app.visitor();
    for (const [name, value] of former) old.cookies.set(name, value);
    expect(await isSignedIn(old)).toBe(false);
  });
});

describe('the pages of passkeys', () => {
  it.each([
    '//evil.example',
    '/\\evil.example',
    '/.//evil.example',
    'javascript:alert(1)',
    'https://evil.example',
    '/auth/logout',
  ])('never lead to %s', async (returnTo) => {
    await start();
    const owner = await app.signedIn();
    const passkey = await addPasskey(owner);
    const query = `?returnTo=${encodeURIComponent(returnTo)}`;
    const { passkeyId } = app.supabase.passkeysOf(ada.email)[0]!;
    for (const path of [query, `${query}&rename=${passkeyId}`, `${query}&remove=${passkeyId}`]) {
      expect((await owner.get(`/auth/passkeys${path}`)).text).not.toMatch(/evil|javascript:|logout/);
    }
    const renamed = await postForm(owner, '/auth/passkeys', { rename: passkeyId, name: 'x', returnTo });
    expect([renamed.status, renamed.headers.location]).toEqual([303, '/auth/passkeys']);
    expect((await signInWith(app.visitor(), passkey, { returnTo })).json).toEqual({ redirectTo: '/' });
    const signIn = await app.visitor().get(`/auth/passkey${query}`);
    expect(signIn.headers.location).not.toMatch(/evil|javascript|logout/);
  });

  it.each([
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    '\u202eyek ym\u202c',
    '\u2066\u2067x',
    '{passkey} {factor} $& $1',
    '💻'.repeat(30),
  ])('show the name %j as text, apart from the text around it', async (name) => {
    await start();
    const owner = await app.signedIn();
    await addPasskey(owner);
    const { passkeyId } = app.supabase.passkeysOf(ada.email)[0]!;
    expect((await owner.postJson('/auth/passkeys', { rename: passkeyId, name })).status).toBe(200);
    expect((await owner.getJson('/auth/passkeys')).json.passkeys[0].name).toBe(name);
    const escaped = name
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;');
    for (const query of ['', `?rename=${passkeyId}`, `?remove=${passkeyId}`]) {
      const { text } = await owner.get(`/auth/passkeys${query}`);
      expect(text).toContain(`<bdi>${escaped}</bdi>`);
      expect(text).not.toMatch(/<script>|<img/);
    }
  });

  it.each([
    '\u200b',
    '\u202e\u2066',
    '\u3164',
    '\u00a0\u2003',
    '\u0301',
    '\ufeff',
    '💻'.repeat(31),
    'x'.repeat(10_000),
  ])('take no name that cannot be seen, or is too long: %j', async (name) => {
    await start();
    const owner = await app.signedIn();
    await addPasskey(owner);
    const { passkeyId: rename } = app.supabase.passkeysOf(ada.email)[0]!;
    expect(errorOf(await owner.postJson('/auth/passkeys', { rename, name }))).toEqual([400, 'invalid_request']);
    const page = await postForm(owner, '/auth/passkeys', { rename, name });
    expect([page.status, page.text.includes('aria-invalid')]).toEqual([400, true]);
  });

  it('are closed to a pending sign-in, to a bearer token and to other sites', async () => {
    await start();
    const owner = await app.signedIn();
    await addPasskey(owner);
    await addKey(owner);
    const visitor = await pending();
    expect((await visitor.getJson('/auth/passkeys')).status).toBe(401);
    expect((await visitor.postJson('/auth/passkeys', {})).status).toBe(401);
    expect((await visitor.postJson('/auth/enroll', { type: 'webauthn' })).status).toBe(401);
    const { access_token: token } = await app.supabase.issueSession(ada.email);
    const authorization = `Bearer ${token}`;
    expect(
      (await app.visitor().get('/auth/passkeys', { headers: { authorization, accept: 'application/json' } })).status,
    ).toBe(401);
    const { passkeyId: remove } = app.supabase.passkeysOf(ada.email)[0]!;
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await postForm(owner, '/auth/passkeys', { remove, sure: 'yes' }, foreign)).status).toBe(403);
    expect(app.supabase.passkeysOf(ada.email)).toHaveLength(1);
  });

  it('remove one passkey for a double submit, and the others stay', async () => {
    await start();
    const owner = await app.signedIn();
    for (let count = 0; count < 10; count += 1) await addPasskey(owner);
    expect(errorOf(await owner.postJson('/auth/passkeys', {}))).toEqual([422, 'factor_unavailable']);
    const { passkeyId: remove } = app.supabase.passkeysOf(ada.email)[4]!;
    const answers = await Promise.all([1, 2].map(() => postForm(owner, '/auth/passkeys', { remove, sure: 'yes' })));
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(app.supabase.passkeysOf(ada.email)).toHaveLength(9);
    // In two tabs: the second one is told.
    const { passkeyId: next } = app.supabase.passkeysOf(ada.email)[0]!;
    await postForm(owner, '/auth/passkeys', { remove: next, sure: 'yes' });
    const late = await postForm(owner, '/auth/passkeys', { remove: next, sure: 'yes', returnTo: '/account' });
    expect([late.status, late.text.includes('doesn’t exist anymore')]).toEqual([400, true]);
    expect((await owner.postJson('/auth/passkeys', {})).status).toBe(200);
  });
});

describe('the throttle of challenges', () => {
  it('of the sign-in page leaves those of people who have given a first factor', async () => {
    await start();
    const owner = await app.signedIn();
    const { key, factorId } = await addKey(owner);
    const visitor = app.visitor();
    for (let asked = 0; asked < 100; asked += 1) await challengeOf(visitor, '/auth/passkey');
    expect(errorOf(await visitor.postJson('/auth/passkey', {}))).toEqual([429, 'rate_limited']);
    expect((await owner.postJson('/auth/passkeys', {})).status).toBe(200);
    expect((await owner.postJson('/auth/enroll', { type: 'webauthn' })).status).toBe(200);
    const next = await pending();
    const { challenge, fields } = await challengeOf(next, '/auth/verify', { challenge: factorId });
    expect((await next.postJson('/auth/verify', { ...fields, credential: key.assert({ challenge }) })).status).toBe(
      200,
    );
  });

  it('counts 100 of each person, from each network', async () => {
    let network = '192.0.2.1';
    await start({ options: { clientAddress: () => network } });
    app.supabase.addUser(bob);
    const owner = await app.signedIn();
    for (let asked = 0; asked < 100; asked += 1) await challengeOf(owner, '/auth/passkeys');
    expect(errorOf(await owner.postJson('/auth/passkeys', {}))).toEqual([429, 'rate_limited']);
    expect(errorOf(await owner.postJson('/auth/enroll', { type: 'webauthn' }))).toEqual([429, 'rate_limited']);
    const other = app.visitor();
    await other.postJson('/auth/login', bob);
    expect((await other.postJson('/auth/passkeys', {})).status).toBe(200);
    network = '198.51.100.1';
    expect((await owner.postJson('/auth/passkeys', {})).status).toBe(200);
  });
});

it('what an unknown type of factor grants is nothing, also beside a passkey', async () => {
  await start();
  const owner = await app.signedIn();
  const passkey = await addPasskey(owner);
  const { id } = app.supabase.addFactor(ada.email, { type: 'type_of_tomorrow' });
  const visitor = app.visitor();
  expect((await signInWith(visitor, passkey)).json).toEqual({ redirectTo: '/auth/verify' });
  for (const body of [
    {},
    { factorId: id },
    { challenge: id },
    { factorId: id, challengeId: 'x', credential: {} },
    { code: '000000' },
  ]) {
    expect(errorOf(await visitor.postJson('/auth/verify', body))).toEqual([422, 'factor_unavailable']);
  }
  expect(errorOf(await owner.postJson('/auth/passkeys', {}))).toEqual([403, 'second_factor_required']);
  expect(await isSignedIn(visitor)).toBe(false);
  expect(verified()).toHaveLength(1);
});
