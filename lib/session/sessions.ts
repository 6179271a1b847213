import { parseCookies } from '../tools/cookies.ts';
import type { ChangeCount } from '../tools/bounded-map.ts';
import { noBackground } from '../tools/background.ts';
import type { Background } from '../tools/background.ts';
import type { CoordinatorFailure } from '../tools/coordinator-failure.ts';
import type { AdapterName, Session } from '../types.ts';
import { createAllowances } from './allowance.ts';
import { createAskOnce } from './refresh/ask-once.ts';
import type { AskOnce } from './refresh/ask-once.ts';
import { createResolveBearer } from './bearer.ts';
import type { ResolveBearer } from './bearer.ts';
import { warnOfCoordinator } from './events.ts';
import type { Emit } from './events.ts';
import { createOutageReport, watchRefusals } from './outages.ts';
import { boundCoordinator } from './coordinator.ts';
import type { SharedCoordinator } from './coordinator.ts';
import { deletionOf, deliveryOf } from './refresh/delivery.ts';
import type { Delivery } from './refresh/delivery.ts';
import { createRenew } from './refresh/renewal.ts';
import { createResolve } from './resolve.ts';
import type { Resolve } from './resolve.ts';
import { createRevocations } from './ended/revocations.ts';
import type { Beginning, Revocations } from './ended/revocations.ts';
import { createCachedSession, createSessionCache } from './cache.ts';
import { holderOf, ownerOf } from './session-context.ts';
import type { SessionContext } from './session-context.ts';
import { createSessionWatch } from './ended/session-watch.ts';
import type { SessionEnd, SessionWatch, WatchTarget } from './ended/session-watch.ts';
import { createSessionWriter } from './source.ts';
import { createSignOut, lastStart } from './sign-out.ts';
import type { SignOut } from './sign-out.ts';
import type { SessionSource, StoredSession } from './source.ts';
import type { SessionFacts } from './ended/record.ts';
import { createContentRenewals, createSwitchSession } from './switch-session.ts';
import type { SessionSwitch } from './switch-session.ts';
import { createFindSuperseded } from './refresh/superseded.ts';
import type { FindSuperseded } from './refresh/superseded.ts';
import { createRefresh } from './refresh/refresh.ts';

export interface SessionResolver<Content> extends SignOut<Content>, SessionSwitch<Content> {
  /** The session of a cookie that was verified before; `undefined` where a look-up is not sufficient. */
  cachedSession(cookieHeader: string | undefined): Session | undefined;
  readonly resolve: Resolve;
  /** Whether there are other processes to ask: a coordinator is configured. */
  readonly isShared: boolean;
  /** Whether no other process can know of the session's end: the coordinator answered when the session was looked up. */
  isConfirmed(session: Session): boolean;
  /**
   * The session of an access token that came without a cookie; `undefined` where it is not valid.
   *
   * @param client the request's client; provider calls for unverified tokens are counted by its address
   * @throws {AuthError} `provider_unavailable` where only the provider can decide
   */
  readonly resolveBearer: ResolveBearer;
  /**
   * The same for a token that was issued for a protected resource. Audience and client are not judged here.
   *
   * @throws {AuthError} `provider_unavailable` where only the provider can decide
   */
  readonly resolveForResource: ResolveBearer;
  readonly findSuperseded: FindSuperseded<Content>;
  readonly signOutOf: Revocations['signOutOf'];
  /** `begin` of these tokens. */
  beginSession(
    stored: Pick<StoredSession<Content>, keyof SessionFacts | 'refreshToken' | 'token'>,
    beginning?: Beginning,
  ): ReturnType<Revocations['begin']>;
  /** What no response waits for. */
  readonly background: Background;
  /** Ends the watches of the same session in another organization, which a switch or a new sign-in has left. */
  leaveFormer(session: Session): void;
  readonly endSession: Revocations['end'];
  readonly withdrawGrant: Revocations['withdrawGrant'];
  readonly allowGrant: Revocations['allowGrant'];
  readonly endOthers: Revocations['endOthers'];
  readonly askOnce: AskOnce;
  readonly renewSession: Revocations['renew'];
  /** Ends a session that was just verified, for as long as its tokens may be valid. It never throws. */
  revokeSession(
    stored: Pick<StoredSession<Content>, 'sessionId' | 'tokenLifetimeMs'> & { readonly beganAt?: number },
  ): Promise<void>;
  /**
   * Marks a session that is about to be replaced in its browser, so that no running request clears
   * its successor's cookie. A signed-out session stays signed out. It never throws.
   */
  markReplaced(
    stored: Pick<StoredSession<Content>, 'sessionId' | 'tokenLifetimeMs'> & { readonly beganAt?: number },
  ): Promise<void>;
  /**
   * `renewSession` for the user's tokens except those of one session, whose token `spent` was just exchanged
   * for `next`, or is `next`. Running requests with `spent` continue, and get `next` where they would renew it.
   *
   * @throws {AuthError} likewise
   */
  renewOthers(userId: string, spent: StoredSession<Content>, next: StoredSession<Content>): Promise<void>;
  /**
   * Gives requests with a session's token what the application has exchanged it for by itself. Nothing where `next` is of another session,
   * or older.
   */
  noteExchanged(spent: StoredSession<Content>, next: StoredSession<Content>): void;
  /** Notes the tokens that a sign-in places in the browser: no slow response of before puts older ones of the same session over them. */
  notePlaced(placed: StoredSession<Content>): void;
  /** Says that a browser has these tokens: what led to them ends in 25 seconds. */
  received(stored: StoredSession<Content>): void;
  /** How cookies with these tokens are delivered, or cookies that delete a session's. */
  deliveryOf(stored: StoredSession<Content> | undefined): Delivery;
  /**
   * Calls `onEnd` once, when the session ends or its token expires. What ended it already is told before the promise resolves.
   *
   * @param cookieHeader the session's source; `undefined` for a bearer token
   * @param options `outlivesToken`: the watch of a cookie's session goes on while requests renew it
   * @returns a function that stops the watch
   */
  watchSession(
    session: Session,
    cookieHeader: string | undefined,
    onEnd: (end: SessionEnd) => void,
    options?: Pick<WatchTarget, 'outlivesToken'>,
  ): Promise<() => void>;
}

interface SessionSettings {
  readonly timeoutMs: number;
  /** Seconds; omitted, it depends on the platform. */
  readonly refreshWindow?: number | undefined;
  /** Default: the process goes on by itself. */
  readonly background?: Background | undefined;
  readonly maxCachedSessions: number;
  readonly coordinator?: SharedCoordinator | undefined;
  readonly emit: Emit;
  readonly now: () => number;
}

/** Creates all parts of one adapter's sessions. */
export function createSessions<Content>(
  source: SessionSource<Content>,
  settings: SessionSettings,
): SessionResolver<Content> {
  const changes: ChangeCount = { count: 0 };
  const sharing = createSharing(source.adapter, settings);
  const context = createContext(source, settings, sharing, changes);
  const { cache, revocations, background, now, timeoutMs } = context;
  const renew = createRenew(context);
  const switchSession = createSwitchSession(context, renew);
  const sessionWatch = createSessionWatch(revocations, now);
  const leaveFormer = (session: Session): void => sessionWatch.switched(source.factsOf(session.claims), session);
  return {
    ...createSignOut(context),
    background,
    cachedSession: createCachedSession({
      cache,
      findCookie: source.findCookie,
      isConcerned: (keys) => revocations.known(keys) !== 'live',
      changes,
      recheckMs: revocations.recheckMs,
      now,
    }),
    resolve: createResolve(context, renew),
    isShared: revocations.isShared,
    isConfirmed: (session) => !context.unconfirmed.has(session),
    async switchSession(...asked) {
      const resolution = await switchSession(...asked);
      if (resolution.session !== null) leaveFormer(resolution.session);
      return resolution;
    },
    leaveFormer,
    ...createContentRenewals(context, renew),
    resolveBearer: createResolveBearer(context, 'session'),
    resolveForResource: createResolveBearer(context, 'resource'),
    findSuperseded: createFindSuperseded(context),
    signOutOf: (sessionId, beganAt) => revocations.signOutOf(sessionId, beganAt),
    beginSession: (stored, beginning) =>
      revocations.begin(revocations.keysOf(stored, holderOf(source, stored).pair), beginning),
    endSession: (target) => revocations.end(target),
    withdrawGrant: (grant) => revocations.withdrawGrant(grant),
    allowGrant: (grant) => revocations.allowGrant(grant),
    endOthers: (kept) => revocations.endOthers(kept),
    askOnce: createAskOnce(source.adapter, { now, timeoutMs, ...sharing }),
    renewSession: (target) => revocations.renew(target),
    revokeSession: createRevoke(context, 'signed_out'),
    markReplaced: createRevoke(context, 'replaced'),
    renewOthers: createRenewOthers(context),
    noteExchanged(spent, next) {
      const isSame = spent.sessionId !== undefined && spent.sessionId === next.sessionId;
      if (isSame && next.issuedAt >= spent.issuedAt) noteExchange(context, spent, next);
    },
    deliveryOf: (stored) => (stored === undefined ? deletionOf(context) : deliveryOf(context, stored)),
    notePlaced: ({ sessionId, ...placed }) =>
      context.refresh.note(sessionId, { token: holderOf(source, placed).token, issuedAt: placed.issuedAt }, []),
    received: (stored) => context.refresh.received(holderOf(source, stored).token),
    watchSession: createWatchSession(context, sessionWatch),
  };
}

function createWatchSession<Content>(
  { source, starts }: SessionContext<Content>,
  { watch }: Pick<SessionWatch, 'watch'>,
): SessionResolver<Content>['watchSession'] {
  return async (session, cookieHeader, onEnd, options = {}) => {
    const found = await findStored(source, session, cookieHeader);
    const claimed = source.factsOf(session.claims);
    const facts = found ?? { ...claimed, beganAt: starts.get(session) ?? claimed.beganAt };
    // The cookie may still hold a token that this session has replaced.
    const isOfToken = found?.token.text === session.accessToken;
    const pair = found !== undefined && isOfToken ? holderOf(source, found).pair : undefined;
    const { stop, checked } = watch({ facts, session, pair, ...options }, onEnd);
    await checked;
    return stop;
  };
}

function createRevoke<Content>(
  { source, revocations }: SessionContext<Content>,
  revocation: 'signed_out' | 'replaced',
): SessionResolver<Content>['revokeSession'] {
  return async (stored) => {
    const { sessionId, tokenLifetimeMs } = stored;
    if (sessionId === undefined) return;
    await revocations.revoke(sessionId, revocation, tokenLifetimeMs, lastStart(source, stored));
  };
}

function createRenewOthers<Content>(context: SessionContext<Content>): SessionResolver<Content>['renewOthers'] {
  const { source, revocations } = context;
  return async (userId, spent, next) => {
    noteExchange(context, spent, next);
    const kept = [spent, next].map((each) => revocations.keysOf(each, holderOf(source, each).pair));
    await revocations.renewOthers(userId, kept);
  };
}

/** An exchange of a session's token by another way than a refresh. */
function noteExchange<Content>(
  { source, refresh }: SessionContext<Content>,
  spent: StoredSession<Content>,
  next: StoredSession<Content>,
): void {
  const from = holderOf(source, spent);
  const { token } = holderOf(source, next);
  refresh.follow(from.token, { token, owner: ownerOf(next), text: source.serialize(next.content) });
  refresh.note(next.sessionId, { token, issuedAt: next.issuedAt }, [from]);
}

/** Seconds. */
const defaultRefreshWindow = 60;

/** The coordinator, and what reports its outages. */
function createSharing(adapter: AdapterName, { coordinator, timeoutMs, emit }: SessionSettings) {
  if (coordinator === undefined) return { shared: undefined, outages: createOutageReport(undefined, emit) };
  const { shared, isRefused } = watchRefusals(boundCoordinator(coordinator, timeoutMs));
  const warn = (failure: CoordinatorFailure): void => warnOfCoordinator(adapter, 'coordinator', failure);
  return { shared, outages: createOutageReport(shared, emit, isRefused, warn) };
}

function createContext<Content>(
  source: SessionSource<Content>,
  settings: SessionSettings,
  { shared, outages }: ReturnType<typeof createSharing>,
  changes: ChangeCount,
): SessionContext<Content> {
  const { timeoutMs, refreshWindow, maxCachedSessions, emit, now, background = noBackground } = settings;
  return {
    source,
    refresh: createRefresh({ now, emit, timeoutMs, shared, outages, background }),
    revocations: createRevocations(source.adapter, shared, outages, now, changes, background),
    cache: createSessionCache(maxCachedSessions, now),
    unconfirmed: new WeakSet(),
    starts: new WeakMap(),
    writer: createSessionWriter(source, emit),
    allowanceOf: createAllowances(now, emit),
    emit,
    now,
    background,
    refreshWindowMs: (refreshWindow ?? (background.mayFreeze ? 0 : defaultRefreshWindow)) * 1000,
    timeoutMs,
  };
}

/** The session in its cookie, which may contain its start. */
async function findStored<Content>(
  source: SessionSource<Content>,
  { accessToken, claims }: Session,
  cookieHeader: string | undefined,
): Promise<StoredSession<Content> | undefined> {
  const { sessionId } = source.factsOf(claims);
  const read = await source.read(parseCookies(cookieHeader));
  const candidates = read.kind === 'stored' ? read.candidates : [];
  return (
    candidates.find(({ token }) => token.text === accessToken) ??
    candidates.find((candidate) => candidate.sessionId !== undefined && candidate.sessionId === sessionId)
  );
}
