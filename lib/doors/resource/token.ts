import { defined } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { AccessTokenClaims, Session } from '../../types.ts';
import { partKey } from '../../http/adapter.ts';
import type { Adapter } from '../../http/adapter.ts';
import type { TokenRules } from './options.ts';

/**
 * A verified access token as the MCP SDK's servers and tools see it.
 *
 * @see https://github.com/modelcontextprotocol/typescript-sdk
 */
export interface AuthInfo {
  readonly token: string;
  /** The OAuth client; empty where the token names none, as AuthKit's tokens for users. */
  readonly clientId: string;
  readonly scopes: string[];
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** The resource that the token was issued for (RFC 8707); absent where it is bound to none. */
  readonly resource?: URL;
  readonly extra: {
    /** Absent for a machine. */
    readonly userId?: string;
    /** WorkOS' organization. */
    readonly organizationId?: string;
  };
}

/**
 * Refuses a verified token that was issued for another audience, or to a client that may not call.
 *
 * @param resource the resource's identifier; omitted where it is not known for sure
 * @throws {AuthError} `invalid_token`
 */
export async function judgeToken(claims: AccessTokenClaims, rules: TokenRules, resource?: string): Promise<void> {
  const isMeant = isForAudience(claims, rules, resource) && (await isClientAdmitted(claims, rules));
  if (!isMeant) throw new AuthError('invalid_token');
}

/** Supabase's `aud` of all tokens, for whatever resource. */
const anyResource = 'authenticated';

function isForAudience({ aud }: AccessTokenClaims, { server, audience }: TokenRules, resource?: string): boolean {
  const expected = audience ?? (server.bindsResource ? resource : anyResource);
  if (expected === undefined) return false;
  return [aud].flat().some((each) => each === expected || isSameOrigin(each, expected));
}

/** An origin is one URL with and without a slash (RFC 3986 §6.2.3). Any other URL is compared as text (RFC 8707 §2). */
function isSameOrigin(one: unknown, other: string): boolean {
  const [origin] = /^https?:\/\/[^/?#]+(?=\/?$)/.exec(other) ?? [];
  return origin !== undefined && (one === origin || one === `${origin}/`);
}

async function isClientAdmitted(
  claims: AccessTokenClaims,
  { server, clients, firstParty }: TokenRules,
): Promise<boolean> {
  const client = server.clientOf(claims);
  if (client === '') return false;
  if (client === undefined && server.hasFirstParty) return clients === 'any' && firstParty;
  if (clients === 'any') return true;
  if (typeof clients === 'function') return ((await clients(claims)) as unknown) === true;
  return client !== undefined && clients.has(client);
}

/** Scopes of OpenID Connect (Core §5.4 and §11): they concern what a client learns of the user, and its refresh token. */
const openIdScopes: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'address', 'phone', 'offline_access']);

/** @throws {AuthError} `insufficient_scope` */
export function refuseMissingScope(claims: AccessTokenClaims, required: readonly string[] = []): void {
  const granted = scopesOf(claims);
  const isSilent = claims['scope'] === undefined;
  const isOptional = (name: string): boolean => name === 'offline_access' || (isSilent && openIdScopes.has(name));
  if (!required.every((name) => granted.includes(name) || isOptional(name))) throw new AuthError('insufficient_scope');
}

/** RFC 9068 §2.2.3 */
function scopesOf({ scope }: AccessTokenClaims): string[] {
  return typeof scope === 'string' ? scope.split(' ').filter((name) => name !== '') : [];
}

/** @param resource the resource's identifier */
export function authInfoOf(session: Session, { server, audience }: TokenRules, resource: string): AuthInfo {
  const { accessToken: token, claims } = session;
  const isBound = server.bindsResource || (audience ?? anyResource) !== anyResource;
  const organizationId = session.adapter === 'b2b' ? session.organizationId : undefined;
  return {
    token,
    clientId: server.clientOf(claims) ?? '',
    scopes: scopesOf(claims),
    expiresAt: claims.exp,
    ...(isBound ? { resource: new URL(resource) } : {}),
    extra: defined({ userId: server.isUser(claims) ? claims.sub : undefined, organizationId }),
  };
}

const warnedPart = partKey<true>('warned of the audience');

/** Supabase stores the resource that a client asks for, and leaves `aud` as it is. */
export function warnOfAudience(definition: Adapter, { server, audience }: TokenRules): void {
  if (server.bindsResource || audience !== undefined || definition.parts.find(warnedPart)) return;
  definition.parts.set(warnedPart, true);
  const message = `${definition.name}: Supabase does not bind access tokens to a resource, so a token for any other resource of this project passes, too. Let the access token hook set aud, and name it as audience: see docs/mcp.md`;
  process.emitWarning(message, { code: 'EXPRESS_AUTH_ADAPTERS_AUDIENCE' });
  definition.emit({ type: 'configuration_warning', message });
}
