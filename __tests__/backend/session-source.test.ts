import { cookieBytes } from '../../lib/tools/cookie-chunks.ts';
import type { CookieWrite, RequestCookies } from '../../lib/tools/cookies.ts';
import { readToken } from '../../lib/session/jwt.ts';
import type { TokenVerdict } from '../../lib/session/jwt.ts';
import { createBackendSource } from '../../lib/backend/supabase/session-source.ts';
import {
  createSessionCookie,
  factsOf,
  issuedContent,
  newestAmrTime,
  parseContent,
  sdkContent,
  slimContent,
} from '../../lib/backend/supabase/session-cookie.ts';

it('keeps the fields of a verified session that the SDK needs, and nothing that a visitor may have added', async () => {
  const claims = { sub: 'user', exp: 4_000_000_000, role: 'authenticated' };
  const source = createBackendSource(
    createSessionCookie('s', {}, []),
    { verify: () => Promise.resolve({ kind: 'valid', claims }) },
    { refresh: () => Promise.reject(new Error('not asked')) },
  );
  const kept = { access_token: 'a.b.c', refresh_token: 'r', token_type: 'bearer', expires_in: 3600, expires_at: 4e9 };
  const junk = {
    user: { id: [[], []] },
    provider_token: { a: [] },
    provider_refresh_token: true,
    more: Array.from({ length: 1_000 }, () => []),
  };
  const verdict = await source.verify({ ...kept, ...junk }, 'provider');
  if (verdict.kind !== 'live') throw new Error('The session is not live.');
  expect(source.contentOf(verdict.session)).toEqual(kept);
});

describe('a token', () => {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const access_token = `${encode({ alg: 'ES256' })}.${encode({ sub: 'user' })}.c2ln`;
  const content = { access_token, refresh_token: 'r' };
  const claims = { sub: 'user', exp: 4_000_000_000 };
  const create = (answer: TokenVerdict & { readonly validUntil?: number }) => {
    const asked: unknown[] = [];
    const source = createBackendSource(
      createSessionCookie('s', {}, []),
      {
        verify: ({ text }, origin, clients) => {
          asked.push([text, origin, clients]);
          return Promise.resolve(answer);
        },
      },
      {
        refresh: (...given) => {
          asked.push(given);
          return Promise.resolve({ kind: 'renewed', content });
        },
      },
    );
    return { source, asked };
  };

  it('of a cookie makes a session of this application, and any other the session of a bearer', async () => {
    const { source, asked } = create({ kind: 'valid', claims });
    const token = readToken(access_token);
    const verdicts = [
      await source.verify(content, 'provider'),
      await source.verify(content, 'provider', token),
      await source.verifyBearer(token, 'provider'),
      await source.verifyForResource(token, 'provider'),
    ];
    const session = {
      adapter: 'backend',
      accessToken: access_token,
      claims,
      expiresAt: 4_000_000_000_000,
      user: expect.objectContaining({ id: 'user' }),
    };
    const live = (credential: string) => ({ kind: 'live', session: { ...session, credential } });
    expect(verdicts).toStrictEqual([live('cookie'), live('cookie'), live('bearer'), live('bearer')]);
    const clients = ['own client', 'own client', 'any client', 'any client and audience'];
    expect(asked).toEqual(clients.map((each) => [access_token, 'provider', each]));
    const contents = verdicts.map((verdict) => (verdict.kind === 'live' ? source.contentOf(verdict.session) : null));
    expect(contents).toEqual([content, content, undefined, undefined]);
  });

  it('that the backend confirmed makes a session for as long as that holds', async () => {
    const { source } = create({ kind: 'valid', claims, validUntil: 7 });
    expect(await source.verify(content, 'provider')).toMatchObject({ kind: 'live', validUntil: 7 });
  });

  it.each<TokenVerdict>([{ kind: 'expired' }, { kind: 'unverifiable' }, { kind: 'invalid', reason: 'role' }])(
    'that is %j makes none',
    async (verdict) => {
      const { source } = create(verdict);
      expect(await source.verify(content, 'provider')).toEqual(verdict);
      expect(await source.verifyBearer(readToken(access_token), 'provider')).toEqual(verdict);
    },
  );

  it('is renewed by the refresh token beside it', async () => {
    const { source, asked } = create({ kind: 'expired' });
    const { signal } = new AbortController();
    const client = { ipAddress: '203.0.113.7' };
    expect(await source.refresh(content, signal, client)).toEqual({ kind: 'renewed', content });
    expect(asked).toEqual([['r', signal, client, content.access_token]]);
  });

  it('travels to other processes as text', () => {
    const { source } = create({ kind: 'expired' });
    expect(source.deserialize(source.serialize(content))).toEqual(content);
    expect(source.deserialize('{}')).toBeUndefined();
  });

  it('takes the bytes of its cookies', async () => {
    const { source } = create({ kind: 'expired' });
    const [cookie] = await source.write(content, new Map());
    expect(await source.cookieBytes(content)).toBe(cookieBytes([cookie!]));
  });

  it.each<[string, RequestCookies, object]>([
    ['no cookie', new Map([['other', ['x']]]), { kind: 'none' }],
    ['one that cannot be read', new Map([['s', ['x']]]), { kind: 'unreadable', reason: 'unreadable' }],
    [
      'one with a session',
      new Map([['s', [`base64-${encode(content)}`]]]),
      {
        kind: 'stored',
        isKept: false,
        candidates: [expect.objectContaining({ content, refreshToken: 'r', userId: 'user' })],
      },
    ],
    [
      'more sessions than are tried',
      new Map([['s', Array.from({ length: 13 }, (_, at) => JSON.stringify({ ...content, at }))]]),
      { kind: 'stored', isKept: true, candidates: expect.any(Array) },
    ],
  ])('is looked for in %s', async (_, cookies, found) => {
    expect(await create({ kind: 'expired' }).source.read(cookies)).toEqual(found);
  });
});

describe('the user of a session', () => {
  const userOf = async (more: object): Promise<unknown> => {
    const claims = { sub: 'user', exp: 4_000_000_000, ...more };
    const source = createBackendSource(
      createSessionCookie('s', {}, []),
      { verify: () => Promise.resolve({ kind: 'valid', claims }) },
      { refresh: () => Promise.reject(new Error('not asked')) },
    );
    const verdict = await source.verify({ access_token: 'a.b.c', refresh_token: 'r' }, 'provider');
    return verdict.kind === 'live' ? verdict.session.user : verdict;
  };
  const bare = { id: 'user', email: null, role: '', isAnonymous: false, appMetadata: {}, userMetadata: {} };

  it.each<[object, object]>([
    [{}, {}],
    [{ email: '', phone: '' }, {}],
    [{ email: 7, phone: 7, role: 7, is_anonymous: 'true', app_metadata: [], user_metadata: 'text' }, {}],
    [
      { email: 'a@b', phone: '1555' },
      { email: 'a@b', phone: '1555' },
    ],
    [
      { role: 'authenticated', is_anonymous: true },
      { role: 'authenticated', isAnonymous: true },
    ],
    [
      { app_metadata: { a: 1 }, user_metadata: { b: 2 } },
      { appMetadata: { a: 1 }, userMetadata: { b: 2 } },
    ],
  ])('is read from the claims %j', async (claims, user) => {
    expect(await userOf(claims)).toStrictEqual({ ...bare, ...user });
  });
});

describe('what a cookie, an answer or a coordinator holds', () => {
  const tokens = { access_token: 'a', refresh_token: 'r' };

  it.each<[object, object]>([
    [tokens, tokens],
    [
      { ...tokens, expires_at: 7, user: { id: 'x' }, own: [] },
      { ...tokens, expires_at: 7, user: { id: 'x' }, own: [] },
    ],
    [{ ...tokens, expires_at: null, user: null }, tokens],
  ])('is a session: %j', (value, content) => expect(parseContent(value)).toEqual(content));

  it.each([
    undefined,
    null,
    'text',
    7,
    [tokens],
    {},
    { access_token: 'a' },
    { refresh_token: 'r' },
    { ...tokens, access_token: '' },
    { ...tokens, refresh_token: '' },
    { ...tokens, access_token: 7 },
    { ...tokens, refresh_token: null },
    { ...tokens, expires_at: '7' },
  ])('is none: %j', (value) => expect(parseContent(value)).toBeUndefined());

  it.each([
    ['for the SDK', sdkContent],
    ['in a cookie', slimContent],
  ])('keeps its own tokens %s', (_, reduce) => {
    const own = { ...tokens, token_type: 'bearer', expires_in: 3600, expires_at: 7 };
    expect(reduce(own)).toMatchObject(own);
  });

  it('keeps the provider’s tokens for the SDK, if they are text', () => {
    const given = { ...tokens, provider_token: 'p', provider_refresh_token: 'q' };
    expect(sdkContent(given)).toEqual(given);
  });

  it('is refused where the backend issued none', () => {
    expect(issuedContent(tokens)).toEqual(tokens);
    expect(() => issuedContent({ ...tokens, access_token: '' })).toThrow(
      expect.objectContaining({ code: 'token_rejected' }),
    );
  });

  it('loses the provider’s tokens and what nothing reads of its user where it is too large', () => {
    const user = { id: 'a', email: 'b', phone: 'c', role: 'd', aud: 'e', created_at: 'f' };
    const large = { ...tokens, provider_token: 'p', provider_refresh_token: 'q', user: { ...user, identities: [1] } };
    const slim = { ...user, app_metadata: {}, user_metadata: {} };
    expect(JSON.parse(JSON.stringify(slimContent(large)))).toEqual({ ...tokens, user: slim });
    expect(slimContent({ ...large, user: 'text' })).toMatchObject({ user: 'text', provider_token: undefined });
  });
});

describe('the facts of a token', () => {
  const none = { sessionId: undefined, userId: undefined, beganAt: 0, issuedAt: 0 };
  const sessionId = '9a8b7c6d-0000-4000-8000-000000000000';

  it.each<[Record<string, unknown>, object]>([
    [{}, {}],
    [{ session_id: 7, sub: 7, client_id: 7, iat: '7', amr: 7 }, {}],
    [
      { session_id: sessionId, sub: 'user', client_id: 'c', iat: 7 },
      { sessionId, userId: 'user', clientId: 'c', issuedAt: 7_000 },
    ],
    [{ amr: [{ method: 'password', timestamp: 5 }] }, { beganAt: 5_000 }],
    [{ amr: [{ method: 'oauth_provider/authorization_code', timestamp: 5 }] }, { beganAt: 5_000 }],
    [{ amr: [{ method: 'totp', timestamp: 5 }] }, {}],
    [{ amr: [{ method: 'password', timestamp: -5 }] }, {}],
  ])('of the claims %j', (claims, facts) => expect(factsOf(claims)).toStrictEqual({ ...none, ...facts }));

  it.each<[unknown, number | undefined]>([
    [undefined, undefined],
    ['password', undefined],
    [[], undefined],
    [['password', null, 7], undefined],
    [[{ method: 'password' }], undefined],
    [[{ method: 'password', timestamp: '5' }], undefined],
    [[{ method: 'password', timestamp: Infinity }], undefined],
    [[{ timestamp: 5 }], undefined],
    [[{ method: 'new', timestamp: 5 }], undefined],
    [[{ method: 'oauth_provider/authorization_code', timestamp: 5 }], undefined],
    [[{ method: 'password', timestamp: 0 }], 0],
    [
      [
        { method: 'otp', timestamp: 5 },
        { method: 'totp', timestamp: 9 },
        { method: 'oauth', timestamp: 7 },
      ],
      7,
    ],
  ])('the newest sign-in in %j', (amr, time) => expect(newestAmrTime({ amr })).toBe(time));
});

describe('cookies that hold no session', () => {
  const cookie = createSessionCookie('s', {}, ['https://issuer.example']);
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const contentWith = (claims: object) => ({
    access_token: `${encode({ alg: 'ES256' })}.${encode(claims)}.c2ln`,
    refresh_token: 'r',
  });
  const read = (value: string) => cookie.read(new Map([['s', [value]]]));

  it.each<[string, string, number]>([
    ['unreadable', 'base64-', 0],
    ['unreadable', 'text', 0],
    ['unreadable', `base64-${encode({})}`, 0],
    ['malformed', `base64-${encode({ access_token: 'a', refresh_token: 'r' })}`, 0],
    ['issuer', `base64-${encode(contentWith({ iss: 'https://other.example' }))}`, 0],
    ['issuer', `base64-${encode(contentWith({ iss: ['https://issuer.example'] }))}`, 0],
    ['unreadable', `base64-${encode(contentWith({ iss: 'https://issuer.example' }))}`, 1],
    ['unreadable', `base64-${encode(contentWith({}))}`, 1],
    ['unreadable', JSON.stringify(contentWith({})), 1],
  ])('say why: %s, in %s', (reason, value, sessions) => {
    const found = read(value);
    expect([found.reason, found.sessions.length]).toEqual([reason, sessions]);
  });
});

describe('the cookies of a session', () => {
  const small = { access_token: 'a.b.c', refresh_token: 'r' };
  const large = { ...small, more: 'x'.repeat(4_000) };
  const namesOf = (writes: readonly CookieWrite[]) => writes.map(({ name, value }) => [name, value !== undefined]);
  const chunks = ['s', 's.0', 's.1', 's.2', 's-flow', 'other'];
  const present = new Map(chunks.map((name) => [name, ['x']] as const));

  it.each([{}, { domain: 'example.com' }])('take the place of those that are there, with %j', async (attributes) => {
    const cookie = createSessionCookie('s', attributes, []);
    const times = 'domain' in attributes ? [0, 1] : [0];
    const deleted = (...names: string[]) => names.flatMap((name) => times.map(() => [name, false]));
    expect(namesOf(await cookie.write(small, present))).toEqual([...deleted('s.0', 's.1', 's.2'), ['s', true]]);
    expect(namesOf(await cookie.write(large, present))).toEqual([...deleted('s', 's.2'), ['s.0', true], ['s.1', true]]);
    expect(namesOf(cookie.clear(present))).toEqual(deleted('s', 's.0', 's.1', 's.2'));
    expect([cookie.isPresent(present), cookie.isPresent(new Map([['other', ['x']]]))]).toEqual([true, false]);
  });

  it('are deleted for this host, too, where a domain is set', () => {
    const deletions = createSessionCookie('s', { domain: 'example.com' }, []).clear(new Map([['s', ['x']]]));
    expect(deletions).toEqual([
      { name: 's', value: undefined },
      { name: 's', value: undefined, attributes: { domain: undefined } },
    ]);
  });

  it('are read again', async () => {
    const cookie = createSessionCookie('s', {}, []);
    for (const content of [small, large]) {
      const readable = { ...content, access_token: 'e30.e30.c2ln' };
      const written = await cookie.write(readable, new Map());
      const cookies = new Map(written.map(({ name, value }) => [name, [value ?? '']] as const));
      expect(cookie.read(cookies).sessions).toMatchObject([{ content: readable }]);
    }
  });
});
