import { createOnce } from '../core/once.ts';
import { AuthError } from '../errors.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { redirect } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { AuthRoute } from '../http/router.ts';
import { signInFailed } from '../session/events.ts';
import type { B2bContext } from './context.ts';
import { fitToCookie } from './flow-cookie.ts';
import type { Flow } from './flow-cookie.ts';
import { chooserReply, chosenOrganization } from './organizations.ts';
import type { OrganizationSelection } from './organizations.ts';
import { callbackError } from './provider-errors.ts';
import { completeSignIn, refuseSignedOut } from './sign-in.ts';
import type { SignedIn } from './sign-in.ts';
import { startFlow } from './sign-in-route.ts';
import { revokeQuietly } from './sign-out-route.ts';

interface CallbackContext extends B2bContext {
  /** Exchange, verification and hook: once per code, however often the callback is asked for. */
  readonly signInOnce: ReturnType<typeof createOnce<SignedIn | OrganizationSelection>>;
}

/** WorkOS accepts a code for ten minutes; it is exchanged here at most once in that time, and repeats share the outcome. */
const codeLifeMs = 600_000;

/** `/callback`: exchanges the code, checks what it got, stores the session. */
export function callbackRoute(context: B2bContext): AuthRoute {
  const { callbackPath, now } = context.settings;
  const signInOnce = createOnce<SignedIn | OrganizationSelection>({ ttlMs: codeLifeMs, max: 10_000, now });
  return {
    path: callbackPath,
    option: 'callbackPath',
    hasGetEffects: true,
    get: (request) => answerCallback({ ...context, signInOnce }, request),
  };
}

async function answerCallback(context: CallbackContext, request: AuthRequest): Promise<Reply> {
  const { flows, emit } = context;
  const { query } = request;
  const state = query.get('state');
  const flow = state === null || state === '' ? undefined : await flows.find(state, request.cookies);
  if (flow === undefined) return answerWithoutFlow(context, request, query);
  request.errorReturnTo = request.returnTo(flow.returnTo);
  try {
    return await answerWithFlow(context, request, flow, query);
  } catch (error) {
    const canStartOver = isOutage(error) && !query.has('error');
    if (canStartOver) request.writeCookies(await flows.start({ ...flow, isSpent: true }, request.cookies));
    // Otherwise this flow is over; the flows of other tabs are not.
    else if (!canComeAgain(error, flow)) request.writeCookies(flows.finish(flow.state));
    emit(signInFailed(error), request.startedAt);
    throw error;
  }
}

/** Nothing that this browser started: it never reaches the token endpoint. */
async function answerWithoutFlow(
  context: CallbackContext,
  request: AuthRequest,
  query: URLSearchParams,
): Promise<Reply> {
  const state = query.get('state');
  const isBareCode = (state === null || state === '') && (query.get('code') ?? '') !== '';
  if (!isBareCode && (await request.resolveSession()) !== null) return redirect(303, request.home);
  // A link from the provider's dashboard: start over once, so that there is a state to check.
  if (isBareCode && !(await context.flows.hasRestart(request.cookies))) {
    const start = { screen: 'sign-in', query: new URLSearchParams(), returnTo: request.home, isRestart: true } as const;
    return redirect(303, await startFlow(context, request, start));
  }
  const error = query.get('error');
  const failure =
    error === null
      ? new AuthError(state === null && !isBareCode ? 'invalid_request' : 'invalid_state')
      : callbackError(error);
  context.emit(signInFailed(failure), request.startedAt);
  throw failure;
}

async function answerWithFlow(
  context: CallbackContext,
  request: AuthRequest,
  flow: Flow,
  query: URLSearchParams,
): Promise<Reply> {
  const error = query.get('error');
  if (error !== null) throw callbackError(error);
  if (flow.isSpent === true) return startOver(context, request, flow);
  const { selection } = flow;
  const chosen = selection && chosenOrganization(selection, query.get('organization_id'));
  if (selection?.organizations !== undefined && chosen === undefined) {
    return chooserReply(request, context.settings.callbackPath, flow, selection.organizations);
  }
  const code = query.get('code') ?? '';
  if (chosen === undefined && code === '') throw new AuthError('invalid_request');
  const outcome = await context.signInOnce([flow.state, code, chosen ?? ''], () =>
    completeSignIn(context, request, flow, { code, chosen }),
  );
  return outcome.kind === 'selection'
    ? offerOrganizations(context, request, flow, outcome)
    : storeSession(context, request, flow, outcome);
}

/** A reload after an outage: what became of the code is unknown, and it must not be used again (RFC 6749 §4.1.2). */
async function startOver(
  context: B2bContext,
  request: AuthRequest,
  { state, returnTo, organizationId }: Flow,
): Promise<Reply> {
  request.writeCookies(context.flows.finish(state));
  const query = new URLSearchParams(organizationId === undefined ? {} : { organization_id: organizationId });
  return redirect(303, await startFlow(context, request, { screen: 'sign-in', query, returnTo }));
}

async function offerOrganizations(
  { flows, settings }: B2bContext,
  request: AuthRequest,
  flow: Flow,
  { pendingAuthenticationToken, organizations }: OrganizationSelection,
): Promise<Reply> {
  const selection = { pendingAuthenticationToken, organizations: [...organizations] };
  const waiting = fitToCookie({ ...flow, startedAt: settings.now(), selection });
  request.writeCookies(await flows.start(waiting, request.cookies));
  return chooserReply(request, settings.callbackPath, flow, organizations);
}

/** Stores the new session in place of the ones that the browser held, which end at the provider as well. */
async function storeSession(
  context: B2bContext,
  request: AuthRequest,
  flow: Flow,
  { content, redirectTo }: SignedIn,
): Promise<Reply> {
  const { source, writer, resolver, flows } = context;
  const writes = await writer.write(content, request.cookies);
  const { sessionId } = source.toStored(content);
  const replaced = await resolver.replace(request.req.headers.cookie, sessionId, request.peer);
  for (const { candidate } of replaced.sessions) {
    if (candidate.sessionId !== undefined) void revokeQuietly(context, candidate.sessionId);
  }
  await refuseSignedOut(context, flow, sessionId);
  request.writeCookies([...writes, ...flows.finish(flow.state)]);
  return redirect(303, redirectTo);
}

/** Whether the same flow may still end in a session. */
function canComeAgain(failure: unknown, { selection }: Flow): boolean {
  if (!(failure instanceof AuthError)) return false;
  // Another process may have exchanged the code a moment ago, and has the session for a reload.
  if (failure.code === 'code_rejected') return true;
  // A choice that the provider refuses leaves the others open.
  return selection !== undefined && (failure.code === 'access_denied' || failure.code === 'invalid_request');
}

function isOutage(failure: unknown): boolean {
  return failure instanceof AuthError && failure.code === 'provider_unavailable';
}
