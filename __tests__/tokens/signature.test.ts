import { generateKeyPairSync, sign as signBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import * as fc from 'fast-check';
import { createLocalJWKSet, importJWK, jwtVerify } from 'jose';
import type { CryptoKey, JWK } from 'jose';
import { clockSkew, verifyAccessToken } from '../../lib/tokens/access-token.ts';
import { createKeySet } from '../../lib/tokens/key-set.ts';
import { createSignatureCheck, isPlainlySigned } from '../../lib/tokens/signature.ts';
import type { SignatureCheck } from '../../lib/tokens/signature.ts';
import { readToken } from '../../lib/tokens/token.ts';

interface Signer {
  readonly alg: 'RS256' | 'ES256';
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: JWK;
}

function signer(alg: Signer['alg'], kid: string): Signer {
  const { privateKey, publicKey } =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { alg, kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), alg, kid, use: 'sig' } };
}

const rsa = signer('RS256', 'rsa');
const elliptic = signer('ES256', 'elliptic');
const others = { RS256: signer('RS256', 'rsa'), ES256: signer('ES256', 'elliptic') };
const published = { keys: [rsa.jwk, elliptic.jwk] };

const seconds = 1_700_000_000;
const now = (): number => seconds * 1000;
const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const encode = (value: unknown): string => Buffer.from(text(value)).toString('base64url');

/** A token as an issuer would write it, if it wrote such header and claims. */
function issue({ alg, privateKey }: Signer, header: unknown, claims: unknown): string {
  const signed = `${encode(header)}.${encode(claims)}`;
  const signature = signBytes('sha256', Buffer.from(signed), {
    key: privateKey,
    ...(alg === 'ES256' ? { dsaEncoding: 'ieee-p1363' as const } : {}),
  });
  return `${signed}.${signature.toString('base64url')}`;
}

const keySet = createKeySet({ url: 'http://issuer.invalid/', now, fetch: async () => Response.json(published) });
/** A token that may be newer than the keys waits for the next fetch; to jose alone it is one without a key. */
const ours = (token: string): Promise<string> =>
  verifyAccessToken(readToken(token), keySet, now).then(
    ({ kind }) => kind,
    () => 'unverifiable',
  );

/** What jose alone makes of a token; the reference. */
async function reference(token: string): Promise<string> {
  try {
    const { payload } = await jwtVerify(token, createLocalJWKSet(published), {
      algorithms: ['RS256', 'ES256', 'ES384', 'PS256'],
      clockTolerance: clockSkew,
      currentDate: new Date(now()),
    });
    const { sub, exp } = payload;
    return typeof sub === 'string' && sub !== '' && typeof exp === 'number' ? 'valid' : 'invalid';
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ERR_JWT_EXPIRED') return 'expired';
    return code === 'ERR_JWKS_NO_MATCHING_KEY' ? 'unverifiable' : 'invalid';
  }
}

const date = fc.oneof(
  fc.constantFrom(undefined, null, '1700000300', NaN, -1, 0, 1e300, true),
  fc.integer({ min: seconds - 10, max: seconds + 10 }),
  fc.double({ min: seconds - 7, max: seconds + 7, noNaN: true }),
);
const usualClaims = { sub: 'user_1', iat: seconds, exp: seconds + 300 };
const claims = fc.oneof(
  { weight: 3, arbitrary: fc.constant(usualClaims) },
  { weight: 4, arbitrary: fc.record({ sub: fc.constantFrom('user_1', '', 1, null), exp: date, nbf: date, iat: date }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>([], null, 'text', '{', '\uFEFF{}', { ...usualClaims, __proto__: { exp: 1 } }),
  },
);
const signers = fc.constantFrom(rsa, elliptic, others.RS256, others.ES256);
const header = ({ alg, kid }: Signer) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<unknown>({ alg, kid, typ: 'JWT' }) },
    {
      weight: 3,
      arbitrary: fc.constantFrom<unknown>(
        { alg },
        { alg, kid: 1 },
        { alg, kid: 'unknown' },
        { alg, kid: null },
        { alg: 'none', kid },
        { alg: alg.toLowerCase(), kid },
        { alg: alg === 'RS256' ? 'ES256' : 'RS256', kid },
        { alg: 'PS256', kid },
        { alg: 'HS256', kid },
        { alg, kid, crit: [] },
        { alg, kid, crit: ['exp'], exp: 1 },
        { alg, kid, crit: ['b64'], b64: true },
        { alg, kid, b64: false },
        { alg, kid, jku: 'https://evil.example/', x5c: ['x'] },
        [],
        null,
        'text',
      ),
    },
  );
const damage = fc.oneof(
  { weight: 3, arbitrary: fc.constant((token: string) => token) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.nat(), fc.constantFrom('A', '-', '_', '=', '+', '/', '.', ' ', '\n', '\0', 'é', '𝟙'))
      .map(([at, character]) => (token: string) => {
        const position = at % (token.length + 1);
        return token.slice(0, position) + character + token.slice(position + 1);
      }),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      (token: string) => `${token}=`,
      (token: string) => `${token}A`,
      (token: string) => token.slice(0, -1),
      (token: string) => `${token}.`,
      (token: string) => ` ${token}`,
      (token: string) => token.slice(0, token.lastIndexOf('.') + 1),
      (token: string) => token.slice(0, token.lastIndexOf('.') + 1) + Buffer.alloc(64).toString('base64url'),
      // The unused bits of the last character.
      (token: string) => token.slice(0, -1) + String.fromCharCode(token.charCodeAt(token.length - 1) + 1),
    ),
  },
);

it('agrees with jose about every token, whatever signed it and however it was damaged', async () => {
  const tokens = signers.chain((by) => fc.tuple(fc.constant(by), header(by), claims, damage));
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(tokens, async ([by, withHeader, withClaims, damaged]) => {
      const token = damaged(issue(by, withHeader, withClaims));
      const verdict = await ours(token);
      seen.set(verdict, (seen.get(verdict) ?? 0) + 1);
      expect([token, verdict]).toEqual([token, await reference(token)]);
    }),
    { numRuns: 3000 },
  );
  expect([...seen.keys()].sort()).toEqual(['expired', 'invalid', 'unverifiable', 'valid']);
}, 60_000);

it.each([
  [true, { alg: 'RS256', kid: 'a' }],
  [true, { alg: 'ES256', kid: '' }],
  [true, { alg: 'ES256', typ: 'JWT', jku: 'https://evil.example/' }],
  [false, {}],
  [false, { alg: 'none' }],
  [false, { alg: 'HS256', kid: 'a' }],
  [false, { alg: 'RS384', kid: 'a' }],
  [false, { alg: 'es256', kid: 'a' }],
  [false, { alg: ['ES256'], kid: 'a' }],
  [false, { alg: 'ES256', kid: 1 }],
  [false, { alg: 'ES256', kid: null }],
  [false, { alg: 'ES256', kid: 'a', crit: ['exp'] }],
  [false, { alg: 'RS256', kid: 'a', b64: true }],
])('calls plain: %p for the header %j', (expected, withHeader) => {
  expect(isPlainlySigned(withHeader)).toBe(expected);
});

it.each([
  ['', {}],
  ['garbage', {}],
  ['e30', {}],
  [`${Buffer.from('{"alg":"HS256"}').toString('base64url')}.a.b`, { alg: 'HS256' }],
  [`${Buffer.from('["alg"]').toString('base64url')}.a.b`, {}],
])('reads the header of %j without trust', (token, expected) => {
  expect(readToken(token).header).toEqual(expected);
});

describe('a signature', () => {
  const signedText = (nonce: number) => `e30.${encode({ nonce })}`;
  const checkOf = async ({ jwk, alg }: Signer): Promise<SignatureCheck> =>
    createSignatureCheck((await importJWK(jwk, alg)) as CryptoKey);

  it('by ES256 is good whatever its numbers are: short, long, or with the first bit set', async () => {
    const check = await checkOf(elliptic);
    const forms = new Set<string>();
    for (let nonce = 0; nonce < 20_000 && forms.size < 6; nonce += 1) {
      const text = signedText(nonce);
      const signature = signBytes('sha256', Buffer.from(text), {
        key: elliptic.privateKey,
        dsaEncoding: 'ieee-p1363',
      });
      for (const [half, first] of [
        ['r', signature.readUInt8(0)],
        ['s', signature.readUInt8(32)],
      ]) {
        forms.add(`${String(half)} ${first === 0 ? 'short' : Number(first) >= 0x80 ? 'high' : 'low'}`);
      }
      expect(check({ text, signature })).toBe(true);
    }
    expect(forms.size).toBe(6);
  }, 60_000);

  it.each([0, 63, 65, 128])('by ES256 of %d bytes is none', async (length) => {
    const check = await checkOf(elliptic);
    expect(check({ text: signedText(1), signature: Buffer.alloc(length, 1) })).toBe(false);
  });

  it('by ES256 with a zero in front of its second number is none, although the numbers are the same', async () => {
    const check = await checkOf(elliptic);
    const text = signedText(1);
    const signature = signBytes('sha256', Buffer.from(text), {
      key: elliptic.privateKey,
      dsaEncoding: 'ieee-p1363',
    });
    const longer = Buffer.concat([signature.subarray(0, 32), Buffer.of(0), signature.subarray(32)]);
    expect([signature, longer].map((form) => check({ text, signature: form }))).toEqual([true, false]);
  });

  it('by ES256 in the form that X.509 knows is none', async () => {
    const check = await checkOf(elliptic);
    const signature = signBytes('sha256', Buffer.from(signedText(1)), elliptic.privateKey);
    expect(check({ text: signedText(1), signature })).toBe(false);
  });

  it('of nothing but zeros, or of the order of the curve, is none', async () => {
    const check = await checkOf(elliptic);
    const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
    const one = Buffer.concat([Buffer.alloc(31), Buffer.of(1)]);
    for (const r of [Buffer.alloc(32), one, order, Buffer.alloc(32, 0xff)]) {
      for (const s of [Buffer.alloc(32), one, order, Buffer.alloc(32, 0xff)]) {
        const signature = Buffer.concat([r, s]);
        expect(check({ text: signedText(1), signature })).toBe(false);
      }
    }
  });

  it('by RS256 covers every character', async () => {
    const check = await checkOf(rsa);
    const text = signedText(1);
    const signature = signBytes('sha256', Buffer.from(text), rsa.privateKey);
    expect(check({ text, signature })).toBe(true);
    expect(check({ text: `${text.slice(0, -1)}!`, signature })).toBe(false);
  });

  it('by a key that is too short says nothing', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const key = (await importJWK({ ...publicKey.export({ format: 'jwk' }) }, 'RS256')) as CryptoKey;
    const signature = signBytes('sha256', Buffer.from(signedText(1)), privateKey);
    expect(createSignatureCheck(key)({ text: signedText(1), signature })).toBe(undefined);
  });
});

describe('a token in its compact form', () => {
  it('is taken apart', () => {
    const token = issue(rsa, { alg: 'RS256', kid: 'rsa' }, usualClaims);
    const { text: whole, header: withHeader, claims: withClaims, signed } = readToken(token);
    expect([whole, withHeader, withClaims]).toEqual([token, { alg: 'RS256', kid: 'rsa' }, usualClaims]);
    expect(`${signed?.text ?? ''}.${signed?.signature.toString('base64url') ?? ''}`).toBe(token);
  });

  it.each([
    ['', 'nothing'],
    ['a.b', 'two parts'],
    ['e30.e30.e30.e30', 'four parts'],
    ['e30.e30.', 'no signature'],
    ['e30=.e30.AA', 'padding'],
    ['e30.e30.A/', 'plain base64'],
    ['bnVsbA.e30.AA', 'a header that is nothing'],
    ['W10.e30.AA', 'a header that is a list'],
    ['e30.bnVsbA.AA', 'claims that are nothing'],
    [`e30.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.AA`, 'bytes that are no UTF-8'],
  ])('is left to jose where %j has %s', (token) => {
    expect(readToken(token).signed).toBe(undefined);
  });
});
