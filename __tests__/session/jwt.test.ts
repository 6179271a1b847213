import { generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { JWTPayload } from 'jose';
import { createKeySet } from '../../lib/session/keys.ts';
import { clockSkew, tokenLifetimeMs, verifyAccessToken, readToken } from '../../lib/session/jwt.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

type Key = Awaited<ReturnType<typeof createKey>>;

async function createKey(alg: string, kid?: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), alg, use: 'sig', ...(kid === undefined ? {} : { kid }) };
  return { alg, kid, privateKey, jwk };
}

const named = await createKey('RS256', 'named');
const stranger = await createKey('RS256', 'stranger');
const nameless = [await createKey('ES256'), await createKey('ES256'), await createKey('ES256')] as const;

const start = 1_700_000_000;
let seconds: number;
let keys: unknown[];
let issuer: RunningServer;

beforeEach(async () => {
  seconds = start;
  keys = [named.jwk];
  issuer = await serve((_req, res) => {
    res.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
  });
});

afterEach(() => issuer.close());

const whole: JWTPayload = { sub: 'user_1', iat: start, exp: start + 300 };

function sign({ alg, kid, privateKey }: Key, claims: JWTPayload = whole): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg, ...(kid === undefined ? {} : { kid }) }).sign(privateKey);
}

const now = (): number => seconds * 1000;
const createKeys = () => createKeySet({ url: issuer.origin, now });
const verify = async (token: string | Promise<string>, keySet = createKeys()) =>
  verifyAccessToken(readToken(await token), keySet, now);

describe('an access token', () => {
  it('with a valid signature yields its claims', async () => {
    expect(await verify(sign(named))).toEqual({ kind: 'valid', claims: whole });
  });

  it.each([
    ['no subject', { exp: start + 300 }],
    ['an empty subject', { sub: '', exp: start + 300 }],
    ['no end', { sub: 'user_1' }],
  ])('with %s is invalid although its signature is valid', async (_what, claims) => {
    expect(await verify(sign(named, claims))).toMatchObject({ kind: 'invalid' });
  });

  it('whose subject is not a string is invalid', async () => {
    const claims = { ...whole, sub: 1 } as unknown as JWTPayload;
    expect(await verify(sign(named, claims))).toEqual({ kind: 'invalid', reason: 'claims' });
  });

  it('is valid until its expiry plus the tolerance for clocks', async () => {
    const token = await sign(named);
    seconds = start + 300 + clockSkew - 1;
    expect(await verify(token)).toMatchObject({ kind: 'valid' });
    seconds += 1;
    expect(await verify(token)).toEqual({ kind: 'expired' });
  });

  it('is valid from its nbf, minus the tolerance for clocks', async () => {
    const token = await sign(named, { ...whole, nbf: start + 60 });
    seconds = start + 60 - clockSkew;
    expect(await verify(token)).toMatchObject({ kind: 'valid' });
    seconds -= 1;
    expect(await verify(token)).toEqual({ kind: 'invalid', reason: 'nbf' });
  });

  it.each([
    ['nbf', 'soon'],
    ['iat', 'now'],
    ['exp', 'later'],
  ])('whose %s is not a number is invalid', async (claim, value) => {
    const claims = { ...whole, [claim]: value };
    expect(await verify(sign(named, claims))).toEqual({ kind: 'invalid', reason: 'claims' });
  });

  it('whose payload is not a JSON object is invalid', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    keys = [{ ...publicKey.export({ format: 'jwk' }), alg: 'RS256', kid: 'list' }];
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${part({ alg: 'RS256', kid: 'list' })}.${part([])}`;
    const signature = signBytes('sha256', Buffer.from(signed), privateKey).toString('base64url');
    expect(await verify(`${signed}.${signature}`)).toEqual({ kind: 'invalid', reason: 'ERR_JWT_INVALID' });
  });

  it('with one character of its signature, header or claims changed is invalid', async () => {
    const [header = '', claims = '', signature = ''] = (await sign(named)).split('.');
    const other = (part: string): string => (part.startsWith('A') ? 'B' : 'A') + part.slice(1);
    expect(await verify([header, claims, other(signature)].join('.'))).toEqual({
      kind: 'invalid',
      reason: 'signature',
    });
    expect(await verify([other(header), claims, signature].join('.'))).toMatchObject({ kind: 'invalid' });
    expect(await verify([header, other(claims), signature].join('.'))).toMatchObject({ kind: 'invalid' });
  });

  it('that expired and was signed with another key is invalid, not expired', async () => {
    seconds = start + 1_000;
    expect(await verify(sign({ ...stranger, kid: named.kid }))).toEqual({
      kind: 'invalid',
      reason: 'signature',
    });
  });

  it.each(['', 'a.b.c', 'not a token', '..'])('that is malformed (%j) is invalid', async (token) => {
    expect(await verify(token)).toMatchObject({ kind: 'invalid' });
  });

  it('is refused if a shared secret signed it, even a published one', async () => {
    const secret = new TextEncoder().encode('a secret of thirty-two characters');
    keys.push({ kty: 'oct', alg: 'HS256', kid: 'shared', k: Buffer.from(secret).toString('base64url') });
    const token = await new SignJWT(whole).setProtectedHeader({ alg: 'HS256', kid: 'shared' }).sign(secret);
    expect(await verify(token)).toMatchObject({ kind: 'invalid' });
  });

  it('is refused if its key is too short to be trusted, although it is published', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    keys = [{ ...publicKey.export({ format: 'jwk' }), alg: 'RS256', kid: 'short' }];
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${part({ alg: 'RS256', kid: 'short' })}.${part(whole)}`;
    const signature = signBytes('sha256', Buffer.from(signed), privateKey).toString('base64url');
    expect(await verify(`${signed}.${signature}`)).toEqual({ kind: 'invalid', reason: 'malformed' });
  });

  it('is refused without a signature', async () => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    expect(await verify(`${part({ alg: 'none' })}.${part(whole)}.`)).toMatchObject({ kind: 'invalid' });
  });

  it.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'])(
    'may be signed with %s',
    async (alg) => {
      const key = await createKey(alg, 'of its kind');
      keys = [key.jwk];
      expect(await verify(sign(key))).toMatchObject({ kind: 'valid' });
    },
  );
});

describe('a token without a key id, for which several keys fit,', () => {
  beforeEach(() => {
    keys = nameless.map(({ jwk }) => jwk);
  });

  it.each(nameless.map((key, index) => [index + 1, key] as const))('is verified by key %i', async (_number, key) => {
    expect(await verify(sign(key))).toEqual({ kind: 'valid', claims: whole });
  });

  it('is invalid if none of them signed it', async () => {
    expect(await verify(sign(await createKey('ES256')))).toEqual({ kind: 'invalid', reason: 'signature' });
  });

  it('is expired if one of them signed it and its time is over', async () => {
    seconds = start + 1_000;
    expect(await verify(sign(nameless[2]))).toEqual({ kind: 'expired' });
    expect(await verify(sign(await createKey('ES256')))).toEqual({ kind: 'invalid', reason: 'signature' });
  });

  it('is invalid without a subject', async () => {
    expect(await verify(sign(nameless[1], { exp: start + 300 }))).toMatchObject({ kind: 'invalid' });
  });
});

describe('a token that names a key which is not published', () => {
  const unverifiable = { kind: 'unverifiable' };

  it('is unverifiable if it is older than the keys', async () => {
    const token = await sign(stranger, { ...whole, iat: start - clockSkew - 1 });
    expect(await verify(token)).toEqual(unverifiable);
  });

  it('waits for the next fetch of the keys if it was issued after the last one', async () => {
    const keySet = createKeys();
    await verify(sign(named), keySet);
    seconds += 1;
    const token = await sign(stranger, { ...whole, iat: seconds });
    await expect(verify(token, keySet)).rejects.toMatchObject({ code: 'provider_unavailable', retryAfter: 5 });
    keys.push(stranger.jwk);
    seconds += 30;
    expect(await verify(token, keySet)).toMatchObject({ kind: 'valid' });
  });

  it('may be newer than them by the tolerance for clocks, to the second', async () => {
    const issued = (iat: number) => sign(stranger, { ...whole, iat });
    await expect(verify(issued(start - clockSkew))).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(await verify(issued(start - clockSkew - 1))).toEqual(unverifiable);
  });

  it('is unverifiable if it has no time of issue', async () => {
    expect(await verify(sign(stranger, { sub: 'user_1', exp: start + 300 }))).toEqual(unverifiable);
    const inWords = { ...whole, iat: String(start) } as unknown as JWTPayload;
    expect(await verify(sign(stranger, inWords))).toEqual(unverifiable);
  });
});

it('reports an unreachable issuer if only the issuer could tell', async () => {
  const keySet = createKeySet({ url: 'http://127.0.0.1:1/', now });
  await expect(verify(sign(named), keySet)).rejects.toMatchObject({ code: 'provider_unavailable' });
});

describe('claims without verification', () => {
  it('are the payload of the token', async () => {
    expect(readToken(await sign(stranger)).claims).toEqual(whole);
  });

  it.each(['', 'garbage', 'a.b.c', 'e30', `e30.${Buffer.from('[1]').toString('base64url')}.`])(
    'are undefined for %j',
    (token) => expect(readToken(token).claims).toEqual({}),
  );
});

describe('the lifetime of a token', () => {
  it('is the time from its issue to its expiry, in milliseconds', () => {
    expect(tokenLifetimeMs({ iat: 100, exp: 400 })).toBe(300_000);
  });

  it('is zero if it expires before it is issued', () => {
    expect(tokenLifetimeMs({ iat: 400, exp: 100 })).toBe(0);
  });

  it.each([[{ iat: 100 }], [{ exp: 100 }], [{ iat: '100', exp: 400 }], [{ iat: 100, exp: '400' }], [{}]])(
    'is infinite if %j does not define it',
    (claims) => expect(tokenLifetimeMs(claims)).toBe(Infinity),
  );
});
