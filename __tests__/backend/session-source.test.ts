import { createBackendSource } from '../../lib/backend/session-source.ts';
import {
  createSessionCookie,
  factsOf,
  newestAmrTime,
  parseContent,
  slimContent,
} from '../../lib/backend/session-cookie.ts';

it('keeps the fields of a verified session that the SDK needs, and nothing that a visitor may have added', async () => {
  const claims = { sub: 'user', exp: 4_000_000_000, role: 'authenticated' };
  const source = createBackendSource(
    createSessionCookie('s', {}, []),
    { verify: () => Promise.resolve({ kind: 'valid', claims }) },
    { refresh: () => Promise.reject(new Error('not asked')) },
  );
  const kept = { access_token: 'a.b.c', refresh_token: 'r', token_type: 'bearer', expires_in: 3600, expires_at: 4e9 };
  const junk = { user: { id: [[], []] }, provider_token: { a: [] }, more: Array.from({ length: 1_000 }, () => []) };
  const verdict = await source.verify({ ...kept, ...junk }, 'provider');
  if (verdict.kind !== 'live') throw new Error('The session is not live.');
  expect(source.contentOf(verdict.session)).toEqual(kept);
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
