import type { Request } from 'express';
import type { IncomingMessage } from 'node:http';
import { createSharedOutcomes } from '../tools/shared-outcomes.ts';
import { AuthError } from '../errors.ts';
import type { Emit } from '../session/events.ts';
import type { AdapterName, Session, SessionOf } from '../types.ts';
import { accountName } from '../pages/texts.ts';
import type { Acceptance } from './adapter.ts';

/** The option `accept`: only `true` lets a session in. */
export type Accept<S extends Session> = (session: S, req: Request) => boolean | Promise<boolean>;

interface AcceptanceSettings {
  readonly timeoutMs: number;
  readonly maxCachedSessions: number;
  readonly emit: Emit;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The refusal of a session by `accept`. It knows the account's name for the error page, and neither prints nor serializes it. */
export class NotAccepted extends AuthError {
  readonly #account: string | undefined;
  readonly #isStored: boolean;

  /** @param isStored whether the session exists: a refused sign-in signed no one in */
  constructor(session: Session, isStored = true) {
    super('not_accepted');
    this.#account = accountName(session);
    this.#isStored = isStored;
  }

  get isStored(): boolean {
    return this.#isStored;
  }

  get account(): string | undefined {
    return this.#account;
  }
}

interface Answer {
  readonly isAccepted: boolean;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  isReported: boolean;
}

/** Minimum number of kept answers, also where the cache of sessions is off. */
const minAnswers = 1_000;
/** Milliseconds that an answer outlives its token: during an outage a token is served a little longer. */
const graceMs = 60_000;

/** @returns `undefined` where the application accepts every session */
export function createAcceptance<A extends AdapterName>(
  adapter: A,
  accept: Accept<SessionOf<A>> | undefined,
  settings: AcceptanceSettings,
): Acceptance | undefined {
  if (accept === undefined) return undefined;
  const { emit, timeoutMs, maxCachedSessions, now } = settings;
  const answers = createSharedOutcomes<Answer>({
    now,
    keepMs: ({ expiresAt }) => Math.max(0, expiresAt - now()) + graceMs,
    joinMs: timeoutMs,
    max: Math.max(maxCachedSessions, minAnswers),
  });
  /** Without it, each request would hash the token of its cached session (3 µs). */
  const accepted = new WeakSet<Session>();
  const isOwn = (session: Session): session is SessionOf<A> => session.adapter === adapter;
  const decide = async (session: Session, req: IncomingMessage): Promise<Answer> => {
    const answer: unknown = isOwn(session) && (await accept(session, req as Request));
    return { isAccepted: answer === true, expiresAt: session.expiresAt, isReported: false };
  };
  const find = async (session: Session, req: IncomingMessage): Promise<Answer> => {
    // A cookie's session may show more than a bearer token's, so one's answer does not decide about the other.
    const key = [session.credential, session.accessToken];
    const answer = await answers.share(key, () => decide(session, req));
    if (answer.isAccepted) accepted.add(session);
    return answer;
  };
  return {
    isAccepted: (session) => accepted.has(session),
    ask: async (session, req) => (await find(session, req)).isAccepted,
    async admits(session, req) {
      const answer = await find(session, req);
      if (!answer.isAccepted && !answer.isReported) {
        answer.isReported = true;
        emit({ type: 'session_rejected', reason: 'not_accepted' });
      }
      return answer.isAccepted;
    },
  };
}
