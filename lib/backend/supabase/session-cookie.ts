import type { IssuedProviderTokens } from './issued-tokens.ts';
import * as v from 'valibot';
import { tokenLifetimeMs, readSessionId, readToken } from '../../session/jwt.ts';
import { defined, isRecord, parseJson } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { Token } from '../../session/jwt.ts';
import type { SessionSource, StoredSession } from '../../session/source.ts';
import type { SessionFacts } from '../../session/ended/record.ts';
import { chunkNames, cookiesHolding, deletionsOf, sessionCandidates } from '../../tools/cookie-chunks.ts';
import { createChunksFinder } from '../../tools/cookies.ts';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../../tools/cookies.ts';

const token = v.pipe(v.string(), v.nonEmpty());

/**
 * A session as @supabase/ssr stores it. All fields are kept, because an app beside this one may
 * read them. Only the tokens are used here, and only after verification.
 */
const schema = v.looseObject({
  access_token: token,
  refresh_token: token,
  /** Seconds since the epoch. */
  expires_at: v.optional(v.number()),
});

export type StoredContent = v.InferOutput<typeof schema>;

/** The session in a cookie, an SDK result or a coordinator's message, if it holds one. */
export function parseContent(value: unknown): StoredContent | undefined {
  // Another library's cookie, or a self-hosted backend, may have `null` for what is absent.
  const given = isRecord(value)
    ? Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
    : value;
  const parsed = v.safeParse(schema, given);
  return parsed.success ? parsed.output : undefined;
}

/** @throws {AuthError} `token_rejected` where the backend issued something else */
export function issuedContent(issued: unknown): StoredContent {
  const content = parseContent(issued);
  if (content === undefined) throw new AuthError('token_rejected');
  return content;
}

export function parseContentText(text: string): StoredContent | undefined {
  return parseContent(parseJson(text));
}

export function storedOf(content: StoredContent): StoredSession<StoredContent> {
  const accessToken = readToken(content.access_token);
  return {
    ...factsOf(accessToken.claims),
    content,
    refreshToken: content.refresh_token,
    tokenLifetimeMs: tokenLifetimeMs(accessToken.claims),
    token: accessToken,
  };
}

export function factsOf(claims: Token['claims']): SessionFacts {
  const { session_id: sessionId, sub, client_id: clientId, iat } = claims;
  return {
    sessionId: readSessionId(sessionId),
    userId: typeof sub === 'string' ? sub : undefined,
    ...(typeof clientId === 'string' && { clientId }),
    beganAt: Math.max(0, newestAmrTime(claims, beginnings) ?? 0) * 1000,
    issuedAt: typeof iat === 'number' ? iat * 1000 : 0,
  };
}

/**
 * The OAuth client that a token was issued to. Only the project's OAuth server sets it, in tokens
 * for other applications. Those act for a user who has no session here.
 */
export function foreignClient({ client_id: client }: Token['claims']): string | undefined {
  if (client === undefined || client === null) return undefined;
  return typeof client === 'string' ? client : '';
}

/**
 * GoTrue's methods in `amr` that are a sign-in by a first factor. A second factor (`totp`, `mfa/phone`, `mfa/webauthn`), a
 * refresh (`token_refresh`) and any method of tomorrow are none, so they make no session fresh.
 *
 * @see https://github.com/supabase/auth/blob/master/internal/models/factor.go
 */
const firstFactors: ReadonlySet<unknown> = new Set([
  'password',
  'otp',
  'oauth',
  'magiclink',
  'recovery',
  'invite',
  'email/signup',
  'email_change',
  'sso/saml',
  'anonymous',
  'web3',
  'passkey',
]);

/** The same, and the start of another application's session, which asks for no factor. */
const beginnings: ReadonlySet<unknown> = new Set([...firstFactors, 'oauth_provider/authorization_code']);

/** The user's newest sign-in, in seconds since the epoch. `amr` lists the user's authentication methods with their times. */
export function newestAmrTime({ amr }: Token['claims'], methods = firstFactors): number | undefined {
  const entries: readonly unknown[] = Array.isArray(amr) ? amr : [];
  const times = entries.flatMap((entry) => {
    if (!isRecord(entry) || !methods.has(entry['method'])) return [];
    const time = entry['timestamp'];
    return typeof time === 'number' && Number.isFinite(time) ? [time] : [];
  });
  return times.length === 0 ? undefined : Math.max(...times);
}

const sdkFields = ['token_type', 'expires_in', 'expires_at', 'provider_token', 'provider_refresh_token'];

/**
 * The fields of a session that the SDK needs, except `user`. They stay in memory while the session is cached.
 * Other unsigned fields are dropped: anyone can write kilobytes there that take ten times as much memory.
 */
export function sdkContent(content: StoredContent): StoredContent {
  const { access_token, refresh_token } = content;
  const further = sdkFields
    .map((field) => [field, content[field]] as const)
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number');
  return { access_token, refresh_token, ...Object.fromEntries(further) };
}

/**
 * Removes the provider's tokens and reduces `user` to the fields that its type and @supabase/ssr
 * need. The access token carries the metadata, too.
 */
export function slimContent(content: StoredContent): StoredContent {
  const { user } = content;
  const slim = { ...content, provider_token: undefined, provider_refresh_token: undefined };
  if (!isRecord(user)) return slim;
  const { id, aud, role, email, phone, created_at: createdAt } = user;
  return { ...slim, user: { id, aud, role, email, phone, created_at: createdAt, app_metadata: {}, user_metadata: {} } };
}

/** The session's content without the provider's tokens, or with these. */
export function withProviderTokens(content: StoredContent, kept: IssuedProviderTokens | undefined): StoredContent {
  const own = Object.entries(content).filter(([name]) => !/^provider_(?:refresh_)?token$/.test(name));
  const { accessToken, refreshToken } = kept ?? {};
  const further = defined({ provider_token: accessToken, provider_refresh_token: refreshToken });
  return { ...(Object.fromEntries(own) as StoredContent), ...further };
}

interface StoredCookies {
  /** All sessions that the cookies may hold, each with its raw value. */
  readonly sessions: readonly { readonly content: StoredContent; readonly cookie: string }[];
  /** False where the request carries more values than are read. */
  readonly isComplete: boolean;
  /** Why there is no session, if there is none. */
  readonly reason: string;
}

/** The session in cookies as @supabase/ssr writes and reads them: `base64-` and base64url JSON, in chunks of its own size. */
export interface SessionCookie {
  readonly name: string;
  /** The raw value in the header, chunks joined, without decoding. */
  readonly findCookie: (cookieHeader: string) => string | undefined;
  isPresent(cookies: RequestCookies): boolean;
  read(cookies: RequestCookies): StoredCookies;
  readonly holding: SessionSource<StoredContent>['holding'];
  readonly write: (content: StoredContent, cookies: RequestCookies) => Promise<readonly CookieWrite[]>;
  readonly clear: (cookies: RequestCookies) => readonly CookieWrite[];
}

const prefix = 'base64-';
/** @param issuers accepted issuers of access tokens; a token of another issuer is no session here */
export function createSessionCookie(
  name: string,
  attributes: Pick<CookieAttributes, 'domain'>,
  issuers: readonly string[],
): SessionCookie {
  const remove = (names: readonly string[]): readonly CookieWrite[] => deletionsOf(names, attributes.domain);

  return {
    name,
    findCookie: createChunksFinder(name),
    isPresent: (cookies) => chunkNames(cookies, name).length > 0,
    read(cookies) {
      const contents = new Map<string, StoredContent>();
      let reason = 'unreadable';
      const { values, isComplete } = sessionCandidates(cookies, name, (text) => {
        const found = readCookie(text, issuers);
        if (typeof found === 'string') reason = found;
        else contents.set(text, found);
        return contents.has(text);
      });
      const sessions = values.flatMap((cookie) => {
        const content = contents.get(cookie);
        return content === undefined ? [] : [{ content, cookie }];
      });
      return { sessions, isComplete, reason };
    },
    holding: (cookies, sessions) => cookiesHolding(cookies, name, sessions),
    async write(content, cookies) {
      const { createChunks, stringToBase64URL } = await import('@supabase/ssr');
      const chunks = createChunks(name, prefix + stringToBase64URL(JSON.stringify(content)));
      const written = new Set(chunks.map((chunk) => chunk.name));
      return [...remove(chunkNames(cookies, name).filter((present) => !written.has(present))), ...chunks];
    },
    clear: (cookies) => remove(chunkNames(cookies, name)),
  };
}

/** A session, or why its token cannot belong to one of this project; found without a signature check. */
function readCookie(cookie: string, issuers: readonly unknown[]): StoredContent | string {
  const content = parseContentText(decode(cookie));
  if (content === undefined) return 'unreadable';
  const { isCompact, claims } = readToken(content.access_token);
  if (!isCompact) return 'malformed';
  if (claims['iss'] !== undefined && !issuers.includes(claims['iss'])) return 'issuer';
  return foreignClient(claims) === undefined ? content : 'client';
}

/** Older versions of @supabase/ssr, and `cookieEncoding: 'raw'`, leave the JSON as it is. */
function decode(cookie: string): string {
  return cookie.startsWith(prefix) ? Buffer.from(cookie.slice(prefix.length), 'base64url').toString('utf8') : cookie;
}
