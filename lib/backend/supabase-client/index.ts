import type { IncomingMessage } from 'node:http';
import type * as SupabaseSsr from '@supabase/ssr';
import type { CookieOptions } from '@supabase/ssr';
import type { SupabaseClient } from '@supabase/supabase-js';
import type { CookieWrite, RequestCookies } from '../../tools/cookies.ts';
import { passedAs } from '../../http/passed-adapters.ts';
import { partKey } from '../../http/adapter.ts';
import { notMounted } from '../../http/get-session.ts';
import type { AuthRequest } from '../../http/request.ts';
import { keepPrivate } from '../../http/message.ts';
import type { BackendSession, Session } from '../../types.ts';
import { endingHere } from './sign-out.ts';
import { forwarding } from '../supabase/connection.ts';
import { backendPart } from '../context.ts';
import type { BackendContext } from '../context.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import { flowAttributes, jarOf } from '../../http/cookie-jar.ts';
import { verifierIn } from '../supabase/flow-cookies.ts';
import type { BackendSource } from '../supabase/session-source.ts';
import { farFuture } from '../supabase/supabase-call.ts';
import { readToken } from '../../session/jwt.ts';

/** The cookie helpers of the SDK. */
type Ssr = Pick<typeof SupabaseSsr, 'createChunks' | 'stringToBase64URL'>;

/** One client per request and adapter: two clients would each keep their own copy of the session. */
const clientPart = partKey<{ readonly of: Session | 'cookie'; readonly client: Promise<SupabaseClient> }>('client');

/**
 * The request's own Supabase client: it acts as the signed-in user, or anonymously without a session, so row-level security
 * applies. It is created on first use, once per request; the response's cookies carry what its `auth` stores. In `onSignIn` it acts as
 * the new user; as with a bearer token, it has no `auth`, refreshes nothing and writes no cookie.
 *
 * @throws {ConfigurationError} when `backendAuth` was not mounted before
 * @throws {AuthError} `provider_unavailable` (503) when the access token has expired and the backend is out of reach
 * @example const { data } = await (await getSupabaseClient(req)).from('notes').select();
 */
export function getSupabaseClient(req: IncomingMessage): Promise<SupabaseClient>;
export function getSupabaseClient<Database>(req: IncomingMessage): Promise<SupabaseClient<Database>>;
export async function getSupabaseClient(req: IncomingMessage): Promise<SupabaseClient> {
  const [request] = passedAs(req, 'backend', 'getSupabaseClient');
  if (request === undefined) throw notMounted('getSupabaseClient', 'backend', req);
  const of = tokenHolder(request) ?? 'cookie';
  let made = request.parts.find(clientPart);
  if (made?.of !== of) {
    const client =
      of === 'cookie'
        ? request.resolveSession().then((session) => createUserClient(request, session))
        : createTokenClient(request, of);
    made = request.parts.set(clientPart, { of, client });
  }
  keepPrivate(request.res);
  jarOf(request.res).dependOnSession();
  return made.client;
}

/** The session whose token no cookie of the browser holds: of the sign-in under way, or one that a guard has accepted as a bearer's. */
function tokenHolder(request: AuthRequest): Session | undefined {
  if (request.signingIn !== undefined) return request.signingIn;
  const session = request.cachedSession();
  return session?.credential === 'bearer' ? session : undefined;
}

async function createUserClient(request: AuthRequest, session: Session | null): Promise<SupabaseClient> {
  const backend = request.definition.parts.get(backendPart);
  const { settings, cookie, source, writer, resolver } = backend;
  // Loaded with the first client, so that the SDK does not delay the application's start.
  const ssr = await import('@supabase/ssr');
  const { cookies } = request;
  const verified = session?.adapter === 'backend' ? session : undefined;
  const content = verified === undefined ? undefined : storedContent(source, verified);
  const jar = new Map(initialCookies(ssr, cookies, cookie.name, content));
  const verifierAttributes = flowAttributes(request.definition.cookieOptions.sameSite);
  /** What the SDK has stored last. */
  let held = content;

  // Its type and supabase-js' type are too deep for the compiler to compare; they are the same class.
  const client: unknown = ssr.createServerClient(settings.url, settings.anonKey, {
    cookieOptions: { name: cookie.name },
    global: { fetch: endingHere(backend, request, forwarding(settings, request.peer)) },
    cookies: {
      getAll: () => [...jar].map(([name, value]) => ({ name, value })),
      // It must never throw: the SDK also calls it from promises that are never awaited, perhaps long after the response.
      setAll: async (changes: readonly { name: string; value: string; options: CookieOptions }[]) => {
        applyTo(jar, changes);
        await deliver(changes.map(({ name, value }) => ({ name, value: value === '' ? undefined : value })));
      },
    },
  });
  // The SDK would warn that the user of `getSession()` is unverified; this one is verified.
  Reflect.set((client as SupabaseClient).auth, 'suppressGetSessionWarning', true);
  return client as SupabaseClient;

  async function deliver(changes: readonly CookieWrite[]): Promise<void> {
    try {
      const isSession = ({ name }: CookieWrite): boolean => ssr.isChunkLike(name, cookie.name);
      const others = changes.filter((change) => !isSession(change));
      request.writeCookies(others.map((change) => ({ ...change, attributes: verifierAttributes })));
      if (!changes.some(isSession)) return;
      const writes = await sessionWrites();
      const stored = held === undefined || isDeletion(writes) ? undefined : source.toStored(held);
      request.writeCookies(writes, resolver.deliveryOf(stored));
    } catch {
      // A cookie that cannot be written loses the change, but must not crash the process.
    }
  }

  /** Session changes by the SDK (a new factor, an updated user, a sign-out), written by the shared session writer. */
  async function sessionWrites(): Promise<readonly CookieWrite[]> {
    const text = await ssr.combineChunks(cookie.name, (name) => jar.get(name) ?? null);
    const [changed] = text === null ? [] : cookie.read(new Map([[cookie.name, [text]]])).sessions;
    // A sign-in or a sign-out during this request takes precedence; the SDK also removes what it ended at the backend.
    if (verified !== undefined && (await hasEnded(backend, verified, changed === undefined))) return [];
    if (changed === undefined) return (await resolver.signOut(request.req.headers.cookie, request.peer)).cookies;
    const stored = withOwnExpiry(changed.content);
    if (stored.access_token !== held?.access_token) {
      if (held !== undefined) resolver.noteExchanged(source.toStored(held), source.toStored(stored));
      held = stored;
      await writer.fits(stored, session?.user.id);
    }
    return writer.write(stored, cookies);
  }
}

/** @param isRemoved whether the SDK removes it: where that ended all of the user's sessions, its cookies are still to be deleted */
async function hasEnded(
  { resolver, source }: BackendContext,
  session: BackendSession,
  isRemoved: boolean,
): Promise<boolean> {
  if (!isRemoved) return resolver.hasEnded(session);
  return (await resolver.signOutOf(source.factsOf(session.claims).sessionId)) !== undefined;
}

function applyTo(
  jar: Map<string, string>,
  changes: readonly { readonly name: string; readonly value: string }[],
): void {
  for (const { name, value } of changes) {
    if (value === '') jar.delete(name);
    else jar.set(name, value);
  }
}

/** Acts with one access token, which is neither stored nor renewed; the client's `auth` cannot be used. */
async function createTokenClient({ definition, peer }: AuthRequest, { accessToken }: Session): Promise<SupabaseClient> {
  const { createClient } = await import('@supabase/supabase-js');
  const { settings } = definition.parts.get(backendPart);
  return createClient(settings.url, settings.anonKey, {
    accessToken: () => Promise.resolve(accessToken),
    global: { fetch: forwarding(settings, peer) },
  });
}

/** The cookie's tokens with a `user` built from the verified claims: the `user` in the cookie is unsigned. */
function storedContent(source: BackendSource, session: BackendSession): StoredContent | undefined {
  const content = source.contentOf(session);
  const { sub: id, aud, role, email, phone, app_metadata, user_metadata, is_anonymous } = session.claims;
  const user = { id, aud, role, email, phone, app_metadata, user_metadata, is_anonymous };
  return content === undefined ? undefined : { ...content, user };
}

/** The cookies for the SDK: the verified session, if any, and the verifiers of sign-ins. */
function initialCookies(
  { createChunks, stringToBase64URL }: Ssr,
  cookies: RequestCookies,
  name: string,
  content: StoredContent | undefined,
): (readonly [string, string])[] {
  const verifiers = [...cookies].flatMap(([present, values]) => {
    const verifier = verifierIn(name, present, values);
    return verifier === undefined ? [] : [[present, verifier] as const];
  });
  if (content === undefined) return verifiers;
  // The adapter has already renewed the session where due; with the real expiry the SDK would refresh it again.
  const text = JSON.stringify({ ...content, expires_at: farFuture });
  const chunks = createChunks(name, `base64-${stringToBase64URL(text)}`);
  return [...verifiers, ...chunks.map((chunk) => [chunk.name, chunk.value] as const)];
}

function withOwnExpiry(content: StoredContent): StoredContent {
  const { exp } = readToken(content.access_token).claims;
  return typeof exp === 'number' ? { ...content, expires_at: exp } : content;
}

function isDeletion(writes: readonly CookieWrite[]): boolean {
  return writes.every(({ value }) => value === undefined);
}
