import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSlot } from '../core/slot.ts';
import { ConfigurationError } from '../errors.ts';
import type { AdapterName, Session, SessionOf } from '../types.ts';
import type { Adapter } from './adapter.ts';
import { createCookieJar } from './cookie-jar.ts';
import type { CookieJar, Delivery } from './cookie-jar.ts';
import type { Resolution } from '../session/sessions.ts';
import { isHeadOpen, keepPrivate } from './reply.ts';
import { clientFacts, peerAddress, protocolOf } from './request.ts';
import { parseCookies } from '../core/cookies.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import { readHostCookies, toHostCookie } from './host-cookies.ts';

/** One adapter as one request meets it: its session is resolved once, on first need. */
export class MountedAdapter {
  readonly definition: Adapter;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The mount path, `''` at the root. */
  readonly prefix: string;
  /** The adapter that the request passed after this one. */
  following: MountedAdapter | undefined;
  /** Whether a guard of this adapter has let the request pass. */
  isGuarded = false;
  #cookies: RequestCookies | undefined;
  #session: Session | undefined;
  #resolution: Promise<Session | null> | undefined;

  constructor(definition: Adapter, req: IncomingMessage, res: ServerResponse, prefix: string) {
    this.definition = definition;
    this.req = req;
    this.res = res;
    this.prefix = prefix;
  }

  /** The address that calls to the provider for tokens that were not verified count under. */
  get peer(): string | undefined {
    return this.definition.clientAddress?.(this.req) ?? peerAddress(this.req);
  }

  /** Every value of every cookie, those of a sign-in under way by the names that the adapter knows. */
  get cookies(): RequestCookies {
    return (this.#cookies ??= readHostCookies(parseCookies(this.req.headers.cookie), this.definition, this.#isSecure));
  }

  get #isSecure(): boolean {
    const { appBaseUrl, cookieOptions } = this.definition;
    if (cookieOptions.secure !== undefined) return cookieOptions.secure;
    return appBaseUrl === undefined ? protocolOf(this.req) === 'https' : appBaseUrl.startsWith('https:');
  }

  /** The session, if it is known or costs no more than a look-up. */
  cachedSession(): Session | undefined {
    if (this.#resolution !== undefined) return this.#session;
    return (this.#session ??= this.definition.resolver.cachedSession(this.req.headers.cookie));
  }

  /** @throws {AuthError} when the provider is needed and out of reach */
  resolve(): Promise<Session | null> {
    return (this.#resolution ??= this.#resolve());
  }

  writeCookies(writes: readonly CookieWrite[], delivery: Omit<Delivery, 'onLost'> = {}): void {
    if (writes.length === 0) return;
    const { cookieOptions, emit } = this.definition;
    const secure = this.#isSecure;
    const named = writes.map((write) => toHostCookie(write, this.definition, secure));
    const onLost = (names: readonly string[]): void => emit({ type: 'cookie_lost', names });
    jarOf(this.res).write(named, { secure, ...cookieOptions }, { ...delivery, onLost });
  }

  async #resolve(): Promise<Session | null> {
    const known = this.cachedSession();
    if (known !== undefined) return known;
    const { resolver } = this.definition;
    const resolution = await resolver.resolve(
      this.req.headers.cookie,
      () => !isHeadOpen(this.res),
      clientFacts(this.req, this.peer),
    );
    this.#deliver(resolution);
    this.#session = resolution.session ?? undefined;
    if (resolution.later !== undefined) void this.#deliverLater(resolution.later);
    return resolution.session;
  }

  #deliver({ cookies, isCurrent, onDelivered }: Resolution): void {
    this.writeCookies(cookies, { isCurrent, onDelivered });
  }

  /** A refresh ahead of time rides along if it is back before the head is sent; else the next request gets it. */
  async #deliverLater(later: Promise<Resolution | undefined>): Promise<void> {
    try {
      const resolution = await later;
      if (resolution !== undefined && isHeadOpen(this.res)) this.#deliver(resolution);
    } catch (error) {
      this.definition.explain('refresh ahead of time failed: %s', String(error));
    }
  }
}

/**
 * The first adapter that the request has passed; the others follow it. Other code cannot reach it: whatever other code put on
 * `req` is never read, so never trusted.
 */
const contexts = createSlot<IncomingMessage, MountedAdapter>();

/** Puts the adapter's lazy context on the request; the same one when the request comes by again. */
export function attach(definition: Adapter, req: IncomingMessage, res: ServerResponse, prefix: string): MountedAdapter {
  let last: MountedAdapter | undefined;
  for (let known = contexts.get(req); known !== undefined; known = known.following) {
    if (known.definition === definition && known.prefix === prefix) return known;
    last = known;
  }
  const mounted = new MountedAdapter(definition, req, res, prefix);
  if (last === undefined) contexts.add(req, mounted);
  else last.following = mounted;
  return mounted;
}

const jars = createSlot<ServerResponse, CookieJar>();

function jarOf(res: ServerResponse): CookieJar {
  let jar = jars.get(res);
  if (jar === undefined) {
    jar = createCookieJar(res);
    jars.add(res, jar);
  }
  return jar;
}

/** The first adapter that this request has passed. */
export function firstMounted(req: IncomingMessage): MountedAdapter | undefined {
  return contexts.get(req);
}

/** The adapters that this request has passed, in mount order. */
export function mountedOn(req: IncomingMessage): readonly MountedAdapter[] {
  const passed: MountedAdapter[] = [];
  for (let mounted = firstMounted(req); mounted !== undefined; mounted = mounted.following) passed.push(mounted);
  return passed;
}

/** The adapter's context on this request; `undefined` where it has not been passed. */
export function mountedAdapter(req: IncomingMessage, adapter: AdapterName): MountedAdapter | undefined {
  return mountedOn(req).find((mounted) => mounted.definition.adapter === adapter);
}

/**
 * The session of whichever adapter is mounted, in mount order, or `null`. Resolved at most once per request.
 *
 * @throws {ConfigurationError} when no adapter was mounted before
 * @throws {AuthError} `provider_unavailable` (503) when the access token has expired and the provider is out of reach
 */
export async function getSession(req: IncomingMessage): Promise<Session | null>;
/**
 * The session of one adapter, or `null`.
 *
 * @param adapter asks this one only, and narrows the type
 * @throws {ConfigurationError} when it was not mounted before
 * @throws {AuthError} `provider_unavailable` (503) when the access token has expired and the provider is out of reach
 */
export async function getSession<A extends AdapterName>(req: IncomingMessage, adapter: A): Promise<SessionOf<A> | null>;
export async function getSession(req: IncomingMessage, adapter?: AdapterName): Promise<Session | null> {
  const asked = mountedOn(req).filter((mounted) => isAskedFor(mounted, adapter));
  if (asked.length === 0) throw notMounted('getSession', adapter);
  for (const mounted of asked) {
    const session = await mounted.resolve();
    if (session !== null) {
      keepPrivate(mounted.res);
      return session;
    }
  }
  return null;
}

/**
 * The session that a guard has let through: the same as `getSession`, without `await`, and never `null`.
 *
 * @throws {ConfigurationError} where no guard ran
 */
export function currentSession(req: IncomingMessage): Session;
/**
 * The session of one adapter that its guard has let through.
 *
 * @param adapter asks this one only, and narrows the type
 * @throws {ConfigurationError} where no guard of this adapter ran
 */
export function currentSession<A extends AdapterName>(req: IncomingMessage, adapter: A): SessionOf<A>;
export function currentSession(req: IncomingMessage, adapter?: AdapterName): Session {
  let guarded = firstMounted(req);
  while (guarded !== undefined && !(guarded.isGuarded && isAskedFor(guarded, adapter))) guarded = guarded.following;
  const session = guarded?.cachedSession();
  if (session === undefined) {
    throw new ConfigurationError('currentSession', [
      'no guard has let this request pass; put requireSession() or protectedRoutes in front of the handler, or use await getSession(req)',
    ]);
  }
  return session;
}

function isAskedFor(mounted: MountedAdapter, adapter: AdapterName | undefined): boolean {
  return adapter === undefined || mounted.definition.adapter === adapter;
}

export function notMounted(what: string, adapter: AdapterName | undefined): ConfigurationError {
  const name = adapter === 'b2b' ? 'b2bAuth()' : adapter === 'backend' ? 'backendAuth()' : 'b2bAuth() or backendAuth()';
  return new ConfigurationError(what, [`no adapter has seen this request; mount ${name} with app.use() before it`]);
}
