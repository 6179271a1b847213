import { createHash } from 'node:crypto';
import type { Session as SdkSession } from '@supabase/supabase-js';
import type { CookieWrite } from '../../tools/cookies.ts';
import { createBoundedMap } from '../../tools/bounded-map.ts';
import { createSharedOutcomes } from '../../tools/shared-outcomes.ts';
import { isRecord } from '../../tools/json.ts';
import { readToken } from '../../session/jwt.ts';
import { AuthError, isOutage } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { redirect } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { signInFailed } from '../../session/events.ts';
import type { BackendContext } from '../context.ts';
import { localUrl } from '../forms/forms.ts';
import { changedAnswer, heldSession, prepareLink } from './link-sign-in.ts';
import { otherLinkAnswer } from '../forms/mail.ts';
import { linkExpiredPage, newLinkPage, pleaseSignInPage } from '../pages/notice.ts';
import { lastWayWrites } from '../pages/last-way.ts';
import { siteFor } from '../pages/parts.ts';
import { callbackError, codeOf, isOwnRefusal } from '../supabase/provider-errors.ts';
import { flowMaxAge } from '../../http/cookie-jar.ts';
import { isOfProvider, maxFlows } from '../supabase/flow-cookies.ts';
import type { SignInFlow } from '../supabase/flow-cookies.ts';
import { readPending } from './pending.ts';
import { isInsufficient, stepAfter } from './step-up.ts';
import { sessionOf } from './subject.ts';
import { needsOf, prepareSignIn, stepUrl, storeSignIn } from './sign-in.ts';
import type { PreparedSignIn } from './sign-in.ts';

interface Exchanged {
  readonly issued: SdkSession;
  readonly flow: SignInFlow | undefined;
  readonly writes: readonly CookieWrite[];
}

/** The result of a code, and the cookies of the flow that it ends. */
interface Outcome {
  /** `undefined` where the code confirmed a new address and signs no one in. */
  readonly prepared: PreparedSignIn | undefined;
  readonly returnTo: string;
  readonly writes: readonly CookieWrite[];
  /** The session's cookie of the request that exchanged the code. */
  readonly beside: string | undefined;
}

/** A callback's code, and the flows and verifiers from the browser's cookies. */
interface Callback {
  readonly code: string;
  /** Newest first. */
  readonly pending: readonly SignInFlow[];
  readonly verifiers: readonly string[];
}

type SpendCode = (request: AuthRequest, callback: Callback) => Promise<Outcome>;

/** Milliseconds. A code's verifier lives as long; in this time the code is exchanged at most once here, whatever the result. */
const codeMemoryMs = flowMaxAge * 1000;

/** As many as there may be verifiers. */
const maxTries = maxFlows;

/** GoTrue's response to a code of another verifier; the code stays valid. */
const isForeignVerifier = (code: string | undefined): boolean => code === 'bad_code_verifier';

/** For links that an administrator made, Supabase puts the tokens into the fragment, which servers do not receive. */
const nothingCame =
  'No sign-in came with this request. If a link in an email brought you here, sign in as usual or ask for a new link.';

const notHere = 'The account that you linked a sign-in to isn’t signed in here anymore.';

/** `/auth/callback`: exchanges the backend's code for a session. */
export function callbackRoute(backend: BackendContext): AuthRoute {
  const spendCode = createSpendCode(backend);
  return {
    path: backend.settings.callbackPath,
    option: 'callbackPath',
    hasGetEffects: true,
    async get(request) {
      const { query } = request;
      try {
        const [error, errorCode, code] = [query.get('error'), query.get('error_code'), query.get('code')];
        if (error !== null || errorCode !== null) return await answerError(backend, request, error, errorCode);
        if (code !== null && code !== '') return await answerCode(backend, request, code, spendCode);
        // The first of the two links that confirm a changed address carries only a message.
        if (query.has('message')) return otherLinkAnswer(backend, request, request.home);
        throw new AuthError('invalid_request', { message: nothingCame });
      } catch (error) {
        backend.emit(signInFailed(error), request.startedAt);
        if (!isInsufficient(error)) throw error;
        return await factorFirst(backend, request, error);
      }
    },
  };
}

/** @returns a function that exchanges a code once for all requests with the same code and verifiers */
function createSpendCode(backend: BackendContext): SpendCode {
  const { settings, source, supabase, flows } = backend;
  const { now } = settings;
  // Where passwords are off there is no page for a new one, so the link signs in like any other.
  const hasPasswords = backend.steps.has('password');
  const life = { joinMs: codeMemoryMs, keepMs: () => codeMemoryMs, failureMs: codeMemoryMs };
  const outcomes = createSharedOutcomes<Outcome>({ now, ...life });
  const tries = createBoundedMap<{ readonly count: number }>({ max: 10_000, ttlMs: codeMemoryMs, now });

  /** A wrong verifier leaves the code valid, so without a limit anyone with a code could retry endlessly. */
  function countTry(code: string): void {
    const key = fingerprint(code);
    const { count } = tries.get(key) ?? { count: 0 };
    if (count === maxTries) throw new AuthError('code_rejected', { reason: 'too_many_tries' });
    tries.set(key, { count: count + 1 });
  }

  /** The code does not name its flow, so the flows' verifiers are tried, newest first. */
  async function exchangeCode(
    request: AuthRequest,
    code: string,
    [flow, ...others]: readonly SignInFlow[],
  ): Promise<Exchanged> {
    countTry(code);
    try {
      return await supabase.call(request, async (call) => {
        const options = flow === undefined ? undefined : { flowId: flow.id };
        const { session: issued } = call.unwrap(await call.auth.exchangeCodeForSession(code, options));
        const writes = call.finishedWrites();
        return { issued, flow, writes: flow === undefined ? writes : [...writes, flows.forget(flow.id)] };
      });
    } catch (error) {
      const isForeign = error instanceof AuthError && isForeignVerifier(codeOf(error.cause));
      if (isForeign && others.length > 0) return exchangeCode(request, code, others);
      throw error;
    }
  }

  async function spend(request: AuthRequest, { code, pending }: Callback): Promise<Outcome> {
    const beside = source.findCookie(request.req.headers.cookie ?? '');
    const { issued, flow, writes } = await exchangeCode(request, code, pending);
    if (flow?.kind === 'link') await refuseOthers(backend, request, issued);
    const returnTo = request.returnTo(flow?.returnTo);
    const methods = methodsOf(issued);
    const needs = needsOf(issued, hasPasswords && methods.includes('recovery'));
    const isMailed =
      methods.length === 0 ? flow === undefined || !isOfProvider(flow) : !methods.some((method) => ownActs.has(method));
    if (!isMailed) {
      const providerTokens = backend.providerTokens.issued(issued, flow?.provider);
      const signIn = { issued, returnTo, needs, providerTokens };
      const way = lastWayWrites(backend, methods.includes('oauth') ? flow?.provider : 'sso');
      return { prepared: await prepareSignIn(backend, request, signIn), returnTo, writes: [...writes, ...way], beside };
    }
    const link = { issued, returnTo, needs, isChange: methods.includes('email_change') };
    const prepared = await prepareLink(backend, request, await heldSession(request), link);
    return { prepared, returnTo, writes, beside };
  }

  return (request, callback) => outcomes.share([callback.code, ...callback.verifiers], () => spend(request, callback));
}

async function answerCode(
  backend: BackendContext,
  request: AuthRequest,
  code: string,
  spendCode: SpendCode,
): Promise<Reply> {
  const { source, flows, attempts } = backend;
  const { cookies } = request;
  const pending = flows.pending(cookies);
  const verifiers = flows.verifierNames(cookies).flatMap((name) => cookies.get(name) ?? []);
  if (verifiers.length === 0) {
    const error = new AuthError('code_rejected');
    return handleUnusableCode(backend, request, [], { error, code: 'pkce_code_verifier_not_found' });
  }
  if (pending.some(({ spentCode }) => spentCode === fingerprint(code))) return startOver(backend, request, pending);
  const spend = (): Promise<Outcome> => spendCode(request, { code, pending, verifiers });
  try {
    // A made-up code counts like a made-up link: Supabase limits this server's calls, and refreshes share that limit.
    const { prepared, returnTo, writes, beside } = await attempts.runLink(request.req, spend);
    const present = source.findCookie(request.req.headers.cookie ?? '');
    // The answer was lost, and the browser has signed in since.
    if (present !== undefined && present !== beside)
      throw new AuthError('code_rejected', { reason: 'signed_in_since' });
    if (prepared === undefined) {
      request.writeCookies(writes);
      return await changedAnswer(backend, request, returnTo);
    }
    return redirect(303, await storeSignIn(backend, request, prepared, writes));
  } catch (error) {
    const [newest, ...others] = pending;
    // With several flows only the request that exchanged the code knows which one came back.
    if (others.length === 0) request.errorReturnTo ??= request.returnTo(newest?.returnTo);
    if (isOutage(error) && newest !== undefined) {
      request.writeCookies([flows.markCodeSpent(newest, fingerprint(code))]);
    }
    if (!isOwnRefusal(error, 'code_rejected')) throw error;
    return handleUnusableCode(backend, request, pending, { error, code: codeOf(error.cause) });
  }
}

async function answerError(
  backend: BackendContext,
  request: AuthRequest,
  said: string | null,
  errorCode: string | null,
): Promise<Reply> {
  // Reloaded, or reached by the back button, after a sign-in that succeeded later.
  const pending = backend.flows.pending(request.cookies);
  if (pending.length === 0 && (await isSignedIn(request))) return redirect(303, request.urlOf(request.home));
  const error = callbackError(said, errorCode, pending.some(isOfProvider));
  if (error.code === 'code_rejected') {
    return handleUnusableCode(backend, request, [], { error, code: errorCode ?? undefined });
  }
  const [flow, ...others] = pending;
  if (error.code === 'provider_email_unverified' && flow !== undefined && others.length === 0) {
    // The link of the email that may have been sent leads on.
    request.errorReturnTo = request.returnTo(flow.returnTo);
    if (flow.kind === 'oauth') request.writeCookies([backend.flows.markMailed(flow)]);
    throw error;
  }
  const returnTo = endOnly(backend, request, pending);
  request.errorReturnTo = returnTo;
  const isLinking = error.code === 'access_denied' && flow?.kind === 'link';
  if (isLinking && (await isSignedIn(request))) {
    backend.emit(signInFailed(error), request.startedAt);
    return redirect(303, request.returnTo(flow.returnTo));
  }
  const isForPassword = pending.some(({ kind }) => kind === 'recovery');
  if (error.code !== 'link_expired' || request.wantsJson) throw error;
  backend.emit(signInFailed(error), request.startedAt);
  const page = isForPassword ? linkExpiredPage : newLinkPage;
  return page(siteFor(backend, request), request, { returnTo, error });
}

/** Someone who is signed in wanted to add a way to sign in, and needs the second factor for it. @throws {AuthError} */
async function factorFirst(backend: BackendContext, request: AuthRequest, error: AuthError): Promise<Reply> {
  const subject = await sessionOf(backend, request);
  const wayBack = request.errorReturnTo ?? request.home;
  const step = subject && (await stepAfter(backend, request, { subject, wayBack }, error));
  if (step !== undefined) return step;
  throw new AuthError('sign_in_failed', { cause: error, reason: error.reason });
}

/** A reload after an outage: the code may have been used, and it must not be used twice (RFC 6749 §4.1.2). */
function startOver(backend: BackendContext, request: AuthRequest, pending: readonly SignInFlow[]): Reply {
  const isForPassword = pending.some(({ kind }) => kind === 'recovery');
  const returnTo = endOnly(backend, request, pending);
  const { forgot } = backend.ways;
  const isMailedAgain = isForPassword && forgot !== undefined;
  return redirect(303, isMailedAgain ? localUrl(request, forgot, returnTo) : request.signInUrl(returnTo));
}

/** Ends the only open flow and returns its return path. With several flows it is unclear which one came back; they expire. */
function endOnly({ flows }: BackendContext, request: AuthRequest, pending: readonly SignInFlow[]): string {
  const [flow, ...others] = pending;
  if (flow === undefined || others.length > 0) return request.home;
  request.writeCookies(flows.drop(flow.id, request.cookies));
  return request.returnTo(flow.returnTo);
}

/** A code that cannot be exchanged: replayed, expired, or from an email that was opened in another browser. */
async function handleUnusableCode(
  backend: BackendContext,
  request: AuthRequest,
  pending: readonly SignInFlow[],
  { error, code }: { readonly error: AuthError; readonly code: string | undefined },
): Promise<Reply> {
  const returnTo = endOnly(backend, request, pending);
  const waiting = await readPending(backend, request).catch(() => undefined);
  const step = waiting?.needs.find((need) => need !== 'factor');
  // Reloaded, or reached by the back button, while the answer or the new password is still missing.
  if (waiting !== undefined && step !== undefined)
    return redirect(303, stepUrl(backend, request, step, waiting.returnTo));
  if (await isSignedIn(request)) return redirect(303, request.urlOf(returnTo));
  const again = isForeignVerifier(code) ? afterPushOut(backend, request, pending) : undefined;
  if (again !== undefined) return again;
  // Only an email's link is opened in another browser. Whether it succeeded there is not known here.
  const mayBeMail =
    pending.length === 0
      ? code === 'pkce_code_verifier_not_found'
      : !pending.some(isOfProvider) && !isForeignVerifier(code);
  request.errorReturnTo = returnTo;
  if (!mayBeMail || request.wantsJson) throw error;
  backend.emit(signInFailed(error), request.startedAt);
  return pleaseSignInPage(siteFor(backend, request), request, returnTo);
}

/** A code of a flow that newer ones have pushed out: OAuth starts over once, to get a code for a flow that is open. */
function afterPushOut(
  { flows, settings }: BackendContext,
  request: AuthRequest,
  pending: readonly SignInFlow[],
): Reply | undefined {
  const [newest, ...others] = pending.filter(({ kind }) => kind === 'oauth');
  if (newest === undefined || pending.length === 1 || request.wantsJson) return undefined;
  if (pending.some(({ mark }) => mark === 'restarted')) return undefined;
  request.writeCookies([flows.markRestarted(newest)]);
  const isSame = (known: 'provider' | 'returnTo'): boolean => others.every((other) => other[known] === newest[known]);
  const returnTo = isSame('returnTo') ? request.returnTo(newest.returnTo) : request.home;
  const { provider } = newest;
  if (provider === undefined || !isSame('provider')) return redirect(303, request.signInUrl(returnTo));
  return redirect(303, localUrl(request, settings.loginPath, returnTo, { provider }));
}

/**
 * A link that began in another account, or before a sign-out, signs no one in.
 *
 * @throws {AuthError} `invalid_state`
 */
async function refuseOthers(backend: BackendContext, request: AuthRequest, issued: SdkSession): Promise<void> {
  const session = await request.resolveSession();
  if (session?.user.id === issued.user.id) return;
  const ended = backend.supabase.revoke(issued.access_token, 'local', AbortSignal.timeout(backend.settings.timeoutMs));
  await ended.catch(() => undefined);
  throw new AuthError('invalid_state', { reason: 'linked_by_another', message: notHere });
}

/** An outage must not hide the result of this callback. */
async function isSignedIn(request: AuthRequest): Promise<boolean> {
  return (await request.resolveSession().catch(() => null)) !== null;
}

/** An email's default link carries a code like any other; only the new token's `amr` says what it was for. */
function methodsOf({ access_token: accessToken }: SdkSession): readonly unknown[] {
  const { amr } = readToken(accessToken).claims;
  return Array.isArray(amr) ? amr.map((entry: unknown) => (isRecord(entry) ? entry['method'] : undefined)) : [];
}

/** In these the person chose the account just now. Every other code comes from an email, which anyone can have sent. */
const ownActs: ReadonlySet<unknown> = new Set(['oauth', 'sso/saml']);

/** The part of a code's hash that a cookie may contain. */
function fingerprint(code: string): string {
  return createHash('sha256').update(code).digest('base64url').slice(0, 16);
}
