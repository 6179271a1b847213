import { constants, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject, KeyPairKeyObjectResult } from 'node:crypto';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { JWK } from 'jose';
import { hasKnownSignature, readToken } from '../../lib/session/jwt.ts';

const rsa = (modulusLength: number): KeyPairKeyObjectResult => generateKeyPairSync('rsa', { modulusLength });
const ec = (namedCurve: string): KeyPairKeyObjectResult => generateKeyPairSync('ec', { namedCurve });
const pairs = {
  'RSA 2048': rsa(2048),
  'RSA 3072': rsa(3072),
  'RSA 1024': rsa(1024),
  'P-256': ec('P-256'),
  'P-384': ec('P-384'),
  secp256k1: ec('secp256k1'),
  Ed25519: generateKeyPairSync('ed25519'),
};
type KeyName = keyof typeof pairs;

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
const joined = { dsaEncoding: 'ieee-p1363' } as const;
const ways: Readonly<Record<string, (data: Buffer, key: KeyObject, publicKey: KeyObject) => Buffer>> = {
  RS256: (data, key) => sign('sha256', data, key),
  RS384: (data, key) => sign('sha384', data, key),
  PS256: (data, key) => sign('sha256', data, { key, ...pss }),
  ES256: (data, key) => sign('sha256', data, { key, ...joined }),
  'ES256 in DER': (data, key) => sign('sha256', data, { key, dsaEncoding: 'der' }),
  ES384: (data, key) => sign('sha384', data, { key, ...joined }),
  EdDSA: (data, key) => sign(null, data, key),
  'HS256 with the public key': (data, _key, publicKey) =>
    createHmac('sha256', publicKey.export({ format: 'pem', type: 'spki' }))
      .update(data)
      .digest(),
  nothing: () => Buffer.alloc(0),
  zeros: () => Buffer.alloc(64),
};

const kinds: Readonly<Record<string, string>> = { RS: 'rsa', PS: 'rsa', ES: 'ec', Ed: 'ed25519' };

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const payload = encode({ sub: 'user_1', exp: 4_000_000_000 });

function tokenOf(header: object, way: string, name: KeyName): string {
  const signed = `${encode(header)}.${payload}`;
  const { privateKey, publicKey } = pairs[name];
  return `${signed}.${ways[way]!(Buffer.from(signed), privateKey, publicKey).toString('base64url')}`;
}

const published = (name: KeyName, members: object = {}): JWK => ({
  ...pairs[name].publicKey.export({ format: 'jwk' }),
  ...members,
});

/** What we say of a token, and what jose says. */
async function judge(token: string, jwk: JWK): Promise<readonly [ours: boolean, jose: boolean]> {
  const keys = createLocalJWKSet({ keys: [jwk] });
  const getKey = (header: Parameters<typeof keys>[0]) => keys(header);
  const jose = jwtVerify(token, keys, { algorithms: ['RS256', 'PS256', 'ES256', 'RS384', 'ES384', 'EdDSA'] });
  return [
    await hasKnownSignature(readToken(token), getKey).catch(() => false),
    await jose.then(
      () => true,
      () => false,
    ),
  ];
}

it.each(['RSA 2048', 'RSA 3072'] as const)('a signature by RS256 with %s is known', async (name) => {
  expect(await judge(tokenOf({ alg: 'RS256' }, 'RS256', name), published(name))).toEqual([true, true]);
});

it('a signature by ES256 with P-256 is known', async () => {
  expect(await judge(tokenOf({ alg: 'ES256' }, 'ES256', 'P-256'), published('P-256'))).toEqual([true, true]);
});

const names = Object.keys(pairs) as KeyName[];
const fits = ({ alg, way, name, of }: { alg: unknown; way: string; name: KeyName; of: unknown }): boolean =>
  alg === way &&
  (of === undefined || of === alg) &&
  ((alg === 'RS256' && /^RSA [23]/.test(name)) || (alg === 'ES256' && name === 'P-256'));

describe.each(names)('with the key %s', (name) => {
  const { privateKey } = pairs[name];
  const possible = Object.keys(ways).filter(
    (way) => (kinds[way.slice(0, 2)] ?? privateKey.asymmetricKeyType) === privateKey.asymmetricKeyType,
  );

  it.each(possible)('and a signature by %s, nothing is known but RS256 and ES256 with their own keys', async (way) => {
    for (const alg of ['RS256', 'ES256', 'PS256', 'RS384', 'ES384', 'EdDSA', 'HS256', 'none', 'rs256', ['RS256'], null])
      for (const named of [undefined, 'RS256', 'ES256', 'PS256']) {
        const [ours, jose] = await judge(
          tokenOf({ alg }, way, name),
          published(name, named === undefined ? {} : { alg: named }),
        );
        const isOwn = fits({ alg, way, name, of: named });
        expect([ours, isOwn && jose]).toEqual([isOwn, isOwn]);
      }
  });
});

describe('a good signature is left to jose', () => {
  const good = (header: object = {}): string => tokenOf({ alg: 'RS256', ...header }, 'RS256', 'RSA 3072');

  it.each([
    ['a critical extension', { crit: ['exp'], exp: 1 }],
    ['no critical extension in the list', { crit: [] }],
    ['the payload as it is', { b64: false, crit: ['b64'] }],
    ['a member for the form of the payload', { b64: true }],
  ])('whose header has %s', async (_what, header) => {
    expect((await judge(good(header), published('RSA 3072')))[0]).toBe(false);
  });

  it.each(['A', '=', '.', '.e30', '\n', ' '])('with %j behind it', async (more) => {
    expect((await judge(`${good()}${more}`, published('RSA 3072')))[0]).toBe(false);
  });

  it('whose last character has other unused bits', async () => {
    const token = tokenOf({ alg: 'RS256' }, 'RS256', 'RSA 2048');
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const other = token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1)!) + 1]!;
    expect((await judge(other, published('RSA 2048')))[0]).toBe(false);
  });

  it.each([
    ['signs only', { key_ops: ['sign'] }],
    ['encrypts', { use: 'enc' }],
  ])('where its key %s', async (_what, members) => {
    expect(await judge(good(), published('RSA 3072', members))).toEqual([false, false]);
  });
});

describe('nothing is known with a key that was imported', () => {
  it.each([
    ['for RSA-PSS', 'RS256', 'RSA 2048', { name: 'RSA-PSS', hash: 'SHA-256' }, ['verify']],
    ['for another hash', 'RS256', 'RSA 2048', { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-384' }, ['verify']],
    ['on another curve', 'ES256', 'P-384', { name: 'ECDSA', namedCurve: 'P-384' }, ['verify']],
    ['for an agreement', 'ES256', 'P-256', { name: 'ECDH', namedCurve: 'P-256' }, []],
  ] as const)('%s', async (_what, alg, name, algorithm, usages) => {
    const token = readToken(tokenOf({ alg }, alg, name));
    const key = await crypto.subtle.importKey('jwk', published(name), algorithm, true, usages);
    expect(await hasKnownSignature(token, () => Promise.resolve(key))).toBe(false);
  });
});

it('nothing is known of claims that are no object', async () => {
  const signed = `${encode({ alg: 'RS256' })}.${encode(['user_1'])}`;
  const signature = sign('sha256', Buffer.from(signed), pairs['RSA 2048'].privateKey).toString('base64url');
  expect(await judge(`${signed}.${signature}`, published('RSA 2048'))).toEqual([false, false]);
});

it('a signature of another key of the same kind is not known', async () => {
  const other = { ...rsa(2048).publicKey.export({ format: 'jwk' }) };
  expect(await judge(tokenOf({ alg: 'RS256' }, 'RS256', 'RSA 2048'), other)).toEqual([false, false]);
});

it('nothing is known of a token with one changed byte', async () => {
  const token = tokenOf({ alg: 'ES256' }, 'ES256', 'P-256');
  for (let at = 0; at < token.length; at += 7) {
    const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
    expect((await judge(changed, published('P-256')))[0]).toBe(false);
  }
});
