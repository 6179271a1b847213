import type { Request } from 'express';
import type { AuthenticationResponse } from '@workos-inc/node';
import { AuthError } from '../errors.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { clientFacts } from '../http/request.ts';
import { verdictReason } from '../session/source.ts';
import type { B2bSession } from '../types.ts';
import { factsOf } from './bearer.ts';
import type { B2bContext } from './context.ts';
import type { Flow } from './flow-cookie.ts';
import type { B2bSignIn } from './options.ts';
import { selectionOf } from './organizations.ts';
import type { OrganizationSelection } from './organizations.ts';
import { classifyFailure, signInError } from './provider-errors.ts';
import { newSession } from './sealed-session.ts';
import type { SealedSession } from './sealed-session.ts';
import { revokeQuietly } from './sign-out-route.ts';

/** A verified sign-in that `onSignIn` accepted and that fits a cookie. */
export interface SignedIn {
  readonly kind: 'signed_in';
  readonly content: SealedSession;
  readonly redirectTo: string;
}

type TokenResponse = { readonly kind: 'response'; readonly response: AuthenticationResponse } | OrganizationSelection;

/**
 * Requests tokens, verifies them and asks the hook. It stores nothing.
 *
 * @param code the authorization code; of no use where an organization was chosen
 * @param chosen the organization that the person chose
 * @throws {AuthError} for every sign-in that fails, and what `onSignIn` throws
 */
export async function completeSignIn(
  context: B2bContext,
  request: AuthRequest,
  flow: Flow,
  { code, chosen }: { readonly code: string; readonly chosen: string | undefined },
): Promise<SignedIn | OrganizationSelection> {
  const tokens = await requestTokens(context, request, flow.organizationId, () =>
    flow.selection === undefined || chosen === undefined
      ? context.provider.exchangeCode(code, flow.codeVerifier, clientFacts(request.req, request.peer))
      : selectOrganization(context, request, flow.selection.pendingAuthenticationToken, chosen),
  );
  if (tokens.kind === 'selection') return tokens;

  const { settings, emit } = context;
  const content = newSession(tokens.response, settings.now() / 1000);
  const session = await verifySignIn(context, flow, content);
  const returnTo = request.returnTo(flow.returnTo);
  const hook = await settings.onSignIn?.(
    hookArgument({ session, req: request.req as Request, returnTo }, flow, tokens.response),
  );
  const { sessionId, organizationId } = session;
  const userId = session.user.id;
  // A bearer token of this session says so in whole seconds of the provider's clock.
  const { beganAt } = factsOf(session.claims);
  const signedInAt = (await context.resolver.beginSession({ sessionId, userId }, beganAt)) / 1000;
  const of = {
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(organizationId === undefined ? {} : { organizationId }),
  };
  emit({ type: 'signed_in', userId, ...of }, request.startedAt);
  return {
    kind: 'signed_in',
    content: { ...content, signedInAt },
    redirectTo: request.returnTo(hook?.redirectTo ?? returnTo, returnTo),
  };
}

/** Chooses the organization without a question where the flow or the options name one of those offered. */
async function requestTokens(
  context: B2bContext,
  request: AuthRequest,
  wantedOrganization: string | undefined,
  call: () => Promise<AuthenticationResponse>,
): Promise<TokenResponse> {
  try {
    return { kind: 'response', response: await call() };
  } catch (error) {
    const failure = classifyFailure(error);
    if (failure.kind !== 'refused' || failure.code !== 'organization_selection_required') {
      throw signInError(failure, error);
    }
    const selection = selectionOf(failure.details);
    if (selection === undefined) throw signInError(failure, error);
    const { pendingAuthenticationToken: token, organizations } = selection;
    const wanted = organizations.find(({ id }) => id === wantedOrganization);
    if (wanted !== undefined) {
      return requestTokens(context, request, undefined, () => selectOrganization(context, request, token, wanted.id));
    }
    if (context.settings.organizationId !== undefined) throw new AuthError('organization_required');
    return selection;
  }
}

function selectOrganization(
  { provider }: B2bContext,
  { req, peer }: AuthRequest,
  pendingAuthenticationToken: string,
  organizationId: string,
): Promise<AuthenticationResponse> {
  return provider.selectOrganization(pendingAuthenticationToken, organizationId, clientFacts(req, peer));
}

async function verifySignIn(context: B2bContext, flow: Flow, content: SealedSession): Promise<B2bSession> {
  const { settings, source, writer } = context;
  const verdict = await source.verify(content, 'provider');
  if (verdict.kind !== 'live') throw new AuthError('token_rejected', { reason: verdictReason(verdict) });
  const { sessionId, organizationId, user } = verdict.session;
  if (settings.organizationId !== undefined && organizationId !== settings.organizationId) {
    throw new AuthError('organization_required');
  }
  await refuseSignedOut(context, flow, sessionId);
  if (!(await writer.fits(content, user.id))) {
    // Else AuthKit would issue the same session again without asking who signs in.
    if (sessionId !== undefined) void revokeQuietly(context, sessionId);
    throw new AuthError('session_too_large');
  }
  return verdict.session;
}

/**
 * A sign-out that ran at the same time wins, and so does one since a code was exchanged that now comes again.
 *
 * @throws {AuthError} `invalid_state`
 */
export async function refuseSignedOut(
  { flows, resolver }: B2bContext,
  { state }: Flow,
  sessionId: string | undefined,
): Promise<void> {
  if (flows.isCancelled(state) || (await resolver.revocationOf(sessionId)) === 'signed_out') {
    throw new AuthError('invalid_state');
  }
}

function hookArgument(
  signIn: Pick<B2bSignIn, 'session' | 'req' | 'returnTo'>,
  { organizationId: requestedOrganizationId }: Flow,
  { authenticationMethod, oauthTokens }: AuthenticationResponse,
): B2bSignIn {
  const { organizationId } = signIn.session;
  return {
    ...signIn,
    ...(organizationId === undefined ? {} : { organizationId }),
    ...(requestedOrganizationId === undefined ? {} : { requestedOrganizationId }),
    // The wire may say null for either.
    ...(authenticationMethod ? { authenticationMethod } : {}),
    ...(oauthTokens ? { oauthTokens } : {}),
  };
}
