import type { AuthenticationResponse } from '@workos-inc/node';
import { defined } from '../tools/json.ts';
import { createSharedOutcomes } from '../tools/shared-outcomes.ts';
import type { SharedOutcomes } from '../tools/shared-outcomes.ts';
import { AuthError, isOutage } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { AuthRequest } from '../http/request.ts';
import { redirect } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { clientFacts } from '../http/message.ts';
import type { AuthRoute } from '../http/router.ts';
import { signInFailed } from '../session/events.ts';
import type { ClientFacts } from '../session/source.ts';
import type { B2bContext } from './context.ts';
import { askedAfter, askedOf } from './asked.ts';
import type { Asked } from './asked.ts';
import type { Answer, AskedTokens, Asking, Question, TokenCall } from './feature.ts';
import type { Flow } from './flow-cookie.ts';
import { callbackError, classifyFailure, signInError } from './provider-errors.ts';
import { newSession } from './seal.ts';
import type { SealedSession } from './seal.ts';
import { admit, place } from './sign-in.ts';
import type { SignedIn } from './sign-in.ts';
import { requiredSso, startFlow, startOver } from './start.ts';
import type { FlowStart, RequiredSso } from './start.ts';
import { revokeQuietly } from './sign-out.ts';

type Outcome = SignedIn | Asking | RequiredSso;

interface CallbackContext extends B2bContext {
  /** Runs exchange, verification and hook once per code, even if the callback is requested repeatedly. */
  readonly signIns: SharedOutcomes<Outcome>;
  readonly question: Question | undefined;
}

/** WorkOS accepts a code for ten minutes. Each code is exchanged at most once; repeated callbacks share the result. */
const codeLifeMs = 600_000;

/** `/callback`: exchanges the code, verifies the tokens, stores the session. */
export function callbackRoute(context: B2bContext, question?: Question): AuthRoute {
  const { callbackPath, now } = context.settings;
  const life = { joinMs: codeLifeMs, keepMs: () => codeLifeMs, failureMs: codeLifeMs };
  const signIns = createSharedOutcomes<Outcome>({ now, ...life });
  return {
    path: callbackPath,
    option: 'callbackPath',
    hasGetEffects: true,
    get: (request) => answerCallback({ ...context, signIns, question }, request),
  };
}

async function answerCallback(context: CallbackContext, request: AuthRequest): Promise<Reply> {
  const { flows, emit } = context;
  const { query } = request;
  const state = query.get('state');
  const flow = state === null || state === '' ? undefined : await flows.find(state, request.cookies);
  if (flow === undefined) return answerWithoutFlow(context, request);
  request.errorReturnTo = request.returnTo(flow.returnTo);
  const answered = flow.selection === undefined ? undefined : context.question?.answer(context, request, flow);
  // Not below: a failure of this page ends no flow.
  if (answered?.kind === 'again' && !query.has('error') && flow.isCodeUsed !== true) return answered.show();
  const answer = answered?.kind === 'answer' ? answered : undefined;
  try {
    return await answerWithFlow(context, request, flow, answer);
  } catch (error) {
    const asked = withChoice(flow, answer, error);
    request.signIn = waysOn(context, asked, error);
    if (isOutage(error) && !query.has('error'))
      request.writeCookies(await flows.start({ ...asked, isCodeUsed: true }, request.cookies));
    // Otherwise this flow ends; the flows of other tabs stay open.
    else if (!canStillSucceed(error, flow)) request.writeCookies(flows.finish(flow.state));
    emit(signInFailed(error), request.startedAt);
    throw error;
  }
}

/** A callback without a flow of this browser. It never calls the token endpoint. */
async function answerWithoutFlow(context: B2bContext, request: AuthRequest): Promise<Reply> {
  const { query } = request;
  const state = query.get('state');
  const hasCode = (query.get('code') ?? '') !== '';
  const isBareCode = (state === null || state === '') && hasCode;
  if (!isBareCode && (await request.resolveSession()) !== null) return redirect(303, request.urlOf(request.home));
  const open = await context.flows.pending(request.cookies);
  // A link from the provider's dashboard, or a flow that newer ones have pushed out: start over once, to get a state that can be checked.
  if (hasCode && (isBareCode || open.length > 0) && !open.some(({ isRestart }) => isRestart === true)) {
    const start = isBareCode ? { asked: {}, returnTo: request.home } : commonStart(request, open);
    return redirect(303, await startFlow(context, request, { ...start, isRestart: true }));
  }
  const error = query.get('error');
  const failure =
    error === null
      ? new AuthError(state === null && !isBareCode ? 'invalid_request' : 'invalid_state')
      : callbackError(error);
  context.emit(signInFailed(failure), request.startedAt);
  throw failure;
}

/** What all open flows agree on: several tabs of one page. */
function commonStart(request: AuthRequest, open: readonly Flow[]): Pick<FlowStart, 'asked' | 'returnTo'> {
  const [returnTo, ...otherPaths] = new Set(open.map((flow) => flow.returnTo));
  const [asked = '{}', ...others] = new Set(open.map((flow) => JSON.stringify(askedOf(flow))));
  return {
    asked: others.length === 0 ? (JSON.parse(asked) as Asked) : {},
    returnTo: otherPaths.length === 0 ? request.returnTo(returnTo) : request.home,
  };
}

/** With the organization that the person has chosen, unless they have to choose another one. */
function withChoice(flow: Flow, answer: Answer | undefined, error: unknown): Flow {
  const isRefused = error instanceof AuthError && lastingQuestions.has(error.code);
  return answer !== undefined && !isRefused ? { ...flow, organizationId: answer.organizationId } : flow;
}

/** What the links of the error page name. The option's own organization needs no name. */
function waysOn({ settings }: B2bContext, { asked, organizationId }: Flow, error: unknown): AuthRequest['signIn'] {
  const wanted = settings.organizationId === undefined ? organizationId : undefined;
  return askedAfter(askedOf({ asked, organizationId: wanted }), error instanceof AuthError ? error.code : undefined);
}

async function answerWithFlow(
  context: CallbackContext,
  request: AuthRequest,
  flow: Flow,
  answer: Answer | undefined,
): Promise<Reply> {
  const { query } = request;
  const error = query.get('error');
  if (error !== null) throw callbackError(error);
  if (flow.isCodeUsed === true) return startOver(context, request, flow);
  const code = query.get('code') ?? '';
  if (answer === undefined && code === '') throw new AuthError('invalid_request');
  const call = { isRepeated: true };
  const outcome = await context.signIns.share([flow.state, code, answer?.key ?? ''], () => {
    call.isRepeated = false;
    return completeSignIn(context, request, flow, answer ?? code);
  });
  if (outcome.kind === 'sso') {
    const { organizationId, connectionId } = outcome;
    // The organization's own provider, and not the one that was asked for.
    const asked = defined({ ...flow.asked, provider: undefined });
    return startOver(context, request, { ...flow, asked, organizationId }, { isRestart: true, connectionId });
  }
  if (outcome.kind === 'question') return outcome.show(context, request, flow);
  const store = async (): Promise<Reply> => {
    const reply = await storeSession(context, request, flow, outcome);
    answer?.remember();
    return reply;
  };
  // A later sign-in may have continued the session since.
  return call.isRepeated ? store() : endRefused(context, request, outcome.content, store);
}

/**
 * Requests tokens, verifies them and calls the hook. It stores nothing.
 *
 * @param given the authorization code, or the answer to a question
 * @throws {AuthError} for every failed sign-in, and any error that `accept` or `onSignIn` throws
 */
async function completeSignIn(
  context: CallbackContext,
  request: AuthRequest,
  flow: Flow,
  given: string | Answer,
): Promise<Outcome> {
  const { settings, provider } = context;
  const client = clientFacts(request.req, request.peer);
  const [organizationId, call]: readonly [string | undefined, TokenCall['call']] =
    typeof given === 'string'
      ? [flow.organizationId, () => provider.exchangeCode(given, flow.codeVerifier, client)]
      : [given.organizationId, given.call];
  const tokens = await requestTokens(context, client, { flow, organizationId }, call);
  if (tokens.kind !== 'response') return tokens;

  const content = newSession(tokens.response, settings.now() / 1000);
  const { oauthTokens } = tokens.response;
  const admitted = (): Promise<SignedIn> =>
    admit(context, request, {
      content,
      oauthTokens,
      returnTo: request.returnTo(flow.returnTo),
      requestedOrganizationId: flow.organizationId,
      refuseEnded: ({ sessionId }) => refuseSignedOut(context, flow, sessionId),
    });
  return endRefused(context, request, content, admitted);
}

interface IssuedTokens {
  readonly kind: 'response';
  readonly response: AuthenticationResponse;
}

type TokenResponse = IssuedTokens | Asking | RequiredSso;

/** Makes the further call of a room that has the answer to WorkOS' question. */
async function requestTokens(
  context: CallbackContext,
  client: ClientFacts,
  asked: AskedTokens & { readonly flow: Flow },
  call: TokenCall['call'],
): Promise<TokenResponse> {
  try {
    return { kind: 'response', response: await call(client) };
  } catch (error) {
    const failure = classifyFailure(error);
    const sso = requiredSso(failure, asked.organizationId, asked.flow);
    if (sso !== undefined) return sso;
    const question = context.question?.of(context, failure, asked);
    if (question === undefined) throw signInError(failure, error);
    return question.kind === 'question'
      ? question
      : requestTokens(context, client, { ...asked, isSecond: true }, question.call);
  }
}

/**
 * Ends an issued session at WorkOS where the sign-in is refused. Otherwise AuthKit would issue the same session
 * again without asking for credentials, and no sign-out here could reach it.
 */
async function endRefused<Result>(
  context: B2bContext,
  request: AuthRequest,
  content: SealedSession,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { source } = context;
    const { sessionId } = source.toStored(content);
    const read = await source.read(request.cookies);
    // AuthKit may have continued the session that the browser already holds, whose own sign-out can end it.
    const isHeld = read.kind === 'stored' && read.candidates.some((held) => held.sessionId === sessionId);
    if (sessionId !== undefined && !isHeld && !isOutage(error))
      context.resolver.background.run(revokeQuietly(context, sessionId));
    throw error;
  }
}

/**
 * Refuses a sign-in that raced with a sign-out, or whose code comes again after a sign-out. One that began after the
 * sign-out is a new one: where the sign-out never reached WorkOS, AuthKit continues the session under its old id.
 *
 * @throws {AuthError} `invalid_state`
 */
async function refuseSignedOut(
  { flows, resolver }: B2bContext,
  { state, startedAt, beganAt = startedAt }: Flow,
  sessionId: string | undefined,
): Promise<void> {
  if (flows.isCanceled(state) || (await resolver.signOutOf(sessionId, beganAt)) === 'signed_out') {
    throw new AuthError('invalid_state');
  }
}

/** Stores the new session and ends its flow. */
async function storeSession(
  context: B2bContext,
  request: AuthRequest,
  flow: Flow,
  { content, redirectTo }: SignedIn,
): Promise<Reply> {
  await place(context, request, content, (sessionId) => refuseSignedOut(context, flow, sessionId));
  request.writeCookies(context.flows.finish(flow.state));
  return redirect(303, redirectTo);
}

/** Refusals of one answer to a question, after which the person can still give another. */
const lastingQuestions: ReadonlySet<AuthErrorCode> = new Set(['access_denied', 'not_a_member', 'invalid_request']);

/** Whether the same flow can still succeed. */
function canStillSucceed(failure: unknown, { selection }: Flow): boolean {
  if (!(failure instanceof AuthError)) return false;
  // Another process may have exchanged the code just now; a reload then finds its session.
  if (failure.code === 'code_rejected') return true;
  return selection !== undefined && lastingQuestions.has(failure.code);
}
