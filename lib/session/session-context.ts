import type { Allowance } from './allowance.ts';
import type { Background } from '../tools/background.ts';
import type { Session } from '../types.ts';
import type { Emit } from './events.ts';
import type { Revocations } from './ended/revocations.ts';
import type { SessionCache } from './cache.ts';
import type { SessionSource, SessionWriter, StoredSession, Verdict } from './source.ts';
import type { Holder } from './refresh/answers.ts';
import { hash, pairOf, refreshTokenName } from './ended/record.ts';
import type { Refresh } from './refresh/refresh.ts';

/** Shared by the parts of one adapter's sessions. */
export interface SessionContext<Content> {
  readonly source: SessionSource<Content>;
  readonly refresh: Refresh;
  readonly revocations: Revocations;
  readonly cache: SessionCache;
  /** Sessions that were verified while the coordinator did not answer: another process may know of their end. */
  readonly unconfirmed: WeakSet<Session>;
  /** When a session began whose token does not say so, in milliseconds since the epoch. */
  readonly starts: WeakMap<Session, number>;
  readonly writer: SessionWriter<Content>;
  readonly allowanceOf: (peer: string | undefined) => Allowance;
  /** What no response waits for. */
  readonly background: Background;
  readonly emit: Emit;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How long before its expiry a token is renewed in the background, at most a tenth of its lifetime; 0 turns that off. */
  readonly refreshWindowMs: number;
  /** The maximum duration of one `resolve` in milliseconds, including all calls to the provider. */
  readonly timeoutMs: number;
}

/** Tokens of a session, as a browser holds them. */
export function holderOf<Content>(
  source: Pick<SessionSource<Content>, 'adapter' | 'deserialize' | 'toStored'>,
  stored: Pick<StoredSession<Content>, 'issuedAt' | 'refreshToken' | 'token'>,
): Holder {
  const { issuedAt } = stored;
  const { text: own } = stored.token;
  const token = refreshTokenName(source.adapter, stored.refreshToken);
  return {
    token,
    pair: pairOf(token, own),
    isNewer(text) {
      const content = source.deserialize(text);
      if (content === undefined) return true;
      const other = source.toStored(content);
      return other.token.text !== own && other.issuedAt >= issuedAt;
    },
  };
}

/**
 * Whether a session that has reached its lifetime by its cookie is in use, and goes on by the token that it was renewed to.
 *
 * @returns `undefined` where only the other processes can tell, and they were not heard
 */
export async function goesOn(
  { refresh }: Pick<SessionContext<unknown>, 'refresh'>,
  holder: Holder,
  verdict: Verdict,
): Promise<boolean | undefined> {
  if (verdict.kind !== 'invalid' || verdict.isAged !== true) return false;
  // A made-up token costs the other processes no question.
  return verdict.isOver === true ? refresh.findNewer(holder) : false;
}

/** Identifies the user of tokens. */
export function ownerOf({ userId }: Pick<StoredSession<unknown>, 'userId'>): string | undefined {
  return userId === undefined ? undefined : hash(userId);
}
