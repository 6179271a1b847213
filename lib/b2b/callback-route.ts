import type { AuthenticationResponse } from '@workos-inc/node';
import { createOnce } from '../core/once.ts';
import { AuthError } from '../errors.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { redirect } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { clientFacts } from '../http/request.ts';
import type { AuthRoute } from '../http/router.ts';
import type { SessionResolver } from '../session/sessions.ts';
import { signInFailed } from '../session/events.ts';
import type { Emit, Explain } from '../session/events.ts';
import { verdictReason } from '../session/source.ts';
import type { ClientFacts, SessionSource } from '../session/source.ts';
import type { SessionWriter } from '../session/session-writer.ts';
import type { B2bSession } from '../types.ts';
import { contentOf } from './session-cookie.ts';
import type { SealedContent } from './session-cookie.ts';
import { fitToCookie } from './flow-cookie.ts';
import type { Flow } from './flow-cookie.ts';
import { signInOf } from './hook.ts';
import type { OnB2bSignIn } from './hook.ts';
import { chooserReply, chosenOrganization, selectionOf } from './organizations.ts';
import type { OrganizationSelection } from './organizations.ts';
import { callbackError, classifyFailure, signInError } from './provider-errors.ts';
import { startFlow } from './sign-in-route.ts';
import type { SignInParts } from './sign-in-route.ts';
import { revokeQuietly } from './sign-out-route.ts';

export interface CallbackParts extends SignInParts {
  readonly source: SessionSource<SealedContent, B2bSession>;
  readonly writer: SessionWriter<SealedContent>;
  readonly resolver: SessionResolver<SealedContent>;
  readonly onSignIn: OnB2bSignIn | undefined;
  readonly emit: Emit;
  readonly explain: Explain;
}

type Outcome =
  { readonly kind: 'signed_in'; readonly content: SealedContent; readonly redirectTo: string } | OrganizationSelection;

type Authentication = { readonly kind: 'response'; readonly response: AuthenticationResponse } | OrganizationSelection;

/** A code lives ten minutes at the provider; for as long it is spent at most once here, whatever it came to. */
const codeMemoryMs = 600_000;

/** `/callback`: exchanges the code, checks what it got, stores the session. */
export function callbackRoute(parts: CallbackParts): AuthRoute {
  const { flows, source, writer, resolver, emit } = parts;
  const once = createOnce<Outcome>({ ttlMs: codeMemoryMs, max: 10_000, now: parts.now });

  async function get(request: AuthRequest): Promise<Reply> {
    const { query, cookies } = request;
    const state = query.get('state');
    const flow = state === null || state === '' ? undefined : await flows.find(state, cookies);
    if (flow === undefined) return withoutFlow(request, query, state);
    try {
      return await withFlow(request, query, flow);
    } catch (error) {
      const canStartOver = isOutage(error) && !query.has('error');
      if (canStartOver) request.writeCookies(await flows.start({ ...flow, isSpent: true }, request.cookies));
      // Otherwise this flow is over; the flows of other tabs are not.
      else if (!canComeAgain(error, flow)) request.writeCookies(flows.finish(flow.state));
      emit(signInFailed(error));
      throw error;
    }
  }

  /** A reload after an outage: what became of the code is unknown, and it must not be used again (RFC 6749 §4.1.2). */
  async function startOver(request: AuthRequest, { state, returnTo, organizationId }: Flow): Promise<Reply> {
    request.writeCookies(flows.finish(state));
    const query = new URLSearchParams(organizationId === undefined ? {} : { organization_id: organizationId });
    return redirect(303, await startFlow(parts, request, { screen: 'sign-in', query, returnTo }));
  }

  /** Nothing that this browser started: it never reaches the token endpoint. */
  async function withoutFlow(request: AuthRequest, query: URLSearchParams, state: string | null): Promise<Reply> {
    const isBareCode = (state === null || state === '') && (query.get('code') ?? '') !== '';
    if (!isBareCode && (await request.resolveSession()) !== null) return redirect(303, request.home);
    // A link from the provider's dashboard: start over once, so that there is a state to check.
    if (isBareCode && !(await flows.hasRestart(request.cookies))) {
      const restarted = new URLSearchParams();
      return redirect(
        303,
        await startFlow(parts, request, {
          screen: 'sign-in',
          query: restarted,
          returnTo: request.home,
          isRestart: true,
        }),
      );
    }
    const error = query.get('error');
    const failure =
      error === null
        ? new AuthError(state === null && !isBareCode ? 'invalid_request' : 'invalid_state')
        : callbackError(error);
    emit(signInFailed(failure));
    throw failure;
  }

  async function withFlow(request: AuthRequest, query: URLSearchParams, flow: Flow): Promise<Reply> {
    const error = query.get('error');
    if (error !== null) throw callbackError(error);
    if (flow.isSpent === true) return startOver(request, flow);
    const { selection } = flow;
    const chosen = chosenOrganization(selection, query.get('organization_id'));
    if (selection?.organizations !== undefined && chosen === undefined) {
      return chooserReply(request, parts.callbackPath, flow, selection.organizations);
    }
    const code = query.get('code') ?? '';
    if (chosen === undefined && code === '') throw new AuthError('invalid_request');
    const secrets = [flow.state, code, chosen ?? ''];
    const outcome = await once(secrets, () => complete(request, flow, () => grant(request, flow, code, chosen)));

    if (outcome.kind === 'selection') {
      const { pendingAuthenticationToken, organizations } = outcome;
      const next = { pendingAuthenticationToken, organizations: [...organizations] };
      const waiting = fitToCookie({ ...flow, startedAt: parts.now(), selection: next });
      request.writeCookies(await flows.start(waiting, request.cookies));
      return chooserReply(request, parts.callbackPath, flow, organizations);
    }
    const writes = await writer.write(outcome.content, request.cookies);
    const { sessionId } = source.toStored(outcome.content);
    const replaced = await resolver.replace(request.req.headers.cookie, sessionId, request.peer);
    for (const { candidate } of replaced.sessions) {
      if (candidate.sessionId !== undefined) void revokeQuietly(parts, candidate.sessionId);
    }
    await refuseSignedOut(flow, sessionId);
    request.writeCookies([...writes, ...flows.finish(flow.state)]);
    return redirect(303, outcome.redirectTo);
  }

  function grant(
    request: AuthRequest,
    { selection, codeVerifier }: Flow,
    code: string,
    chosen: string | undefined,
  ): Promise<AuthenticationResponse> {
    const client = clientFacts(request.req, request.peer);
    return selection === undefined || chosen === undefined
      ? parts.provider.exchangeCode(code, codeVerifier, client)
      : parts.provider.selectOrganization(selection.pendingAuthenticationToken, chosen, client);
  }

  /** Exchange, verification and hook: once per code, however often the callback is asked for. */
  async function complete(
    request: AuthRequest,
    flow: Flow,
    work: () => Promise<AuthenticationResponse>,
  ): Promise<Outcome> {
    const answer = await authenticate(work, flow.organizationId, clientFacts(request.req, request.peer));
    if (answer.kind === 'selection') return answer;
    const content = contentOf(answer.response, Math.floor(parts.now() / 1000));
    const session = await verified(content);
    const { sessionId, organizationId } = session;
    if (parts.organizationId !== undefined && organizationId !== parts.organizationId) {
      throw new AuthError('organization_required');
    }
    await refuseSignedOut(flow, sessionId);
    if (!(await writer.fits(content, session.user.id))) {
      // Else AuthKit would issue the same session again without asking who signs in.
      if (sessionId !== undefined) void revokeQuietly(parts, sessionId);
      throw new AuthError('session_too_large');
    }
    const returnTo = request.returnTo(flow.returnTo);
    const hook = await parts.onSignIn?.(signInOf({ session, req: request.req, returnTo }, flow, answer.response));
    emit({
      type: 'signed_in',
      userId: session.user.id,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(organizationId === undefined ? {} : { organizationId }),
    });
    return { kind: 'signed_in', content, redirectTo: request.returnTo(hook?.redirectTo ?? returnTo, returnTo) };
  }

  async function verified(content: SealedContent): Promise<B2bSession> {
    const verdict = await source.verify(content, 'provider');
    if (verdict.kind !== 'live') {
      throw new AuthError('token_rejected', { reason: verdictReason(verdict) });
    }
    return verdict.session;
  }

  /** A sign-out that ran at the same time wins, and so does one since a code was exchanged that now comes again. */
  async function refuseSignedOut({ state }: Flow, sessionId: string | undefined): Promise<void> {
    if (flows.isCancelled(state) || (await resolver.revocationOf(sessionId)) === 'signed_out') {
      throw new AuthError('invalid_state');
    }
  }

  /** Picks the organization by itself where the flow or the options name one of those offered. */
  async function authenticate(
    work: () => Promise<AuthenticationResponse>,
    wantedOrganization: string | undefined,
    client: ClientFacts,
  ): Promise<Authentication> {
    try {
      return { kind: 'response', response: await work() };
    } catch (error) {
      const failure = classifyFailure(error);
      if (failure.kind !== 'refused' || failure.code !== 'organization_selection_required') {
        throw signInError(failure, error);
      }
      const selection = selectionOf(failure.details);
      if (selection === undefined) throw signInError(failure, error);
      const { pendingAuthenticationToken: token, organizations } = selection;
      const wanted = organizations.find(({ id }) => id === wantedOrganization);
      if (wanted === undefined && parts.organizationId !== undefined) throw new AuthError('organization_required');
      if (wanted === undefined) return selection;
      return authenticate(() => parts.provider.selectOrganization(token, wanted.id, client), undefined, client);
    }
  }

  return { path: parts.callbackPath, option: 'callbackPath', hasGetEffects: true, get };
}

/** Whether the same flow may still end in a session. */
function canComeAgain(failure: unknown, { selection }: Flow): boolean {
  if (!(failure instanceof AuthError)) return false;
  // Another process may have spent the code a moment ago, and has the session for a reload.
  if (failure.code === 'code_rejected') return true;
  // A choice that the provider refuses leaves the others open.
  return selection !== undefined && (failure.code === 'access_denied' || failure.code === 'invalid_request');
}

function isOutage(failure: unknown): boolean {
  return failure instanceof AuthError && failure.code === 'provider_unavailable';
}
