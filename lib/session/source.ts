import { cookieBytes } from '../core/cookie-chunks.ts';
import { deepFreeze, defined } from '../core/json.ts';
import type { CookieFinder, CookieWrite, RequestCookies } from '../core/cookies.ts';
import type { Token } from '../tokens/access-token.ts';
import { AuthError } from '../errors.ts';
import type { AdapterName, Session } from '../types.ts';
import type { Allowance } from './allowance.ts';
import type { SessionFacts } from './cutoffs.ts';
import type { Emit } from './events.ts';

/** What a cookie held, opened but not yet trusted. `Content` is the adapter's own. */
export interface StoredSession<Content> extends SessionFacts {
  readonly content: Content;
  readonly refreshToken: string;
  /** How long the provider makes its access tokens live (`exp - iat`), in milliseconds. */
  readonly tokenLifetimeMs: number;
  /** The access token of `content`, where reading it is worth doing once. */
  readonly token?: Token;
}

/** A stored session together with the raw cookie value it came from. */
export interface Candidate<Content> extends StoredSession<Content> {
  readonly cookie: string;
}

/**
 * What reading the request's cookies came to; duplicates may hold several sessions, the first live one counts. `isKept`: even if
 * there is no session here, nothing is deleted, as there is more than was read, or it may be another application's.
 */
export type ReadOutcome<Content> =
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable'; readonly reason: string; readonly isKept?: boolean }
  | { readonly kind: 'stored'; readonly candidates: readonly Candidate<Content>[]; readonly isKept?: boolean };

/** What verification says; it throws AuthError `provider_unavailable` when keys are needed and out of reach. */
export type Verdict<S extends Session = Session> =
  | {
      readonly kind: 'live';
      readonly session: S;
      /** Milliseconds since the epoch, where the session ends before its token does. */
      readonly validUntil?: number;
    }
  | { readonly kind: 'expired' }
  /** Nothing here or at the issuer (any more) can judge the token; its refresh token may prove it. */
  | { readonly kind: 'unverifiable' }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Who a request comes from, as far as the provider is told: for its audit log, its risk checks and its rate limits. */
export interface ClientFacts {
  readonly ipAddress?: string;
  readonly userAgent?: string;
}

/** Where a token came from: from the provider just now, or from a request, with what that may ask of the provider. */
export type TokenOrigin = 'provider' | Pick<Allowance, 'spend'>;

/** One session object serves many requests, so it is frozen: what one handler writes to it must not show up in another's. */
export async function verifyStored<Content>(
  source: SessionSource<Content>,
  { content, token }: StoredSession<Content>,
  origin: TokenOrigin,
): Promise<Verdict> {
  const verdict = await source.verify(content, origin, token);
  if (verdict.kind === 'live') deepFreeze(verdict.session);
  return verdict;
}

/** Why a token is no good, for events. */
export function verdictReason(verdict: Verdict): string {
  return verdict.kind === 'invalid' ? verdict.reason : verdict.kind;
}

/**
 * What the provider said to a refresh. `unanswered`: the connection broke, so the token may or may not be spent, and the same
 * token is worth a second try inside the provider's replay window. `refused`: a no whose code is not known to end sessions; it
 * counts as an outage, unless the same token meets it for ten minutes. Every other failure is thrown and ends no session.
 */
export type RefreshOutcome<Content> =
  | { readonly kind: 'renewed'; readonly content: Content }
  | { readonly kind: 'ended'; readonly reason: string }
  | { readonly kind: 'unanswered'; readonly cause: unknown }
  /** `error.reason` is the provider's code. */
  | { readonly kind: 'refused'; readonly status: number; readonly error: AuthError };

/**
 * A refresh that asks for more than new tokens, such as for another organization. It runs in the place of the ordinary one, so
 * every request that waits for the token gets its outcome, too.
 */
export interface RefreshVariant<Content> {
  /** Requests for the variant of one name share a refusal. */
  readonly name: string;
  /** Whether the session is what the variant asks for already. */
  isReached(session: Session): boolean;
  /** @throws {VariantRefused} where the provider refuses the variant and the token is still good */
  refresh(content: Content, signal: AbortSignal): Promise<RefreshOutcome<Content>>;
}

/** The `reason` of a `VariantRefused`, by which other processes know it. */
export const variantRefused = 'variant_refused';

/** The provider refused a variant of a refresh, and the token is still good. Requests that wait for the ordinary refresh ask again. */
export class VariantRefused extends AuthError {
  readonly variant: string;
  readonly failure: unknown;

  /**
   * @param variant the name of the variant
   * @param failure what the adapter makes of the refusal
   */
  constructor(variant: string, failure: unknown) {
    super('provider_unavailable', { reason: variantRefused });
    this.variant = variant;
    this.failure = failure;
  }
}

/**
 * The seam between the adapters and everything hard about sessions. `read`, `write`, `clear` and the keys touch no network;
 * `verify` at most the provider's signing keys; `refresh` is the one call that spends a token.
 */
export interface SessionSource<Content, S extends Session = Session> {
  readonly adapter: AdapterName;
  /** Whether a session can be refreshed by a `RefreshVariant`. */
  readonly hasVariants?: boolean;
  /** Whether only this application can make the cookie; a session from an unsealed one is untrusted until verified. */
  readonly isSealed: boolean;
  /**
   * A cheap look at the raw `Cookie` header: the slice that would hold this adapter's session, for the cache of verified
   * sessions. `undefined` when there is none or when only a full parse can tell.
   */
  readonly findCookie: CookieFinder;
  /** Opens the session, trying every candidate among duplicates and chunks. Never throws. */
  read(cookies: RequestCookies): ReadOutcome<Content> | Promise<ReadOutcome<Content>>;
  /**
   * `expired` is said only of a token that is the provider's own; what was not verified is `unverifiable` or `invalid`.
   *
   * @param token the same as `StoredSession.token`, where it is at hand
   */
  verify(content: Content, origin: TokenOrigin, token?: Token): Promise<Verdict<S>>;
  /**
   * Verifies an access token that a request carries without a cookie. The issuer's other OAuth clients are not told apart here.
   *
   * @throws {AuthError} `provider_unavailable` where only the provider could tell
   */
  verifyBearer(token: Token, origin: TokenOrigin): Promise<Verdict<S>>;
  /** One call to the provider within `signal`'s deadline. Throws AuthError `provider_unavailable` or `provider_refused`. */
  refresh(content: Content, signal: AbortSignal, client: ClientFacts): Promise<RefreshOutcome<Content>>;
  /** What a token's claims say of its session. */
  factsOf(claims: Token['claims']): SessionFacts;
  /** The stored form of freshly issued tokens. */
  toStored(content: Content): StoredSession<Content>;
  /** `content` as it travels between processes, and back; `undefined` for what is not the adapter's own. */
  serialize(content: Content): string;
  deserialize(text: string): Content | undefined;
  /** Bytes that `content` adds to every later request's `Cookie` header, without sealing or writing it. */
  cookieBytes(content: Content): number | Promise<number>;
  /** `content` without what this package does not read. */
  slim(content: Content): Content;
  /** The cookies that hold `content`, of any size; `cookies` names what is there already, so that stray chunks are deleted. */
  write(content: Content, cookies: RequestCookies): Promise<readonly CookieWrite[]>;
  /** Deletes every cookie of the session that the request carries. */
  clear(cookies: RequestCookies): readonly CookieWrite[];
}

/** Bytes of cookies from which the application is told. */
const largeSessionBytes = 8 * 1024;
/** Bytes of cookies over which a session is never written: Node answers requests with more than 16 KB of headers with 431. */
const maxSessionBytes = 12 * 1024;

export type SessionWriter<Content> = ReturnType<typeof createSessionWriter<Content>>;

/** The only way from a session to cookies, so that no browser gets a session that its next request cannot carry. */
export function createSessionWriter<Content>(source: SessionSource<Content>, emit: Emit) {
  /** Reports the size of newly issued tokens, and says whether they fit into cookies. Call it once per issue. */
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
     * The cookies that hold `content`, or what is left of it without what nothing here reads. Where that is too large as well,
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
