import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sealData } from 'iron-session';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { JWK } from 'jose';

/** The data of every measured server: provider, keys and cookies of this run. Everything is plain data. */
export interface Fixtures {
  /** Where the stand-in of both providers listens. */
  readonly host: string;
  readonly port: number;
  readonly clientId: string;
  readonly apiKey: string;
  readonly password: string;
  readonly anonKey: string;
  readonly userId: string;
  /** The content of the seals: tokens and user as WorkOS returns them. */
  readonly b2bContent: object;
  /** `b2b-session=…`, an iron seal as WorkOS' SDKs write it. */
  readonly b2bCookie: string;
  /** The same session, sealed separately for each user. */
  readonly b2bCookies: readonly string[];
  /** By the size of the `Cookie` header in KB: the session, preceded by as many other cookies as needed. */
  readonly paddedCookies: Readonly<Record<number, string>>;
  /** `sb-127-auth-token=base64-…` as @supabase/ssr writes it. */
  readonly backendCookie: string;
}

/** Kilobytes. The smallest possible seal of WorkOS' SDKs has 1.2 of them and counts as 1. */
export const cookieKilobytes = [1, 2, 4, 8, 12, 16] as const;

const clientId = 'client_01BENCH0000000000000000000';
const userId = 'user_01BENCH00000000000000000000';
const supabaseUserId = randomUUID();
const oneDay = 24 * 60 * 60;

export interface RunningFixtures {
  readonly fixtures: Fixtures;
  close(): void;
}

/** @param visitors the number of different B2B session cookies */
export async function startFixtures(visitors: number): Promise<RunningFixtures> {
  const workosKey = await signingKey('RS256');
  const supabaseKey = await signingKey('ES256');
  const supabaseUser = userOfSupabase();

  const server = createServer((req, res) => {
    const path = req.url ?? '';
    const body = path.startsWith('/sso/jwks/')
      ? { keys: [workosKey.jwk] }
      : path.startsWith('/auth/v1/.well-known/jwks.json')
        ? { keys: [supabaseKey.jwk] }
        : path.startsWith('/auth/v1/user')
          ? supabaseUser
          : undefined;
    res.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    res.end(JSON.stringify(body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  const password = randomBytes(32).toString('base64');
  const session = await workosSession(workosKey);
  const sealed = async (content: object): Promise<string> =>
    `b2b-session=${await sealData(content, { password: { 1: password }, ttl: 0 })}`;
  const b2bCookies: string[] = [];
  for (let made = 0; made < visitors; made += 1) b2bCookies.push(await sealed(session));
  const b2bCookie = b2bCookies[0] ?? (await sealed(session));
  const smallCookie = await sealed(await smallSession(workosKey));
  return {
    fixtures: {
      host: '127.0.0.1',
      port,
      clientId,
      apiKey: `sk_bench_${randomBytes(16).toString('hex')}`,
      password,
      anonKey: `sb_publishable_${randomBytes(16).toString('hex')}`,
      userId,
      b2bContent: session,
      b2bCookie,
      b2bCookies,
      paddedCookies: Object.fromEntries(
        cookieKilobytes.map((size) => [size, padded(size * 1024 < b2bCookie.length ? smallCookie : b2bCookie, size)]),
      ),
      backendCookie: await supabaseCookie(supabaseKey, port, supabaseUser),
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface SigningKey {
  readonly jwk: JWK;
  sign(claims: Readonly<Record<string, unknown>>): Promise<string>;
}

async function signingKey(alg: 'RS256' | 'ES256'): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  const kid = randomUUID();
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    sign: (claims) => new SignJWT({ ...claims }).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(privateKey),
  };
}

/** Access token, user and organization as WorkOS returns them. */
async function workosSession(key: SigningKey): Promise<object> {
  const now = Math.trunc(Date.now() / 1000);
  return {
    accessToken: await key.sign({
      iss: `https://api.workos.com/user_management/${clientId}`,
      sub: userId,
      sid: 'session_01BENCH000000000000000000',
      jti: '01BENCH0000000000000000000',
      org_id: 'org_01BENCH000000000000000000000',
      role: 'member',
      roles: ['member'],
      permissions: ['posts:read', 'posts:write', 'settings:read'],
      client_id: clientId,
      iat: now,
      exp: now + oneDay,
    }),
    refreshToken: randomBytes(19).toString('base64url'),
    user: {
      object: 'user',
      id: userId,
      email: 'ada.lovelace@example.com',
      emailVerified: true,
      profilePictureUrl: 'https://workoscdn.com/images/v1/bench-bench-bench-bench-bench',
      firstName: 'Ada',
      lastName: 'Lovelace',
      lastSignInAt: '2026-01-01T08:00:00.000Z',
      locale: null,
      createdAt: '2025-01-01T08:00:00.000Z',
      updatedAt: '2026-01-01T08:00:00.000Z',
      externalId: null,
      metadata: {},
    },
    authenticationMethod: 'SSO',
    organizationId: 'org_01BENCH000000000000000000000',
  };
}

/** The minimum that a session needs. */
async function smallSession(key: SigningKey): Promise<object> {
  const exp = Math.trunc(Date.now() / 1000) + oneDay;
  const accessToken = await key.sign({ sub: userId, sid: 'session_01BENCH000000000000000000', exp });
  return {
    accessToken,
    refreshToken: randomBytes(19).toString('base64url'),
    user: { id: userId, email: 'a@example.com' },
  };
}

function userOfSupabase(): Readonly<Record<string, unknown>> {
  return {
    id: supabaseUserId,
    aud: 'authenticated',
    role: 'authenticated',
    email: 'ada.lovelace@example.com',
    email_confirmed_at: '2026-01-01T08:00:00.000Z',
    phone: '',
    confirmed_at: '2026-01-01T08:00:00.000Z',
    last_sign_in_at: '2026-01-01T08:00:00.000Z',
    app_metadata: { provider: 'email', providers: ['email'] },
    user_metadata: { email: 'ada.lovelace@example.com', email_verified: true, sub: supabaseUserId },
    identities: [],
    created_at: '2025-01-01T08:00:00.000Z',
    updated_at: '2026-01-01T08:00:00.000Z',
    is_anonymous: false,
  };
}

async function supabaseCookie(key: SigningKey, port: number, user: Readonly<Record<string, unknown>>): Promise<string> {
  const now = Math.trunc(Date.now() / 1000);
  const { app_metadata, user_metadata, email, phone } = user;
  const session = {
    access_token: await key.sign({
      iss: `http://127.0.0.1:${port}/auth/v1`,
      sub: supabaseUserId,
      aud: 'authenticated',
      role: 'authenticated',
      aal: 'aal1',
      amr: [{ method: 'password', timestamp: now }],
      session_id: randomUUID(),
      is_anonymous: false,
      email,
      phone,
      app_metadata,
      user_metadata,
      iat: now,
      exp: now + oneDay,
    }),
    token_type: 'bearer',
    expires_in: oneDay,
    expires_at: now + oneDay,
    refresh_token: randomBytes(9).toString('base64url'),
    user,
  };
  const value = `base64-${Buffer.from(JSON.stringify(session)).toString('base64url')}`;
  return chunked('sb-127-auth-token', value)
    .map(([name, chunk]) => `${name}=${chunk}`)
    .join('; ');
}

/** 3,180 characters to a chunk: @supabase/ssr's own size. */
function chunked(name: string, value: string): [string, string][] {
  if (value.length <= 3180) return [[name, value]];
  const count = Math.ceil(value.length / 3180);
  return Array.from({ length: count }, (_, index) => [
    `${name}.${index}`,
    value.slice(index * 3180, (index + 1) * 3180),
  ]);
}

function padded(cookie: string, kilobytes: number): string {
  const missing = kilobytes * 1024 - cookie.length;
  if (missing < 20) return cookie;
  const others: string[] = [];
  for (let left = missing; left > 20; left -= 512) {
    const name = `other${others.length}`;
    others.push(`${name}=${'x'.repeat(Math.max(1, Math.min(512, left) - name.length - 3))}`);
  }
  return `${others.join('; ')}; ${cookie}`;
}
