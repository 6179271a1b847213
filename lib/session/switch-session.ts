import type { Session } from '../types.ts';
import { isUnknownKey } from './jwt.ts';
import { parseCookies } from '../tools/cookies.ts';
import { withDeadline } from '../tools/deadline.ts';
import { isRevocation } from './ended/record.ts';
import { resolutionOf } from './refresh/delivery.ts';
import { renewWithin } from './refresh/renewal.ts';
import type { Renew, Renewal, Renewed } from './refresh/renewal.ts';
import { outOfTime, signedOut } from './source.ts';
import type { Resolution } from './source.ts';
import { goesOn, holderOf } from './session-context.ts';
import type { SessionContext } from './session-context.ts';
import { verifyStored } from './source.ts';
import type { Candidate, ClientFacts, RefreshVariant, Verdict } from './source.ts';

export interface SessionSwitch<Content> {
  /**
   * Refreshes the session with a variant, such as for another organization. Requests that still
   * carry its old cookie get the same result.
   *
   * @returns the current session, whether or not the variant was reached; `session: null` where there is none (any more)
   * @throws {AuthError} `provider_unavailable`, `provider_refused` or `token_rejected`; the session is kept
   * @throws {VariantRefused} the session is kept
   */
  switchSession(
    cookieHeader: string | undefined,
    variant: RefreshVariant<Content>,
    client: ClientFacts,
  ): Promise<Resolution>;
  /**
   * Refreshes a session whose claims have just changed at the provider. A refresh that was already
   * running may return the old claims: its tokens are refreshed once more.
   *
   * @param isChanged whether the session contains the change
   * @throws {AuthError} `provider_unavailable`, `provider_refused` or `token_rejected`; the session is kept
   */
  renewChanged(
    content: Content,
    isChanged: (session: Session) => boolean,
    client: ClientFacts,
  ): Promise<Renewal<Content>>;
  /**
   * Refreshes a session that is stored in no session cookie, as a pending sign-in is. Anyone can make up such tokens, so
   * calls for unverified ones are counted by the client's address.
   *
   * @returns `undefined` where its tokens are not the provider's, or it has ended
   * @throws {AuthError} `provider_unavailable`, `provider_refused` or `token_rejected`; the session is kept
   */
  renewStored(content: Content, client: ClientFacts): Promise<Renewed<Content> | undefined>;
}

/** The answer is not sent before its session is known. */
const isHeadSent = (): boolean => false;

export function createSwitchSession<Content>(
  context: SessionContext<Content>,
  renew: Renew<Content>,
): SessionSwitch<Content>['switchSession'] {
  const { source, revocations, timeoutMs } = context;

  /** The first live session, else the first that a refresh may restore, as for every other request. */
  async function currentOf(candidates: readonly Candidate<Content>[]): Promise<Current<Content> | undefined> {
    let renewable: Candidate<Content> | undefined;
    for (const candidate of candidates) {
      const holder = holderOf(source, candidate);
      const { standing } = await revocations.check(revocations.keysOf(candidate, holder.pair));
      if (isRevocation(standing)) continue;
      const verdict = await verifyStored(source, candidate, 'provider');
      if (verdict.kind === 'live' && standing !== 'stale') return { candidate, verdict, isSpent: standing === 'spent' };
      if (verdict.kind !== 'invalid' || (await goesOn(context, holder, verdict))) renewable ??= candidate;
    }
    return renewable && { candidate: renewable, isSpent: false };
  }

  type Asked = Parameters<SessionSwitch<Content>['switchSession']>;
  async function switchNow(signal: AbortSignal, ...[cookieHeader, variant, client]: Asked): Promise<Resolution> {
    const cookies = parseCookies(cookieHeader);
    const read = await source.read(cookies);
    const current = read.kind === 'stored' ? await currentOf(read.candidates) : undefined;
    // No switch begins after its answer.
    signal.throwIfAborted();
    if (current === undefined) return signedOut;
    const { candidate, verdict, isSpent } = current;
    if (!isSpent && verdict !== undefined && variant.isReached(verdict.session)) {
      return { session: verdict.session, cookies: [] };
    }
    const renewal = await renew(candidate, { isHeadSent, client, variant });
    if (renewal.kind === 'renewed') return resolutionOf(context, renewal, cookies);
    const reason = renewal.kind === 'ended' ? renewal.reason : undefined;
    if (reason === 'superseded' && verdict !== undefined) return { session: verdict.session, cookies: [] };
    return reason === 'replaced' || reason === 'superseded'
      ? signedOut
      : { session: null, cookies: source.clear(cookies) };
  }

  return (...asked) => withDeadline((signal) => switchNow(signal, ...asked), timeoutMs, outOfTime);
}

interface Current<Content> {
  readonly candidate: Candidate<Content>;
  readonly verdict?: Extract<Verdict, { kind: 'live' }>;
  readonly isSpent: boolean;
}

/** The refreshes of tokens that a route has at hand. */
export function createContentRenewals<Content>(
  context: SessionContext<Content>,
  renew: Renew<Content>,
): Pick<SessionSwitch<Content>, 'renewChanged' | 'renewStored'> {
  return { renewChanged: createRenewChanged(context, renew), renewStored: createRenewStored(context, renew) };
}

function createRenewChanged<Content>(
  context: SessionContext<Content>,
  renew: Renew<Content>,
): SessionSwitch<Content>['renewChanged'] {
  const { source, timeoutMs } = context;
  return (content, isChanged, client) => {
    const request = { isHeadSent, client };
    const renewTwice = async (): Promise<Renewal<Content>> => {
      const first = await renew(source.toStored(content), request);
      if (first.kind !== 'renewed' || isChanged(first.session)) return first;
      return renew(first.stored, request);
    };
    return withDeadline(renewTwice, timeoutMs, outOfTime);
  };
}

function createRenewStored<Content>(
  context: SessionContext<Content>,
  renew: Renew<Content>,
): SessionSwitch<Content>['renewStored'] {
  const { source, revocations, allowanceOf, timeoutMs } = context;
  const renewIt = async (content: Content, client: ClientFacts): Promise<Renewed<Content> | undefined> => {
    const stored = source.toStored(content);
    const allowance = allowanceOf(client.ipAddress);
    // A lifetime begins with the session that they lead to.
    const verdict = await source.verify(content, allowance, stored.token);
    if (verdict.kind === 'invalid') return undefined;
    const isVerified = verdict.kind !== 'unverifiable';
    const keys = revocations.keysOf(stored, undefined);
    // Only for a verified token: a made-up one must not cause a call to the coordinator.
    if (isVerified && isRevocation((await revocations.check(keys)).standing)) return undefined;
    const request = { isHeadSent, client, allowance, isVerified };
    const renewal = await renewWithin(context, renew, stored, request);
    return renewal.kind === 'renewed' ? renewal : undefined;
  };
  return async (content, client) => {
    try {
      return await withDeadline(() => renewIt(content, client), timeoutMs, outOfTime);
    } catch (error) {
      // Anyone can name a key id that does not exist: that is no outage.
      if (isUnknownKey(error)) return undefined;
      throw error;
    }
  };
}
