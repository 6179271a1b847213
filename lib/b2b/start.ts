import type { AuthRequest } from '../http/request.ts';
import { isScripted as isScriptedRequest } from '../http/message.ts';
import { isHttpsIgnored, warnOfIgnoredHttps } from '../http/origin.ts';
import { redirect, redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { AuthRoute } from '../http/router.ts';
import { askedAfter, askedIn, askedOf, authorizationParameters } from './asked.ts';
import type { Asked, Screen } from './asked.ts';
import type { B2bContext } from './context.ts';
import { createState } from './flow-cookie.ts';
import type { Flow } from './flow-cookie.ts';
import type { ProviderFailure } from './provider-errors.ts';

/** `/login` and `/signup`: the start of the hosted flow. */
export function signInRoute(context: B2bContext, screen: Screen): AuthRoute {
  const { loginPath, signUpPath } = context.settings;
  const path = screen === 'sign-in' ? loginPath : signUpPath;
  return {
    path,
    option: screen === 'sign-in' ? 'loginPath' : 'signUpPath',
    hasGetEffects: true,
    async get(request) {
      const { query } = request;
      const returnTo = request.returnTo(query.get('returnTo'));
      const asked = askedIn(query, screen);
      request.errorReturnTo = returnTo;
      request.signIn = askedAfter(asked);
      return redirectOrJson(request, await startFlow(context, request, { asked, returnTo }), 302);
    },
    // A guard's 307 replays a form post here; the 303 drops its body.
    post: (request) => {
      const { query } = request;
      return redirect(303, request.localPath(path) + (query.size === 0 ? '' : `?${query.toString()}`));
    },
  };
}

export interface FlowStart {
  readonly asked: Asked;
  readonly returnTo: string;
  readonly isRestart?: true | undefined;
  /** The identity provider of an organization, where WorkOS named it. */
  readonly connectionId?: string | undefined;
}

/** Stores a new flow in its cookie and returns the provider's authorization URL. */
export async function startFlow(context: B2bContext, request: AuthRequest, start: FlowStart): Promise<string> {
  const { provider, flows, explain, emit } = context;
  const { callbackPath, now } = context.settings;
  // First, because a request without a usable host must not start a flow.
  const redirectUri = request.publicUrl(callbackPath);
  if (context.settings.appBaseUrl === undefined && isHttpsIgnored(request.req))
    emit({ type: 'configuration_warning', message: warnOfIgnoredHttps() });
  explain('sign-in starts, with the redirect URI %s', redirectUri);
  const { codeVerifier, codeChallenge } = await provider.createVerifier();
  const state = createState();
  const { returnTo, isRestart, connectionId } = start;
  const { organization_id: wanted, ...asked } = start.asked;
  const organizationId = context.settings.organizationId ?? wanted;
  const isScripted = isScriptedRequest(request.req) || undefined;
  const flow = { state, codeVerifier, returnTo, startedAt: now(), organizationId, asked, isRestart, isScripted };
  request.writeCookies(await flows.start(flow, request.cookies));
  const parameters = authorizationParameters(askedOf(flow), connectionId);
  return provider.authorizationUrl({ ...parameters, redirectUri, state, codeChallenge });
}

/**
 * A new flow in place of one whose code must not be used twice (RFC 6749 §4.1.2): on a reload after an outage, where the code
 * may have been used, and where WorkOS refused it.
 */
export async function startOver(
  context: B2bContext,
  request: AuthRequest,
  flow: Flow,
  restart: Pick<FlowStart, 'isRestart' | 'connectionId'> = {},
): Promise<Reply> {
  request.writeCookies(context.flows.finish(flow.state));
  const { returnTo } = flow;
  return redirect(303, await startFlow(context, request, { asked: askedOf(flow), returnTo, ...restart }));
}

/** WorkOS asks for the sign-in through an organization's identity provider. */
export interface RequiredSso {
  readonly kind: 'sso';
  readonly organizationId: string | undefined;
  /** Where no organization is known. */
  readonly connectionId: string | undefined;
}

/**
 * What a new sign-in has to name after `sso_required`; `undefined` where neither is known, or this one was such a sign-in.
 *
 * @param organizationId the one that the sign-in was for
 */
export function requiredSso(
  failure: ProviderFailure,
  organizationId: string | undefined,
  { isRestart }: Flow,
): RequiredSso | undefined {
  if (failure.kind !== 'refused' || failure.code !== 'sso_required' || isRestart === true) return undefined;
  const { connection_id: one, connection_ids: several } = failure.details;
  const offered: readonly unknown[] = Array.isArray(several) ? several : [];
  const connectionId = organizationId === undefined ? [one, ...offered].find((id) => isConnectionId(id)) : undefined;
  return organizationId === undefined && connectionId === undefined
    ? undefined
    : { kind: 'sso', organizationId, connectionId };
}

function isConnectionId(value: unknown): value is string {
  return typeof value === 'string' && /^conn_[A-Za-z0-9]{1,64}$/.test(value);
}
