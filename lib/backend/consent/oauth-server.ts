/**
 * The calls to the project's OAuth server, as the user of a session. Each throws an `AuthError` for the visitor. Clients register
 * themselves, so everything that they say about themselves is cleaned here, and nothing of it is verified.
 *
 * @see https://supabase.com/docs/guides/auth/oauth-server
 */
import { isRecord } from '../../tools/json.ts';
import { readRedirectAddress } from './redirect-address.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { OnceAnswer } from '../../session/refresh/ask-once.ts';
import type { ConnectedApp, OAuthClientInfo } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { outOfTime } from '../supabase/connection.ts';
import { callAs } from '../supabase/account.ts';
import type { Subject } from '../sign-in/subject.ts';
import type { SupabaseCall } from '../supabase/supabase-call.ts';

/** What an app asks for, and where it wants to be sent. */
export interface Authorization {
  readonly kind: 'asks';
  readonly client: OAuthClientInfo;
  /** An address that `readRedirectAddress` accepts. */
  readonly redirectUri: string;
  readonly scopes: readonly string[];
}

/** The user has allowed it before: the browser goes on to the app. */
export interface Granted {
  readonly kind: 'granted';
  /** An address that `readRedirectAddress` accepts. */
  readonly redirectTo: string;
}

/** A request of an app for this user. */
export interface ConsentRequest {
  readonly request: AuthRequest;
  readonly subject: Subject;
  readonly id: string;
}

type Question = 'read' | 'allow' | 'deny';

/** Longer than the requests' wait: the provider does not answer a second time. */
const callLifeMs = 25_000;
/** An id of another form is never sent, because it becomes a part of the call's path. */
const idForm = /^[\w-]{8,128}$/;
const maxScopes = 20;

/** @throws {AuthError} `invalid_request` without a value, `authorization_expired` for one that cannot be an authorization's id */
export function readAuthorizationId(value: string | null | undefined): string {
  if (value === null || value === undefined) throw new AuthError('invalid_request');
  if (idForm.test(value)) return value;
  throw new AuthError('authorization_expired', { reason: 'malformed' });
}

/**
 * What the app asks for. The call is no read: it binds the authorization to the user and, where a grant exists, approves it. So it
 * runs once, and everyone who asks for the same gets its answer.
 *
 * @throws {AuthError} `authorization_expired`, `redirect_refused`, `provider_unavailable`, or a refusal of the session
 */
export async function askAuthorization(
  backend: BackendContext,
  asked: ConsentRequest,
): Promise<Authorization | Granted> {
  const text = await once(backend, asked, 'read', async ({ auth, unwrap }) =>
    unwrap(await auth.oauth.getAuthorizationDetails(asked.id)),
  );
  return readAnswer(text, asked);
}

/**
 * Allows or denies what the app asks for. A repeated decision gets the first one's answer; another decision is refused by the provider.
 *
 * @returns where the browser goes
 * @throws {AuthError} as `askAuthorization`
 */
export async function decide(
  backend: BackendContext,
  asked: ConsentRequest,
  action: 'allow' | 'deny',
): Promise<{ readonly redirectTo: string; readonly client: OAuthClientInfo | undefined }> {
  const client = await clientOf(backend, asked);
  const text = await once(backend, asked, action, async ({ auth, unwrap }) => {
    const options = { skipBrowserRedirect: true };
    return unwrap(
      action === 'allow'
        ? await auth.oauth.approveAuthorization(asked.id, options)
        : await auth.oauth.denyAuthorization(asked.id, options),
    );
  });
  const answer = readAnswer(text, asked);
  if (answer.kind === 'asks') throw unusable('redirect_url');
  if (action === 'allow' && client !== undefined)
    await backend.resolver.allowGrant({ userId: asked.subject.session.user.id, clientId: client.id });
  return { redirectTo: answer.redirectTo, client };
}

/**
 * The client that the page named, which another process may have shown; `undefined` where that is not known.
 *
 * @throws {AuthError} `redirect_refused`
 */
async function clientOf(backend: BackendContext, asked: ConsentRequest): Promise<OAuthClientInfo | undefined> {
  // Only a page asks the provider.
  const giveUp = (): Promise<never> => Promise.reject(new AuthError('authorization_expired', { reason: 'not_shown' }));
  try {
    const found = readAnswer(await settle(backend, asked, 'read', giveUp), asked);
    return found.kind === 'asks' && found.client.id !== '' ? found.client : undefined;
  } catch (error) {
    if (error instanceof AuthError && error.code === 'redirect_refused') throw error;
    return undefined;
  }
}

/**
 * The client of a request that was answered before, where the provider lists it among the user's apps: the first answer may have been
 * lost on its way here.
 */
export async function allowedClient(
  backend: BackendContext,
  asked: ConsentRequest,
): Promise<OAuthClientInfo | undefined> {
  const client = await clientOf(backend, asked);
  if (client === undefined) return undefined;
  const { request, subject } = asked;
  const isAllowed = (await listApps(backend, request, subject)).some((app) => app.client.id === client.id);
  return isAllowed ? client : undefined;
}

/** The apps that act for the user, as the provider lists them. */
export async function listApps(
  backend: BackendContext,
  request: AuthRequest,
  { content }: Pick<Subject, 'content'>,
): Promise<readonly ConnectedApp[]> {
  const list = async ({ auth, unwrap }: SupabaseCall): Promise<unknown> => unwrap(await auth.oauth.listGrants());
  const grants = await callAs(backend, request, list, content).catch(reportOff(backend));
  if (!Array.isArray(grants)) throw unusable('grants');
  return grants.map(readGrant);
}

/**
 * Takes back the grant of an app: its refresh tokens end at the provider, its access tokens here and in the other processes.
 *
 * @throws {AuthError} `provider_unavailable`, also where the coordinator is out of reach; calling again is safe
 */
export async function revokeApp(
  backend: BackendContext,
  request: AuthRequest,
  { content, session }: Subject,
  clientId: string,
): Promise<void> {
  const revoke = async ({ auth, unwrap }: SupabaseCall): Promise<void> => {
    unwrap(await auth.oauth.revokeGrant({ clientId }));
  };
  const call = () => callAs(backend, request, revoke, content).catch(reportOff(backend));
  try {
    // Made-up ids count, so that they cannot fill the records.
    await backend.attempts.run(request.req, undefined, call);
  } catch (error) {
    // The grant is gone already, as after an answer that was lost.
    if (!(error instanceof AuthError) || error.code !== 'authorization_expired') throw error;
  }
  await backend.resolver.withdrawGrant({ userId: session.user.id, clientId });
}

/** The first answer of the provider to a question about an authorization, as text. */
async function once(
  backend: BackendContext,
  asked: ConsentRequest,
  question: Question,
  ask: (call: SupabaseCall) => Promise<unknown>,
): Promise<string> {
  const { request, subject } = asked;
  const call = () =>
    callAs(backend, request, ask, subject.content, callLifeMs).catch(reportOff(backend)).catch(asExpired);
  const answer = async (): Promise<OnceAnswer> => {
    try {
      // Made-up ids count, because each costs a call.
      const data = await backend.attempts.run(request.req, undefined, call);
      const text = JSON.stringify(data ?? null);
      refuseUnusable(text, asked);
      return { kind: 'renewed', text };
    } catch (error) {
      if (!(error instanceof AuthError) || error.code !== 'authorization_expired') throw error;
      return { kind: 'ended', reason: error.reason ?? 'refused' };
    }
  };
  return settle(backend, asked, question, answer);
}

/** The answer that is known here or in another process, else that of `ask`. */
async function settle(
  { resolver }: BackendContext,
  asked: ConsentRequest,
  question: Question,
  ask: () => Promise<OnceAnswer>,
): Promise<string> {
  const { waits } = asked.request;
  const settled = await waits.limit(() => resolver.askOnce(secretsOf(asked, question), ask), outOfTime);
  if (settled.kind === 'ended') throw new AuthError('authorization_expired', { reason: settled.reason });
  return settled.text;
}

/** What cannot be used is not kept; an unsafe address is, because the provider does not answer again. */
function refuseUnusable(text: string, asked: ConsentRequest): void {
  try {
    readAnswer(text, asked);
  } catch (error) {
    if (!(error instanceof AuthError) || error.code !== 'redirect_refused') throw error;
  }
}

/** Another user of the same authorization gets an answer of their own: the provider's refusal. */
function secretsOf({ subject, id }: ConsentRequest, question: Question): readonly string[] {
  return ['authorization', id, subject.session.user.id, question];
}

/** For `catch`: GoTrue's `validation_failed` here means that the request was answered before. */
function asExpired(error: unknown): never {
  if (!(error instanceof AuthError) || error.reason !== 'validation_failed') throw error;
  throw new AuthError('authorization_expired', { cause: error.cause, reason: error.reason });
}

/** For `catch`: tells operators that the project's OAuth server is off. */
function reportOff({ emit }: BackendContext): (error: unknown) => never {
  return (error) => {
    if (error instanceof AuthError && error.reason === 'feature_disabled') {
      emit({
        type: 'configuration_warning',
        message:
          'backendAuth: oauthConsent is on, and the OAuth server of the Supabase project is off; enable it under Authentication, OAuth Server',
      });
    }
    throw error;
  };
}

/** @throws {AuthError} `redirect_refused`, `provider_refused` where the answer cannot be read or names another user */
function readAnswer(text: string, { subject }: ConsentRequest): Authorization | Granted {
  const data: unknown = JSON.parse(text);
  if (!isRecord(data)) throw unusable('answer');
  const redirectUrl = data['redirect_url'];
  if (redirectUrl !== undefined) return { kind: 'granted', redirectTo: safeRedirect(redirectUrl) };
  const { scope, user: owner } = data;
  const user = isRecord(owner) ? owner : {};
  if (user['id'] !== subject.session.user.id) throw unusable('user');
  return {
    kind: 'asks',
    client: readClient(data['client']),
    redirectUri: safeRedirect(data['redirect_uri']),
    scopes: readAskedScopes(scope),
  };
}

function safeRedirect(value: unknown): string {
  const address = readRedirectAddress(value);
  if (address === undefined) throw new AuthError('redirect_refused');
  return address.href;
}

function readClient(value: unknown): OAuthClientInfo {
  const { id, name, uri, logo_uri: logoUri } = isRecord(value) ? value : {};
  return {
    id: typeof id === 'string' && isClientId(id) ? id : '',
    name: displayable(name),
    ...(isHttps(uri) && { uri }),
    ...(isHttps(logoUri) && { logoUri }),
  };
}

/** A page that left one out would hide what the app gets. @throws {AuthError} `provider_refused` where there are too many */
function readAskedScopes(scope: unknown): readonly string[] {
  const scopes = readScopes(typeof scope === 'string' ? scope.split(' ') : []);
  if (scopes.length > maxScopes) throw unusable('scopes');
  return scopes;
}

function readScopes(values: readonly unknown[]): readonly string[] {
  return [...new Set(values.map(displayable).filter((scope) => scope !== ''))];
}

function readGrant(value: unknown): ConnectedApp {
  const { client, scopes, granted_at: grantedAt } = isRecord(value) ? value : {};
  const time = typeof grantedAt === 'string' ? Date.parse(grantedAt) : NaN;
  return {
    client: readClient(client),
    scopes: readScopes(Array.isArray(scopes) ? scopes : []),
    grantedAt: Number.isNaN(time) ? '' : new Date(time).toISOString(),
  };
}

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
/** Spellings of a UUID that GoTrue also understands: the end of such a grant would concern no access token here. */
const anyUuid = /^(?:urn:uuid:)?\{?[\da-f]{8}(?:-?[\da-f]{4}){3}-?[\da-f]{12}\}?$/i;

/** GoTrue's ids are UUIDs; a client with a metadata document would have a URL. */
export function isClientId(id: string): boolean {
  return /^[\x21-\x7e]{1,2048}$/.test(id) && (uuid.test(id) || !anyUuid.test(id));
}

function isHttps(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('https:') && readRedirectAddress(value) !== undefined;
}

const maxCharacters = 80;

/**
 * A text of a client, fit for a page: on one line, of limited length, without characters that are invisible, that change the order of
 * others (UAX #9 §2), or that pile up on one.
 */
function displayable(value: unknown): string {
  if (typeof value !== 'string') return '';
  const clean = value
    .slice(0, 2_000)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{C}\p{Default_Ignorable_Code_Point}\u2800]+/gu, '')
    .replace(/(\p{M}{3})\p{M}+/gu, '$1')
    .replace(/\s+/gu, ' ')
    .trim();
  const characters = Array.from(clean);
  return characters.length > maxCharacters ? `${characters.slice(0, maxCharacters - 1).join('')}…` : clean;
}

function unusable(reason: string): AuthError {
  return new AuthError('provider_refused', { reason });
}
