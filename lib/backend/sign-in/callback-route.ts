import { createHash } from 'node:crypto';
import type { Session as SdkSession } from '@supabase/supabase-js';
import type { CookieWrite } from '../../core/cookies.ts';
import { createBoundedMap } from '../../core/bounded-map.ts';
import { isRecord } from '../../core/json.ts';
import { createOnce } from '../../core/once.ts';
import { readToken } from '../../tokens/token.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirect } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { signInFailed } from '../../session/events.ts';
import type { BackendContext } from '../context.ts';
import { otherLinkAnswer } from '../form-answers.ts';
import { pleaseSignInPage } from '../pages/notice-page.ts';
import { callbackError, codeOf } from '../provider-errors.ts';
import { linkExpiredPage } from '../pages/password-page.ts';
import { flowMaxAge } from './flow-cookies.ts';
import type { SignInFlow } from './flow-cookies.ts';
import { needsFactor } from './pending.ts';
import type { PendingSignIn } from './pending.ts';
import type { SignedIn } from './sign-in.ts';
import { forgotUrl, passwordUrl } from './start-flow.ts';

interface Exchanged {
  readonly issued: SdkSession;
  readonly flow: SignInFlow | undefined;
  readonly writes: readonly CookieWrite[];
}

/** A session, or what a link for a new password brings: that comes first. */
type Outcome = { readonly writes: readonly CookieWrite[] } & (
  | { readonly kind: 'session'; readonly signedIn: SignedIn }
  | { readonly kind: 'recovery'; readonly issued: SdkSession; readonly returnTo: string }
  /** The second factor is still to come. */
  | { readonly kind: 'factor'; readonly issued: SdkSession; readonly returnTo: string }
);

/** A code dies with its verifier, and for as long it is spent at most once here, whatever it came to; milliseconds. */
const codeMemoryMs = flowMaxAge * 1000;

/** As many verifiers as auth-js keeps. */
const maxTries = 5;

/** What GoTrue says of a code that belongs to another verifier; the code itself stays good. */
const isForeignVerifier = (code: string | undefined): boolean => code === 'bad_code_verifier';

/** `/auth/callback`: exchanges the code that the backend sent along for a session. */
export function callbackRoute(backend: BackendContext): AuthRoute {
  const { settings, supabase, flows, signIn, attempts, emit } = backend;
  const { now } = settings;
  // Where passwords are off there is no page for a new one, and the link signs in like any other.
  const hasPasswords = settings.signInMethods.includes('password');
  const once = createOnce<Outcome>({ ttlMs: codeMemoryMs, max: 10_000, now });
  const tries = createBoundedMap<{ readonly count: number }>({ max: 10_000, ttlMs: codeMemoryMs, now });

  async function get(request: AuthRequest): Promise<Reply> {
    const { query } = request;
    try {
      const [error, errorCode, code] = [query.get('error'), query.get('error_code'), query.get('code')];
      if (error !== null || errorCode !== null)
        return await failed(request, callbackError(error, errorCode), errorCode);
      if (code !== null && code !== '') return await withCode(request, code);
      // The first of the two links that confirm a changed address brings a message and nothing else.
      if (query.has('message')) return otherLinkAnswer(backend, request, request.home);
      throw new AuthError('invalid_request', { message: nothingCame });
    } catch (error) {
      emit(signInFailed(error), request.startedAt);
      throw error;
    }
  }

  async function withCode(request: AuthRequest, code: string): Promise<Reply> {
    const { cookies } = request;
    const pending = flows.pending(cookies);
    const verifiers = flows.verifierNames(cookies).flatMap((name) => cookies.get(name) ?? []);
    if (verifiers.length === 0) return stray(request, 'pkce_code_verifier_not_found', []);
    if (pending.some(({ spentCode }) => spentCode === fingerprint(code))) return startOver(request, pending);
    const complete = (): Promise<Outcome> =>
      once([code, ...verifiers], () => exchangeAndVerify(request, code, pending));
    try {
      // A made-up code counts like a wrong password: Supabase limits the calls of this server, and refreshes share that limit.
      const outcome = await attempts.run(request.req, undefined, complete, 'forgives');
      if (outcome.kind === 'recovery') return await choosePassword(request, outcome);
      if (outcome.kind === 'factor') {
        const verifyUrl = await signIn.awaitFactor(request, outcome.issued, outcome.returnTo, { isAdmitted: true });
        request.writeCookies(outcome.writes);
        return redirect(303, verifyUrl);
      }
      await signIn.storeSession(request, outcome.signedIn, outcome.writes);
      return redirect(303, outcome.signedIn.redirectTo);
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      const [newest] = pending;
      if (error.code === 'provider_unavailable' && newest !== undefined) {
        request.writeCookies([flows.markCodeSpent(newest, fingerprint(code))]);
      }
      if (error.code !== 'code_rejected') throw error;
      return stray(request, codeOf(error.cause), pending, error);
    }
  }

  /** The link of a recovery email leads to a new password; it never signs in by itself. */
  async function choosePassword(
    request: AuthRequest,
    { issued, returnTo, writes }: Extract<Outcome, { kind: 'recovery' }>,
  ): Promise<Reply> {
    request.writeCookies(writes);
    await backend.pending.begin(request, { kind: 'recovery', issued, returnTo, isAdmitted: true });
    return redirect(303, passwordUrl(settings, request, returnTo));
  }

  /** A reload after an outage: what became of the code is unknown, and it must not be used again (RFC 6749 §4.1.2). */
  function startOver(request: AuthRequest, pending: readonly SignInFlow[]): Reply {
    const isForPassword = pending.some(({ kind }) => kind === 'recovery');
    const returnTo = endOnly(request, pending);
    return redirect(303, isForPassword ? forgotUrl(settings, request, returnTo) : request.signInUrl(returnTo));
  }

  /** The way back of the only flow under way, which ends here. With several there is no telling which one came back; they end by themselves. */
  function endOnly(request: AuthRequest, [flow, ...others]: readonly SignInFlow[]): string {
    if (flow === undefined || others.length > 0) return request.home;
    request.writeCookies(flows.drop(flow.id, request.cookies));
    return request.returnTo(flow.returnTo);
  }

  async function exchangeAndVerify(
    request: AuthRequest,
    code: string,
    pending: readonly SignInFlow[],
  ): Promise<Outcome> {
    const { issued, flow, writes } = await exchangeCode(request, code, pending);
    const returnTo = request.returnTo(flow?.returnTo);
    const kind = hasPasswords && isRecovery(issued) ? 'recovery' : needsFactor(issued) ? 'factor' : 'session';
    if (kind !== 'session') {
      // Here and not with the cookie, which a reload writes again.
      await backend.pending.admit(issued);
      return { kind, issued, returnTo, writes };
    }
    return { kind: 'session', signedIn: await signIn.verifySignIn(request, issued, returnTo), writes };
  }

  /** A refusal for the verifier's sake leaves the code good, so anyone with a code could go on for as long as they like. */
  function countTry(code: string): void {
    const key = fingerprint(code);
    const { count } = tries.get(key) ?? { count: 0 };
    if (count === maxTries) throw new AuthError('code_rejected');
    tries.set(key, { count: count + 1 });
  }

  /** The code does not say which of the tabs it belongs to, so the flows' verifiers are tried, newest first. */
  async function exchangeCode(
    request: AuthRequest,
    code: string,
    [flow, ...others]: readonly SignInFlow[],
  ): Promise<Exchanged> {
    countTry(code);
    try {
      return await supabase.call(request, async (call) => {
        const options = flow === undefined ? undefined : { flowId: flow.id };
        const { session } = call.unwrap(await call.auth.exchangeCodeForSession(code, options));
        const writes = call.finishedWrites();
        return { issued: session, flow, writes: flow === undefined ? writes : [...writes, flows.forget(flow.id)] };
      });
    } catch (error) {
      const isForeign = error instanceof AuthError && isForeignVerifier(codeOf(error.cause));
      if (isForeign && others.length > 0) return exchangeCode(request, code, others);
      throw error;
    }
  }

  /** A code that cannot be exchanged: replayed, too old, or from a mail that was opened elsewhere. */
  async function stray(
    request: AuthRequest,
    code: string | undefined,
    pending: readonly SignInFlow[],
    error = new AuthError('code_rejected'),
  ): Promise<Reply> {
    const returnTo = endOnly(request, pending);
    const waiting = await waitingPassword(request);
    if (waiting !== undefined) return redirect(303, passwordUrl(settings, request, waiting.returnTo));
    if (await isSignedIn(request)) return redirect(303, returnTo);
    // Only an email's link is ever opened in another browser. What became of it there is not known here.
    const mayBeMail =
      pending.length === 0
        ? code === 'pkce_code_verifier_not_found'
        : pending.every(({ kind }) => kind !== 'oauth') && !isForeignVerifier(code);
    request.errorReturnTo = returnTo;
    if (!mayBeMail || request.wantsJson) throw error;
    emit(signInFailed(error), request.startedAt);
    return pleaseSignInPage(backend, request, returnTo);
  }

  async function failed(request: AuthRequest, error: AuthError, errorCode: string | null): Promise<Reply> {
    // Reloaded, or reached by the back button, after a sign-in that went well in the end.
    const pending = flows.pending(request.cookies);
    if (pending.length === 0 && (await isSignedIn(request))) return redirect(303, request.home);
    if (error.code === 'code_rejected') return stray(request, errorCode ?? undefined, [], error);
    const returnTo = endOnly(request, pending);
    request.errorReturnTo = returnTo;
    const isForPassword = pending.some(({ kind }) => kind === 'recovery');
    if (error.code !== 'link_expired' || !isForPassword || request.wantsJson) throw error;
    emit(signInFailed(error), request.startedAt);
    return linkExpiredPage(backend, request, { returnTo, error });
  }

  /** Reloaded, or reached by the back button, while the new password is still to be chosen. */
  async function waitingPassword(request: AuthRequest): Promise<PendingSignIn | undefined> {
    const waiting = await backend.pending.read(request).catch(() => undefined);
    return waiting?.kind === 'recovery' ? waiting : undefined;
  }

  /** An outage is no reason to hide what this callback came to. */
  async function isSignedIn(request: AuthRequest): Promise<boolean> {
    try {
      return (await request.resolveSession()) !== null;
    } catch {
      return false;
    }
  }

  return { path: settings.callbackPath, option: 'callbackPath', hasGetEffects: true, get };
}

/** The default link of a recovery email brings a code like any other; its token, straight from the backend, tells. */
function isRecovery({ access_token: accessToken }: SdkSession): boolean {
  const { amr } = readToken(accessToken).claims;
  return Array.isArray(amr) && amr.some((entry) => isRecord(entry) && entry['method'] === 'recovery');
}

/** Supabase puts tokens of links that an administrator made into the fragment, which no server sees. */
const nothingCame =
  'No sign-in came with this request. If a link in an email brought you here, sign in as usual or ask for a new link.';

/** What a cookie may say of a code. */
function fingerprint(code: string): string {
  return createHash('sha256').update(code).digest('base64url').slice(0, 16);
}
