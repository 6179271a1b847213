import type { Request } from 'express';
import type { Session as SdkSession } from '@supabase/supabase-js';
import type { CookieWrite } from '../../tools/cookies.ts';
import { defined } from '../../tools/json.ts';
import { AuthError, isOutage } from '../../errors.ts';
import { onceSent } from '../../http/message.ts';
import type { AuthRequest } from '../../http/request.ts';
import { admitSignIn, beginSession, placeSession, refuseLarge, verifyIssued } from '../../session/sign-in.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { identitiesOf, needsFactor } from '../supabase/account.ts';
import { localUrl } from '../forms/forms.ts';
import { lastWayWrites } from '../pages/last-way.ts';
import { beginPending, clearPending, endPendingOfOthers, isRecent, proveMailbox, signInTime } from './pending.ts';
import type { PendingSignIn } from './pending.ts';
import type { Step } from '../slots.ts';
import type { IssuedProviderTokens } from '../supabase/issued-tokens.ts';
import { issuedContent, withProviderTokens } from '../supabase/session-cookie.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import { endAtBackend } from './sign-out.ts';
import type { Subject } from './subject.ts';

/** What the backend's tokens for a sign-in still need. */
export function needsOf(issued: SdkSession, isForPassword = false): readonly Step[] {
  return [...(needsFactor(issued) ? (['factor'] as const) : []), ...(isForPassword ? (['password'] as const) : [])];
}

/** The backend's tokens and what they are for. */
interface Issued {
  readonly issued: SdkSession;
  readonly returnTo: string;
  /** Default: the second factor, where the user has one that the tokens lack. */
  readonly needs?: readonly Step[];
  /** The pending sign-in that goes on with it, which can be tried again after an outage. */
  readonly continued?: PendingSignIn;
  /** Whether the application brought the tokens: they stay its own where they are refused. */
  readonly isBrought?: boolean;
  /** Those of the OAuth provider, after its callback. */
  readonly providerTokens?: IssuedProviderTokens | undefined;
}

/**
 * A sign-in that is ready to store: a session where it needs nothing. Preparing it calls `onSignIn` for a session and writes no
 * cookie, so that requests that share one each store it.
 */
export interface PreparedSignIn extends Pick<PendingSignIn, 'tried'> {
  readonly needs: readonly Step[];
  readonly content: StoredContent;
  readonly userId: string;
  /** Where it leads once it is complete. */
  readonly returnTo: string;
}

/**
 * The first half of a sign-in: verifies the tokens, asks `accept` and, where nothing is missing, checks the size and calls the hook.
 *
 * @throws {AuthError} `token_rejected`, `session_too_large`, `not_accepted`, `provider_unavailable`, or the hook's error; no session is created then
 */
export async function prepareSignIn(
  backend: BackendContext,
  request: AuthRequest,
  { issued, returnTo, needs = needsOf(issued), continued, isBrought = false, providerTokens }: Issued,
): Promise<PreparedSignIn> {
  request.errorReturnTo = returnTo;
  const content = withProviderTokens(issuedContent(issued), backend.providerTokens.inCookie(providerTokens));
  const prepare = needs.length > 0 ? preparePending : prepareSession;
  try {
    const isContinued = continued !== undefined;
    const preparing = { content, needs, returnTo, isBrought, isContinued, providerTokens, user: issued.user };
    const prepared = await prepare(backend, request, preparing);
    return { needs, content, tried: continued?.tried, ...prepared };
  } catch (error) {
    const isKept = isBrought || (continued !== undefined && isOutage(error));
    const ended = isKept ? undefined : backend.supabase.discard(content);
    // After an outage the request has waited long enough.
    if (!isOutage(error)) await ended;
    throw error;
  }
}

interface Preparing extends Pick<PreparedSignIn, 'content' | 'needs' | 'returnTo'>, Pick<Issued, 'providerTokens'> {
  readonly isBrought: boolean;
  readonly isContinued: boolean;
  /** As the backend's answer describes them. */
  readonly user: unknown;
}

async function prepareSession(backend: BackendContext, request: AuthRequest, preparing: Preparing) {
  const { content, returnTo, isBrought, isContinued } = preparing;
  const hook = (verified: BackendSession) => callHook(backend, request, preparing, verified);
  const steps = { returnTo, isBrought, isContinued, hook };
  const { session, redirectTo } = await admitSignIn(backend, request, content, steps);
  return { userId: session.user.id, returnTo: redirectTo };
}

/** @returns where `onSignIn` leads */
async function callHook(
  backend: BackendContext,
  request: AuthRequest,
  { content, user, returnTo, providerTokens }: Preparing,
  session: BackendSession,
): Promise<string | undefined> {
  const { onSignIn } = backend.settings;
  if (onSignIn === undefined) return undefined;
  const { provider, accessToken, refreshToken } = providerTokens ?? {};
  const isKnown = provider !== undefined && accessToken !== undefined;
  const tokens = isKnown ? { providerTokens: { provider, accessToken, ...defined({ refreshToken }) } } : {};
  const identities = await identitiesOf(backend, request, content, user);
  request.signingIn = session;
  try {
    return (await onSignIn({ session, req: request.req as Request, returnTo, identities, ...tokens }))?.redirectTo;
  } finally {
    request.signingIn = undefined;
  }
}

async function preparePending(
  backend: BackendContext,
  request: AuthRequest,
  { content, needs, returnTo, isBrought, isContinued, providerTokens }: Preparing,
) {
  const session = await verifyIssued(backend, content, isBrought);
  // No later request would find it, and the person would be sent from page to page.
  if (isBrought && !isRecent(backend, needs, session.claims))
    throw new AuthError('tokens_refused', { reason: 'not_recent' });
  if (signInTime(needs, session.claims, true) === undefined) throw new AuthError('token_rejected', { reason: 'amr' });
  await request.refuseUnaccepted(session);
  if (!isBrought) await beginSession(backend, content, session, isContinued ? undefined : request.arrivedAt);
  if (signInTime(needs, session.claims) === undefined) await proveMailbox(backend, session.claims);
  if (providerTokens !== undefined) await backend.providerTokens.keep(sessionIdOf(backend, session), providerTokens);
  return { userId: session.user.id, returnTo };
}

function sessionIdOf({ source }: BackendContext, { claims }: BackendSession): string | undefined {
  return source.factsOf(claims).sessionId;
}

/**
 * The second half: stores the session in place of any earlier one, or stores the pending sign-in.
 *
 * @param further cookies to write as well
 * @returns the next URL
 * @throws {AuthError} `invalid_state`, or as `beginPending`
 */
export async function storeSignIn(
  backend: BackendContext,
  request: AuthRequest,
  prepared: PreparedSignIn,
  further: readonly CookieWrite[] = [],
): Promise<string> {
  const { needs, content, returnTo } = prepared;
  const [next] = needs;
  if (next === undefined) {
    await storeSession(backend, request, content, further);
    return returnTo;
  }
  await beginPending(backend, request, prepared);
  request.writeCookies(further);
  return stepUrl(backend, request, next, returnTo);
}

/** Both halves. @param way its name on the sign-in page, which then marks it @returns the next URL @throws {AuthError} as its halves */
export async function completeSignIn(
  backend: BackendContext,
  request: AuthRequest,
  issued: SdkSession,
  returnTo: string,
  way?: string,
): Promise<string> {
  const prepared = await prepareSignIn(backend, request, { issued, returnTo });
  return storeSignIn(backend, request, prepared, request.wantsJson ? [] : lastWayWrites(backend, way));
}

/** The page that asks for a missing step. @throws {AuthError} `sign_in_incomplete` where none does */
export function stepUrl({ steps }: BackendContext, request: AuthRequest, step: Step, returnTo: string): string {
  const path = steps.get(step);
  if (path === undefined) throw new AuthError('sign_in_incomplete');
  return localUrl(request, path, returnTo);
}

/** A step that was completed just now, and the tokens after it. */
interface CompletedStep extends Pick<Issued, 'issued' | 'returnTo'> {
  readonly step: Step;
}

/**
 * Completes one step: of a pending sign-in, or the second factor of the browser's session.
 *
 * @returns the URL of the next step, or where the session leads
 * @throws {AuthError} as `prepareSignIn` and `storeSignIn`; the sign-in has ended then, except after an outage
 */
export async function advance(
  backend: BackendContext,
  request: AuthRequest,
  subject: Subject,
  completed: CompletedStep,
): Promise<string> {
  const { issued, returnTo } = completed;
  const { pending, session, content } = subject;
  const { resolver, source, explain } = backend;
  const next =
    pending === undefined
      ? await raiseSession(backend, request, issued, returnTo)
      : await continuePending(backend, request, pending, completed);
  if (issued.access_token !== content.access_token) {
    // With a second factor the backend has ended the user's other sessions; their next request must renew them and find out.
    // Running requests of this session must not renew: the backend has just exchanged their refresh token.
    const [spent, newest] = [source.toStored(content), source.toStored(issuedContent(issued))];
    await resolver.renewOthers(session.user.id, spent, newest).catch((error: unknown) => {
      explain('other processes were not told of a second factor: %s', String(error));
    });
    onceSent(request.res, () => resolver.received(newest));
  }
  return next;
}

async function continuePending(
  backend: BackendContext,
  request: AuthRequest,
  pending: PendingSignIn,
  { step, issued, returnTo }: CompletedStep,
): Promise<string> {
  const needs = pending.needs.filter((each) => each !== step);
  const { session } = pending;
  const sessionId = sessionIdOf(backend, session);
  const providerTokens = needs.length === 0 ? await backend.providerTokens.find(sessionId, session.claims) : undefined;
  try {
    const continuing = { issued, returnTo, needs, continued: pending, providerTokens };
    const prepared = await prepareSignIn(backend, request, continuing);
    const next = await storeSignIn(backend, request, prepared);
    if (needs.length === 0) clearPending(backend, request);
    if (providerTokens !== undefined) await backend.providerTokens.drop(sessionId);
    return next;
  } catch (error) {
    if (!isOutage(error)) clearPending(backend, request);
    throw error;
  }
}

/** Stores newer tokens of the browser's session. It is no new sign-in, so the hook does not run. @throws {AuthError} */
async function raiseSession(
  backend: BackendContext,
  request: AuthRequest,
  issued: SdkSession,
  returnTo: string,
): Promise<string> {
  const content = issuedContent(issued);
  const session = await verifyIssued(backend, content);
  await refuseLarge(backend, content, session);
  await storeSession(backend, request, content);
  const { sessionId } = backend.source.toStored(content);
  backend.emit({ type: 'session_refreshed', userId: session.user.id, ...defined({ sessionId }) });
  return returnTo;
}

async function storeSession(
  backend: BackendContext,
  request: AuthRequest,
  content: StoredContent,
  further: readonly CookieWrite[] = [],
): Promise<void> {
  const writes = await placeSession(backend, request, content, {
    refuseEnded: async (sessionId) => {
      if ((await backend.resolver.signOutOf(sessionId)) !== undefined) throw new AuthError('invalid_state');
    },
    endLeft: (left, allowance) => endAtBackend(backend, 'local', left, allowance).catch(() => undefined),
  });
  await endPendingOfOthers(backend, request, backend.source.toStored(content).userId);
  request.writeCookies([...further, ...writes]);
}
