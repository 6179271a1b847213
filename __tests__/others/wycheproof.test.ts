import { createPrivateKey, sign as signBytes } from 'node:crypto';
import type { JsonWebKey, KeyObject } from 'node:crypto';
import { compactVerify } from 'jose';
import { sealData } from 'iron-session';
import { b2bAuth, backendAuth, protectResource, requireSession } from '../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import { hasKnownSignature, readToken } from '../../lib/session/jwt.ts';
import { createKeySet } from '../../lib/session/keys.ts';
import { encodeSession } from '../support/backend-app.ts';
import { hosts, sendText } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';
import { send } from '../support/visitor.ts';
import { casesNamed } from './proof.ts';
import keyFile from './data/wycheproof/json_web_key_test.json' with { type: 'json' };
import signatureFile from './data/wycheproof/json_web_signature_test.json' with { type: 'json' };

interface Vector {
  readonly id: string;
  readonly jws: string;
  readonly isValid: boolean;
}

interface Group {
  readonly name: string;
  /** What the issuer publishes: also the shared secrets, which no issuer should. */
  readonly keys: readonly Record<string, unknown>[];
  readonly privateKeys: readonly Record<string, unknown>[];
  readonly vectors: readonly Vector[];
}

const groups: readonly Group[] = [signatureFile, keyFile].flatMap(({ testGroups }, file) =>
  testGroups.map((group: any, index) => {
    const kind = file === 0 ? 'signature' : 'key';
    const privateKeys = group.private.keys ?? [group.private];
    return {
      name: `${kind} group ${index + 1}, ${group.comment}`,
      keys: group.public === undefined ? privateKeys : (group.public.keys ?? [group.public]),
      privateKeys,
      vectors: group.tests.map(({ tcId, jws, result }: any) => ({
        id: `${kind} ${tcId}`,
        jws,
        isValid: result === 'valid',
      })),
    };
  }),
);
const vectors = groups.flatMap((group) => group.vectors.map((vector) => ({ ...vector, group })));

const now = (): number => Date.now();

const keySetOf = ({ keys }: Group) =>
  createKeySet({ url: 'https://issuer.test/jwks', now, fetch: async () => Response.json({ keys }) });

/** Vectors that Wycheproof takes and we refuse, and why. */
const refused: readonly (readonly [reason: string, ids: readonly string[]])[] = [
  [
    'are signed with a shared secret, which no published key is',
    [
      ...['signature 1', 'signature 348', 'signature 352', 'key 2', 'key 13', 'key 14', 'key 15'],
      ...[357, 358, 359, 372, 373, 376, 377].map((id) => `signature ${id}`),
    ],
  ],
  ['have another algorithm than their key names', ['signature 346', 'signature 350']],
  ['have a key for ES521, which RFC 7518 does not know', ['signature 347', 'signature 351']],
];
/** Keys that Wycheproof refuses and we take: only the provider publishes keys, and the weak one is its own. */
const taken = ['key 7', 'key 9'];

it('the files hold as many vectors as docs/contributing/proofs.md says', () => {
  expect(signatureFile.numberOfTests + keyFile.numberOfTests).toBe(vectors.length);
  expect(casesNamed('Wycheproof')).toBe(vectors.length);
});

it('a published key verifies the valid signatures and no other ones, by our way and by jose’s', async () => {
  const byUs: string[] = [];
  const byJose: string[] = [];
  for (const { id, jws, group } of vectors) {
    const { getKey } = keySetOf(group);
    // The payloads are no claims: only the signature is judged here.
    const token = { ...readToken(jws), isCompact: /^[\w-]+\.[\w-]*\.[\w-]+$/.test(jws) };
    if (await isFulfilled(compactVerify(jws, getKey))) byJose.push(id);
    if (await hasKnownSignature(token, getKey).catch(() => false)) byUs.push(id);
  }
  const notTaken = refused.flatMap(([, ids]) => ids);
  const expected = vectors.filter(({ id, isValid }) => (isValid && !notTaken.includes(id)) || taken.includes(id));
  expect(byJose).toEqual(expected.map(({ id }) => id));
  expect(byUs).toEqual(expected.filter(({ jws }) => isOurs(jws)).map(({ id }) => id));
});

/** Ours are RS256 and ES256 without extensions; jose judges the other ones. */
function isOurs(jws: string): boolean {
  const { header } = readToken(jws);
  return (header['alg'] === 'RS256' || header['alg'] === 'ES256') && !('crit' in header || 'b64' in header);
}

function isFulfilled(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

const adapters = ['b2b', 'backend'] as const;
const ways = ['bearer token', 'token of a resource', 'cookie'] as const;
const cookiePassword = 'only for this test, and long enough';
const user = { id: 'c0ffee00-0000-4000-8000-000000000000', email: 'ada@example.com' };
const kits = { b2b: createB2bTestKit({ cookiePassword }), backend: createBackendTestKit() };

/** Both adapters, whose providers publish these keys and refuse every refresh. */
async function startApp(keys: readonly unknown[]): Promise<RunningServer> {
  const fetch = async (input: unknown): Promise<Response> => {
    if (String(input instanceof Request ? input.url : input).includes('jwks')) return Response.json({ keys });
    return Response.json({ error: 'invalid_grant', code: 'refresh_token_not_found' }, { status: 400 });
  };
  const auths = {
    b2b: b2bAuth({ ...kits.b2b.options, sessionPath: '/b2b/session', fetch }),
    backend: backendAuth({ ...kits.backend.options, fetch }),
  };
  const host = hosts['Express 5']();
  for (const adapter of adapters) {
    host.use('/', auths[adapter]);
    const needed = adapter === 'backend' ? { audience: 'authenticated' } : {};
    host.use(protectResource(auths[adapter], { path: `/${adapter}/resource`, clients: 'any', ...needed }) as never);
    host.get(`/${adapter}/resource`, (_req, res) => sendText(res, 'in'));
    const guard = requireSession({ adapter, credentials: ['cookie', 'bearer'] });
    host.get(`/${adapter}/guarded`, guard, (_req, res) => sendText(res, 'in'));
  }
  return serve(host.listener);
}

async function cookieOf(adapter: (typeof adapters)[number], token: string): Promise<string> {
  if (adapter === 'b2b') {
    const content = { accessToken: token, refreshToken: 'spent', user };
    return `${kits.b2b.options.cookieName}=${await sealData(content, { password: cookiePassword, ttl: 0 })}`;
  }
  const session = { access_token: token, refresh_token: 'spent', token_type: 'bearer', expires_at: 1, user };
  return `${kits.backend.options.cookieName}=${encodeSession(session)}`;
}

/** The status of the answer to a token. */
async function ask(
  { origin }: RunningServer,
  adapter: (typeof adapters)[number],
  way: (typeof ways)[number],
  token: string,
): Promise<number> {
  const headers = way === 'cookie' ? { cookie: await cookieOf(adapter, token) } : { authorization: `Bearer ${token}` };
  const url = new URL(`/${adapter}/${way === 'token of a resource' ? 'resource' : 'guarded'}`, origin);
  return (await send(url, { headers: { ...headers, accept: 'application/json' } })).status;
}

describe.each(ways)('as a %s', (way) => {
  it.each(adapters)('of %s, no vector is a session, and none is an error', async (adapter) => {
    const statuses = new Set<number>();
    for (const { keys, vectors: own } of groups) {
      const app = await startApp(keys);
      for (const { jws } of own) statuses.add(await ask(app, adapter, way, jws));
      await app.close();
    }
    expect([...statuses]).toEqual([401]);
  });
});

const intact = new Map<unknown, KeyObject>();
for (const key of groups.flatMap(({ privateKeys }) => privateKeys)) {
  if (key['d'] === undefined || intact.has(key['d'])) continue;
  intact.set(key['d'], createPrivateKey({ key: key as JsonWebKey, format: 'jwk' }));
}

/** The groups whose private key can sign as the header of their vectors says. */
const signing = groups.flatMap(({ name, keys, privateKeys, vectors: [vector] }) => {
  const { alg, kid } = readToken(vector?.jws ?? '').header as { readonly alg?: string; readonly kid?: string };
  const d = privateKeys.find((candidate) => candidate['kid'] === kid)?.['d'];
  if (vector === undefined || d === undefined || (alg !== 'RS256' && alg !== 'ES256')) return [];
  // Broken keys are copies of an intact one.
  const key = intact.get(d);
  const isGood = taken.includes(vector.id) || (vector.isValid && !refused.some(([, ids]) => ids.includes(vector.id)));
  return [{ name, keys, key, alg, kid, isGood }];
});

/** A token of a signed-in user, signed with a private key of the vectors. */
function tokenOf(adapter: (typeof adapters)[number], { key, alg, kid }: (typeof signing)[number]): string {
  const at = Math.floor(now() / 1000);
  const claims = {
    b2b: { sub: user.id, sid: 'session_1', iat: at - 60, exp: at + 300 },
    backend: {
      ...{ iss: `${kits.backend.options.url}/auth/v1`, sub: user.id, aud: 'authenticated', role: 'authenticated' },
      ...{ session_id: user.id, email: user.email, iat: at - 60, exp: at + 300, is_anonymous: false, aal: 'aal1' },
    },
  };
  const encoded = [{ alg, ...(kid === undefined ? {} : { kid }) }, claims[adapter]].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signed = encoded.join('.');
  const signature = signBytes('sha256', Buffer.from(signed), { key: key!, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

describe.each(signing)('$name: a user’s token that its private key signed', (group) => {
  it.each(adapters)(`is ${group.isGood ? 'a session' : 'refused'} at %s`, async (adapter) => {
    const app = await startApp(group.keys);
    const token = tokenOf(adapter, group);
    const expected = group.isGood ? 200 : 401;
    for (const way of ['bearer token', 'cookie'] as const)
      expect([way, await ask(app, adapter, way, token)]).toEqual([way, expected]);
    await app.close();
  });
});
