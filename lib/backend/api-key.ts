import { readToken } from '../tokens/access-token.ts';
import type { Token } from '../tokens/access-token.ts';

/**
 * Tells whether a server that acts for its users may use a key. Only publishable keys and legacy
 * `anon` keys are accepted, because row-level security applies to them. The signature is not
 * checked: the project does that, and this check finds mistakes.
 *
 * @param now milliseconds since the epoch
 * @returns the kind of a refused key, `undefined` for an accepted one
 * @see https://supabase.com/docs/guides/api/api-keys
 */
export function refusedKeyKind(key: string, projectUrl: string, now: number): string | undefined {
  const bare = key.replace(/^[\s"'`]+|[\s"'`]+$/g, '');
  return kindOf(bare, projectUrl, now) ?? (bare === key ? undefined : 'a key with blanks or quotes around it');
}

function kindOf(key: string, projectUrl: string, now: number): string | undefined {
  if (/^sb_publishable_[A-Za-z0-9_-]+$/.test(key)) return undefined;
  if (key.startsWith('sb_secret_')) return 'a secret key';
  if (key.startsWith('sbp_')) return 'a personal access token';
  if (key.startsWith('sb_')) return 'a key of an unknown kind';
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(key)) return 'not a Supabase key';
  return refusedJwtKind(readToken(key).claims, projectUrl, now);
}

const refusedRoles: ReadonlyMap<unknown, string> = new Map([
  ['service_role', 'a service-role key'],
  ['supabase_admin', 'an administrator’s key'],
  ['authenticated', 'a user’s access token'],
]);

function refusedJwtKind(claims: Token['claims'], projectUrl: string, now: number): string | undefined {
  const { role, ref, exp } = claims;
  if (role !== 'anon') return refusedRoles.get(role) ?? 'a key of an unknown kind';
  // An access token has a subject; an API key has none.
  if (claims['sub'] !== undefined || claims['session_id'] !== undefined) return 'a user’s access token';
  if (typeof exp === 'number' && exp * 1000 <= now) return 'an expired key';
  return typeof ref === 'string' && isForeign(ref, projectUrl) ? 'a key of another project' : undefined;
}

/** Only a hosted project's host name identifies the project; custom domains and local stacks do not. */
function isForeign(ref: string, projectUrl: string): boolean {
  const host = /^([a-z0-9]{20})\.supabase\.(?:co|in)$/.exec(URL.parse(projectUrl)?.hostname ?? '');
  return host !== null && host[1] !== ref;
}
