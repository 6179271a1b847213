import { randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { JWK } from 'jose';
import { createKeySet } from '../../lib/session/keys.ts';
import { readToken } from '../../lib/session/jwt.ts';
import type { Introspection } from '../../lib/backend/supabase/supabase.ts';
import { foreignClient } from '../../lib/backend/supabase/session-cookie.ts';
import { createTokenVerifier } from '../../lib/backend/supabase/verify-token.ts';
import type { Clients } from '../../lib/backend/supabase/verify-token.ts';
import type { TokenOrigin } from '../../lib/session/source.ts';

const issuer = 'https://project.example/auth/v1';
const start = 1_700_000_000;
const whole = { sub: 'user_1', role: 'authenticated', aud: 'authenticated', iss: issuer, exp: start + 300 };

const sign = (claims: Record<string, unknown>): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(randomBytes(32));

/** A project that signs with a shared secret: nothing here can verify its tokens, so it is asked. */
function createProject(word: () => Promise<Introspection> = () => Promise.resolve('accepted'), keys: JWK[] = []) {
  const asked: string[] = [];
  let seconds = start;
  const now = (): number => seconds * 1000;
  const keySet = createKeySet({
    url: 'http://127.0.0.1:1/',
    now,
    fetch: () => Promise.resolve(Response.json({ keys })),
  });
  const ask = (token: string): Promise<Introspection> => {
    asked.push(token);
    return word();
  };
  const tokens = createTokenVerifier(keySet, ask, [issuer], now);
  return {
    asked,
    now,
    pass: (by: number) => (seconds += by),
    verify: async (claims: Record<string, unknown>, clients?: Clients) =>
      tokens.verify(readToken(await sign(claims)), 'provider', clients),
    verifyToken: (token: string, origin: TokenOrigin = 'provider') => tokens.verify(readToken(token), origin),
  };
}

describe('a token that only the project can verify', () => {
  it('is trusted for a minute after its confirmation', async () => {
    const project = createProject();
    expect(await project.verify(whole)).toEqual({ kind: 'valid', claims: whole, validUntil: project.now() + 60_000 });
  });

  it('is verified once a minute, and no look-up extends its validity', async () => {
    const project = createProject();
    const token = await sign(whole);
    const until = project.now() + 60_000;
    for (let second = 0; second < 60; second += 20) {
      expect(await project.verifyToken(token)).toMatchObject({ validUntil: until });
      project.pass(20);
    }
    expect(project.asked).toHaveLength(1);
    project.pass(1);
    expect(await project.verifyToken(token)).toMatchObject({ validUntil: project.now() + 60_000 });
    expect(project.asked).toHaveLength(2);
  });

  it('is verified once if several requests carry it', async () => {
    const project = createProject();
    const token = await sign(whole);
    await Promise.all(Array.from({ length: 5 }, () => project.verifyToken(token)));
    expect(project.asked).toEqual([token]);
  });

  it('is refused if the project refuses it, and the refusal is remembered', async () => {
    const project = createProject(() => Promise.resolve('refused'));
    const token = await sign(whole);
    const refused = { kind: 'invalid', reason: 'refused', isOver: true };
    expect([await project.verifyToken(token), await project.verifyToken(token)]).toEqual([refused, refused]);
    expect(project.asked).toHaveLength(1);
  });

  it('is verified again if the project did not answer', async () => {
    const project = createProject(() => Promise.reject(new Error('out of reach')));
    const token = await sign(whole);
    for (let time = 1; time <= 2; time += 1) {
      await expect(project.verifyToken(token)).rejects.toThrow('out of reach');
      expect(project.asked).toHaveLength(time);
    }
  });

  it('is not sent to the project when it is about to expire', async () => {
    const project = createProject();
    expect(await project.verify({ ...whole, exp: start + 11 })).toMatchObject({ kind: 'valid' });
    expect(await project.verify({ ...whole, exp: start + 10 })).toEqual({ kind: 'unverifiable' });
    expect(await project.verify({ ...whole, iat: start - 20, exp: start + 3 })).toMatchObject({ kind: 'valid' });
    expect(project.asked).toHaveLength(2);
  });

  it('is still good for that minute when it is about to expire, and expired afterward', async () => {
    const project = createProject();
    const [shorter, longer] = [await sign({ ...whole, exp: start + 50 }), await sign({ ...whole, exp: start + 70 })];
    for (const token of [shorter, longer]) await project.verifyToken(token);
    project.pass(45);
    expect(await project.verifyToken(shorter)).toMatchObject({ kind: 'valid' });
    project.pass(16);
    expect(await project.verifyToken(longer)).toEqual({ kind: 'expired' });
    expect(project.asked).toEqual([shorter, longer]);
  });

  it('is unverifiable if the project cannot accept it, and expired if it no longer does', async () => {
    let word: Introspection = 'stale';
    const project = createProject(() => Promise.resolve(word));
    expect(await project.verify(whole)).toEqual({ kind: 'unverifiable' });
    word = 'accepted';
    const token = await sign(whole);
    await project.verifyToken(token);
    word = 'stale';
    project.pass(61);
    expect(await project.verifyToken(token)).toEqual({ kind: 'expired' });
  });

  it('is unverifiable where the project publishes keys, and is not sent', async () => {
    const { publicKey } = await generateKeyPair('ES256');
    const project = createProject(undefined, [await exportJWK(publicKey)]);
    expect(await project.verify(whole)).toEqual({ kind: 'unverifiable' });
    expect(project.asked).toEqual([]);
  });

  it('counts as expired only if the project confirmed it before', async () => {
    const project = createProject();
    const token = await sign(whole);
    await project.verifyToken(token);
    project.pass(305);
    expect(await project.verifyToken(token)).toEqual({ kind: 'expired' });
    expect(await project.verify(whole)).toEqual({ kind: 'unverifiable' });
    project.pass(24 * 3600);
    expect(await project.verifyToken(token)).toEqual({ kind: 'unverifiable' });
  });

  it('uses the allowance of its request until the project has confirmed it', async () => {
    const project = createProject();
    const spent: object[] = [];
    const origin: TokenOrigin = {
      spend: (token, call) => {
        spent.push(token);
        return call();
      },
    };
    const token = await sign(whole);
    await project.verifyToken(token, origin);
    project.pass(61);
    await project.verifyToken(token, origin);
    expect([project.asked.length, spent]).toMatchObject([2, [{ text: token }]]);
  });

  it.each(['refused', 'stale'] as const)('uses it each time where the project calls it %s', async (word) => {
    const project = createProject(() => Promise.resolve(word));
    const proofs: boolean[][] = [];
    const origin: TokenOrigin = {
      spend: (_token, call, isProof) => {
        proofs.push((['accepted', 'refused', 'stale'] as unknown as Parameters<typeof isProof>[0][]).map(isProof));
        return call();
      },
    };
    const token = await sign(whole);
    for (let count = 0; count < 2; count += 1) {
      await project.verifyToken(token, origin);
      project.pass(61);
    }
    // Only a confirmation gives the call back.
    expect(proofs).toEqual([
      [true, false, false],
      [true, false, false],
    ]);
  });

  it('is not sent before its time, minus the tolerance for clocks', async () => {
    const project = createProject();
    expect(await project.verify({ ...whole, nbf: start + 5 })).toMatchObject({ kind: 'valid' });
    expect(await project.verify({ ...whole, nbf: start + 6 })).toEqual({ kind: 'invalid', reason: 'nbf' });
    expect(project.asked).toHaveLength(1);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ sub: undefined }, 'claims'],
    [{ sub: '' }, 'claims'],
    [{ sub: 7 }, 'claims'],
    [{ exp: undefined }, 'claims'],
    [{ exp: String(start + 300) }, 'claims'],
    [{ role: 'service_role' }, 'role'],
    [{ role: undefined }, 'role'],
    [{ aud: 'other' }, 'audience'],
    [{ aud: undefined }, 'audience'],
    [{ aud: ['other'] }, 'audience'],
    [{ iss: 'https://other.example/auth/v1' }, 'issuer'],
    [{ iss: '' }, 'issuer'],
    [{ iss: 7 }, 'issuer'],
  ])('is not sent with %j, which no token can contain', async (change, reason) => {
    const project = createProject();
    expect(await project.verify({ ...whole, ...change })).toEqual({ kind: 'invalid', reason });
    expect(project.asked).toEqual([]);
  });

  it.each<[Record<string, unknown>]>([[{ aud: ['other', 'authenticated'] }], [{ iss: undefined }]])(
    'may contain %j',
    async (change) => {
      expect(await createProject().verify({ ...whole, ...change })).toMatchObject({ kind: 'valid' });
    },
  );
});

it.each(['', 'a', 'a.b.c', '..', '€.€.€'])('is not sent if it is malformed: %j', async (token) => {
  const project = createProject();
  expect(await project.verifyToken(token)).toEqual({ kind: 'invalid', reason: 'malformed' });
  expect(project.asked).toEqual([]);
});

describe('a token of another application', () => {
  const client = { client_id: 'app' };

  it.each<[Record<string, unknown>, Clients | undefined, string | undefined]>([
    [client, undefined, 'client'],
    [client, 'own client', 'client'],
    [client, 'any client', undefined],
    [client, 'any client and audience', undefined],
    [{ ...client, aud: 'https://api.example' }, 'any client', 'audience'],
    [{ ...client, aud: 'https://api.example' }, 'any client and audience', undefined],
    [{ ...client, aud: undefined }, 'any client and audience', undefined],
    [{ ...client, role: 'anon' }, 'any client and audience', 'role'],
    [{ ...client, iss: 'https://other.example' }, 'any client and audience', 'issuer'],
  ])('with %j, where %s is accepted, is refused for its %s', async (change, clients, reason) => {
    const verdict = await createProject().verify({ ...whole, ...change }, clients);
    expect(verdict).toMatchObject(reason === undefined ? { kind: 'valid' } : { kind: 'invalid', reason });
  });

  it.each<[unknown, string | undefined]>([
    [undefined, undefined],
    [null, undefined],
    ['app', 'app'],
    ['', ''],
    [7, ''],
    [false, ''],
    [['app'], ''],
  ])('names its client by client_id %j as %j', (value, named) => {
    expect(foreignClient({ client_id: value })).toBe(named);
  });
});

it('a key that is new here is fetched for a token that the project has just issued, and not for one of a request', async () => {
  const keys: JWK[] = [];
  const signWithNewKey = async (kid: string): Promise<string> => {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    keys.push({ ...(await exportJWK(publicKey)), kid });
    return new SignJWT(whole).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
  };
  const project = createProject(undefined, keys);
  const request: TokenOrigin = { spend: (_token, call) => call() };
  expect(await project.verifyToken(await signWithNewKey('one'), request)).toEqual({ kind: 'valid', claims: whole });
  project.pass(2);
  const token = await signWithNewKey('two');
  expect(await project.verifyToken(token, request)).toEqual({ kind: 'unverifiable' });
  expect(await project.verifyToken(token)).toEqual({ kind: 'valid', claims: whole });
  expect(project.asked).toEqual([]);
});
