import * as v from 'valibot';
import { tokenLifetimeMs } from '../core/access-token.ts';
import { isRecord } from '../core/is-record.ts';
import { readSessionId, readToken } from '../core/token.ts';
import type { StoredSession } from '../session/session-source.ts';

const token = v.pipe(v.string(), v.nonEmpty());

/**
 * A session as @supabase/ssr stores it. All of it is kept, as an app beside this one may read it; only the tokens matter here, and
 * nothing of it is believed.
 */
const schema = v.looseObject({
  access_token: token,
  refresh_token: token,
  /** Seconds since the epoch. */
  expires_at: v.optional(v.number()),
});

export type StoredContent = v.InferOutput<typeof schema>;

/** What a cookie, the SDK or a coordinator's message holds, if it is a session. */
export function parseContent(value: unknown): StoredContent | undefined {
  const parsed = v.safeParse(schema, value);
  return parsed.success ? parsed.output : undefined;
}

export function parseContentText(text: string): StoredContent | undefined {
  try {
    return parseContent(JSON.parse(text));
  } catch {
    return undefined;
  }
}

export function storedOf(content: StoredContent): StoredSession<StoredContent> {
  const accessToken = readToken(content.access_token);
  return {
    content,
    refreshToken: content.refresh_token,
    sessionId: readSessionId(accessToken.claims['session_id']),
    tokenLifetimeMs: tokenLifetimeMs(accessToken.claims),
    token: accessToken,
  };
}

const sdkFields = ['token_type', 'expires_in', 'expires_at', 'provider_token', 'provider_refresh_token'];

/**
 * What the SDK needs of a session, `user` aside. It is kept for as long as the session is cached, so nothing else of the cookie's
 * unsigned part is in it: anyone can write kilobytes there that take ten times as much memory.
 */
export function sdkContent(content: StoredContent): StoredContent {
  const { access_token, refresh_token } = content;
  const further = sdkFields
    .map((field) => [field, content[field]] as const)
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number');
  return { access_token, refresh_token, ...Object.fromEntries(further) };
}

/**
 * Without the provider's tokens, and with no more of `user` than its type and @supabase/ssr need: identities and metadata are in it a
 * second time, as the access token carries them, too.
 */
export function slimContent(content: StoredContent): StoredContent {
  const { user } = content;
  const slim = { ...content, provider_token: undefined, provider_refresh_token: undefined };
  if (!isRecord(user)) return slim;
  const { id, aud, role, email, phone, created_at: createdAt } = user;
  return { ...slim, user: { id, aud, role, email, phone, created_at: createdAt, app_metadata: {}, user_metadata: {} } };
}
