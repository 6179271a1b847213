import type { RequestCookies } from '../../tools/cookies.ts';
import { holderOf } from '../session-context.ts';
import type { SessionContext } from '../session-context.ts';
import type { Session } from '../../types.ts';
import type { Resolution, StoredSession } from '../source.ts';
import type { Holder } from './answers.ts';

/** How cookies are delivered: a slow response must undo nothing that came meanwhile. */
export type Delivery = Pick<Resolution, 'isCurrent' | 'recheck' | 'onDelivered'>;

/** Milliseconds for which a cookie that holds no session can be deleted: shorter than a person takes to sign in. */
const deletionMs = 1_000;

/**
 * Cookies that delete a session's. The next request deletes what is left.
 *
 * @param isReplaced whether a sign-in is known to have taken its place
 * @param arrivedAt when the request came, in milliseconds since the epoch
 */
export function deletionOf(
  { now }: Pick<SessionContext<unknown>, 'now'>,
  isReplaced: () => boolean = () => false,
  arrivedAt = now(),
): Delivery {
  return { isCurrent: () => now() - arrivedAt < deletionMs && !isReplaced() };
}

/** Cookies with a session's tokens. @param replaced the tokens that these replace, as far as the caller knows */
export function deliveryOf<Content>(
  { source, refresh, revocations }: SessionContext<Content>,
  stored: StoredSession<Content>,
  replaced: readonly Holder[] = [],
): Delivery {
  const newest = holderOf(source, stored);
  const keys = revocations.keysOf(stored, newest.pair);
  const isSuperseded = (): boolean => refresh.isSuperseded(stored.sessionId, newest.token, stored.issuedAt);
  // Another browser may hold later tokens of a session whose id the provider continues.
  const wasSuperseded = isSuperseded();
  const isLatest = (): boolean =>
    revocations.knownRevocation(keys) === undefined &&
    !revocations.isSpent(keys) &&
    !refresh.isLed(newest) &&
    (wasSuperseded || !isSuperseded());
  // What became of a token is forgotten after a while.
  let wasLatest = true;
  const isCurrent = (): boolean => (wasLatest &&= isLatest());
  const onDelivered = (): void =>
    refresh.received(
      newest.token,
      replaced.map(({ token }) => token),
    );
  if (!revocations.isShared) return { isCurrent, onDelivered };
  const recheck = async (): Promise<void> => {
    await Promise.all([refresh.ask(newest.token), revocations.check(keys).catch(() => undefined)]);
    isCurrent();
  };
  return { isCurrent, recheck, onDelivered };
}

interface Renewed<Content> {
  readonly session: Session;
  readonly stored: StoredSession<Content>;
  /** The tokens that these replace. */
  readonly replaced: readonly Holder[];
}

/** A renewed session and its cookies. */
export async function resolutionOf<Content>(
  context: SessionContext<Content>,
  { session, stored, replaced }: Renewed<Content>,
  cookies: RequestCookies,
): Promise<Resolution> {
  const delivery = deliveryOf(context, stored, replaced);
  return { session, cookies: await context.writer.write(stored.content, cookies), ...delivery };
}
