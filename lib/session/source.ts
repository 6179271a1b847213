import { cookieBytes } from '../tools/cookie-chunks.ts';
import { deepFreeze, defined } from '../tools/json.ts';
import type { CookieFinder, CookieWrite, RequestCookies } from '../tools/cookies.ts';
import type { Token } from './jwt.ts';
import type { AdapterName, Session } from '../types.ts';
import type { Allowance } from './allowance.ts';
import type { SessionFacts } from './ended/record.ts';
import type { Emit } from './events.ts';
import { AuthError } from '../errors.ts';

/** The content of a cookie, opened but not verified. `Content` is the adapter's own type. */
export interface StoredSession<Content> extends SessionFacts {
  readonly content: Content;
  readonly refreshToken: string;
  /** The lifetime of its access tokens (`exp - iat`), in milliseconds. */
  readonly tokenLifetimeMs: number;
  /** The parsed access token of `content`. */
  readonly token: Token;
}

/** A stored session together with the raw cookie value it came from. */
export interface Candidate<Content> extends StoredSession<Content> {
  readonly cookie: string;
}

/**
 * The result of reading the request's cookies; duplicates may hold several sessions, and the first live one is used. `unreadable`:
 * none of them is a session of this application, so they are left to the one that wrote them.
 * `isKept`: no cookie is deleted, because not all were read.
 */
export type ReadOutcome<Content> =
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable'; readonly reason: string }
  | { readonly kind: 'stored'; readonly candidates: readonly Candidate<Content>[]; readonly isKept?: boolean };

/** The result of verification; it throws AuthError `provider_unavailable` where keys are needed and unavailable. */
export type Verdict<S extends Session = Session> =
  | {
      readonly kind: 'live';
      readonly session: S;
      /** Milliseconds since the epoch, where the session ends before its token does. */
      readonly validUntil?: number;
      /** From when on its token is renewed before it is used, in milliseconds since the epoch. Default: by its expiry alone. */
      readonly renewalDueAt?: number;
    }
  | { readonly kind: 'expired' }
  /** Neither this process nor the issuer can verify the token (any more); its refresh token may prove it. */
  | { readonly kind: 'unverifiable' }
  | {
      readonly kind: 'invalid';
      readonly reason: string;
      /** Whether it was a session of this application and is over. Any other token may be another application's. */
      readonly isOver?: boolean;
      /** Whether it has reached its lifetime. */
      readonly isAged?: boolean;
    };

/** How long sessions last, by the times of their tokens. */
export interface Lifetime {
  /** When the session is over unless its token is renewed, in milliseconds since the epoch. */
  endOf(ages: Pick<SessionFacts, 'beganAt' | 'issuedAt'>): number;
  /** Why it is over; `undefined` where it is not. */
  overBy(ages: Pick<SessionFacts, 'beganAt' | 'issuedAt'>): string | undefined;
  /** From when on a session in use renews its token, in milliseconds since the epoch. */
  renewalDueAt(ages: Pick<SessionFacts, 'issuedAt'>): number;
}

/** The client data that the provider receives: for its audit log, its risk checks and its rate limits. */
export interface ClientFacts {
  readonly ipAddress?: string;
  readonly userAgent?: string;
}

/** The source of a token: issued just now by the provider, or a request with its allowance for provider calls. */
export type TokenOrigin = 'provider' | Pick<Allowance, 'spend'>;

/**
 * Verifies a browser's session, which may have reached its lifetime. One session object serves many requests, so it is frozen: one
 * handler's change must not affect another's.
 */
export async function verifyStored<Content, S extends Session = Session>(
  source: LimitedSource<Content, S>,
  stored: StoredSession<Content>,
  origin: TokenOrigin,
): Promise<Verdict<S>> {
  const verdict = limited(source, stored, await source.verify(stored.content, origin, stored.token));
  if (verdict.kind === 'live') deepFreeze(verdict.session);
  return verdict;
}

type LimitedSource<Content, S extends Session> = Pick<SessionSource<Content, S>, 'isSealed' | 'lifetime' | 'verify'>;

function limited<Content, S extends Session>(
  { lifetime, isSealed }: LimitedSource<Content, S>,
  { beganAt, issuedAt }: StoredSession<Content>,
  verdict: Verdict<S>,
): Verdict<S> {
  if (lifetime === undefined || verdict.kind === 'invalid') return verdict;
  // Another SDK that reseals a session drops its start.
  const ages = { issuedAt, beganAt: isSealed && beganAt === 0 ? Infinity : beganAt };
  const reason = lifetime.overBy(ages);
  // Anyone can make up an old token that neither side can verify: it is no session, and its cookie stays.
  if (reason !== undefined)
    return { kind: 'invalid', reason, isAged: true, isOver: isSealed || verdict.kind !== 'unverifiable' };
  if (verdict.kind !== 'live') return verdict;
  const session = Object.assign(verdict.session, {
    expiresAt: Math.min(verdict.session.expiresAt, lifetime.endOf(ages)),
  });
  return { ...verdict, session, renewalDueAt: lifetime.renewalDueAt(ages) };
}

/** Why a token is invalid, for events. */
export function verdictReason(verdict: Verdict): string {
  return verdict.kind === 'invalid' ? verdict.reason : verdict.kind;
}

/**
 * The provider's answer to a refresh. `unanswered`: the connection failed, so the token may be spent, and the same token can be
 * resent within the provider's replay window. Every other failure without a definitive answer is thrown and ends no session.
 */
export type RefreshOutcome<Content> =
  | { readonly kind: 'renewed'; readonly content: Content }
  | { readonly kind: 'ended'; readonly reason: string }
  | { readonly kind: 'unanswered'; readonly cause: unknown };

/**
 * A refresh with a further request, such as for another organization. It replaces the ordinary
 * refresh, so every request that waits for the token gets its result.
 */
export interface RefreshVariant<Content> {
  /** In one process, requests for a variant of the same name share a refusal. */
  readonly name: string;
  /** Whether the session already is in the requested state. */
  isReached(session: Session): boolean;
  /** @throws {VariantRefused} where the provider refuses the variant and the token is still valid */
  refresh(content: Content, signal: AbortSignal): Promise<RefreshOutcome<Content>>;
}

/**
 * The interface between an adapter and the session logic. `read`, `write`, `clear` and the keys use no network.
 * `verify` may fetch signing keys or use the request's allowance. `refresh` is the only call that spends a token.
 */
export interface SessionSource<Content, S extends Session = Session> {
  readonly adapter: AdapterName;
  /** Whether only this application can create the cookie; a session from an unsealed one is untrusted until verified. */
  readonly isSealed: boolean;
  /**
   * Reads the raw `Cookie` header without a full parse: the text that would hold this adapter's
   * session, as a cache key. `undefined` where there is none or only a full parse can find it.
   */
  readonly findCookie: CookieFinder;
  /** Opens the sessions of this application, trying every candidate among duplicates and chunks. Never throws. */
  read(cookies: RequestCookies): ReadOutcome<Content> | Promise<ReadOutcome<Content>>;
  /**
   * `expired` is returned only for the provider's own tokens; an unverified one is `unverifiable` or `invalid`.
   *
   * @param token the same as `StoredSession.token`, where available
   */
  verify(content: Content, origin: TokenOrigin, token?: Token): Promise<Verdict<S>>;
  /**
   * Verifies an access token that a request carries without a cookie. Tokens of the issuer's other OAuth clients are accepted here.
   *
   * @throws {AuthError} `provider_unavailable` where only the provider can decide
   */
  verifyBearer(token: Token, origin: TokenOrigin): Promise<Verdict<S>>;
  /**
   * Verifies an access token for a protected resource (RFC 9728): one of the adapter's authorization server. `protectResource` judges
   * its audience, its client and its scopes.
   *
   * @throws {AuthError} likewise
   */
  verifyForResource(token: Token, origin: TokenOrigin): Promise<Verdict<S>>;
  /** One call to the provider within `signal`'s deadline. Throws AuthError `provider_unavailable` or `provider_refused`. */
  refresh(content: Content, signal: AbortSignal, client: ClientFacts): Promise<RefreshOutcome<Content>>;
  /** What the next sign-in has to name after a refresh ended the session for this reason, as parameters of its link. */
  signInAfter?(content: Content, reason: string): Readonly<Record<string, string>>;
  /** The session facts in a token's claims. */
  factsOf(claims: Token['claims']): SessionFacts;
  /** Omitted where sessions last as long as the provider renews them. */
  readonly lifetime?: Lifetime;
  /** The stored form of freshly issued tokens. */
  toStored(content: Content): StoredSession<Content>;
  /** `content` as text for other processes, and back; `undefined` where it is not the adapter's own. */
  serialize(content: Content): string;
  deserialize(text: string): Content | undefined;
  /** Bytes that `content` adds to the `Cookie` header of every later request, computed without sealing or writing it. */
  cookieBytes(content: Content): number | Promise<number>;
  /** `content` without the parts that this package does not read. */
  slim(content: Content): Content;
  /** Those of the cookies that hold these sessions. Others of the name are not ours, and stay where no route of ours replaces them. */
  holding(cookies: RequestCookies, sessions: readonly Pick<Candidate<Content>, 'cookie'>[]): RequestCookies;
  /** The cookies that hold `content`, of any size; what else of the name is in `cookies` is deleted. */
  write(content: Content, cookies: RequestCookies): Promise<readonly CookieWrite[]>;
  /** Deletes every cookie of the session's name in `cookies`. */
  clear(cookies: RequestCookies): readonly CookieWrite[];
}

/** Bytes of cookies above which an event warns the application. */
const largeSessionBytes = 8 * 1024;
/** Maximum bytes of a session's cookies: Node answers requests with more than 16 KB of headers with 431. */
const maxSessionBytes = 12 * 1024;

export type SessionWriter<Content> = ReturnType<typeof createSessionWriter<Content>>;

/** The only code that writes sessions to cookies, so that no browser gets a session that its next request cannot carry. */
export function createSessionWriter<Content>(source: SessionSource<Content>, emit: Emit) {
  /** Reports the size of newly issued tokens and returns whether they fit into cookies. Call it once per issue. */
  async function fits(content: Content, userId: string | undefined): Promise<boolean> {
    const bytes = await source.cookieBytes(content);
    if (bytes <= largeSessionBytes) return true;
    const least = bytes <= maxSessionBytes ? bytes : await source.cookieBytes(source.slim(content));
    if (least <= maxSessionBytes) {
      emit({ type: 'session_large', bytes });
      return true;
    }
    const { sessionId } = source.toStored(content);
    emit({ type: 'session_too_large', bytes: least, ...defined({ userId, sessionId }) });
    return false;
  }

  return {
    fits,
    /**
     * The cookies that hold `content`, or a slimmed version of it. Where that is also too large,
     * the cookies are deleted.
     */
    async write(content: Content, cookies: RequestCookies): Promise<readonly CookieWrite[]> {
      const whole = await source.write(content, cookies);
      if (cookieBytes(whole) <= maxSessionBytes) return whole;
      const slim = await source.write(source.slim(content), cookies);
      return cookieBytes(slim) <= maxSessionBytes ? slim : source.clear(cookies);
    },
  };
}

/** The session of a request's cookies, and the cookies for the response. */
export interface Resolution {
  readonly session: Session | null;
  readonly cookies: readonly CookieWrite[];
  /** Called when the response with the cookies was sent; until then the next request gets them, too. */
  readonly onDelivered?: () => void;
  /** Whether the cookies must still be sent; called when the head is sent, because a sign-out may have occurred meanwhile. */
  readonly isCurrent?: () => boolean;
  /** Asks the other processes what became of these tokens, so that `isCurrent` knows it. Absent without others. Never rejects. */
  readonly recheck?: () => Promise<unknown>;
  /** A refresh ahead of time that the request does not wait for. Never rejects. */
  readonly later?: Promise<Resolution | undefined>;
  /** Parameters of the link to the sign-in, where the ended session says what it has to name. */
  readonly signIn?: Readonly<Record<string, string>>;
}

export const signedOut: Resolution = { session: null, cookies: [] };

export function outOfTime(): AuthError {
  return new AuthError('provider_unavailable', { retryAfter: 5 });
}
