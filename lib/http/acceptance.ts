import type { Request } from 'express';
import type { IncomingMessage } from 'node:http';
import { createBoundedMap } from '../core/bounded-map.ts';
import { withDeadline } from '../core/deadline.ts';
import { AuthError } from '../errors.ts';
import type { Emit } from '../session/events.ts';
import { outOfTime } from '../session/resolution.ts';
import type { AdapterName, Session, SessionOf } from '../types.ts';
import { accountName } from './page-text.ts';

/** The option `accept`: only `true` lets a session in. */
export type Accept<S extends Session> = (session: S, req: Request) => boolean | Promise<boolean>;

/** The application's answers about sessions, each kept as long as the verified token. */
export interface Acceptance {
  /** Whether the answer is known and is `true`; a look-up. */
  isAccepted(session: Session): boolean;
  /**
   * Asks the application, once per token: concurrent requests share the call, and a throw is not kept.
   *
   * @param startedAt when the request began to need its session, as a `performance.now()` value
   * @throws {AuthError} `provider_unavailable` where no answer came within the request's time, or whatever `accept` throws
   */
  ask(session: Session, req: IncomingMessage, startedAt: number): Promise<boolean>;
  /** The same for a session that exists: a refusal is reported once. */
  admits(session: Session, req: IncomingMessage, startedAt: number): Promise<boolean>;
}

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

  constructor(session: Session) {
    super('not_accepted');
    this.#account = accountName(session);
  }

  get account(): string | undefined {
    return this.#account;
  }
}

interface Answer {
  readonly isAccepted: boolean;
  isReported: boolean;
}

/** Minimum number of kept answers, also where the cache of sessions is off. */
const minAnswers = 1_000;
/** The least that an answer counts, in bytes. A longer token counts in full: users write to their own tokens. */
const answerBytes = 2 * 1024;
/** Milliseconds that an answer outlives its token: during an outage a token is served a little longer. */
const graceMs = 60_000;

/** @returns `undefined` where the application accepts every session */
export function createAcceptance<A extends AdapterName>(
  adapter: A,
  accept: Accept<SessionOf<A>> | undefined,
  settings: AcceptanceSettings,
): Acceptance | undefined {
  if (accept === undefined) return undefined;
  const { emit, timeoutMs } = settings;
  const isOwn = (session: Session): session is SessionOf<A> => session.adapter === adapter;
  const decide = async (session: Session, req: IncomingMessage): Promise<Answer> => {
    const answer: unknown = isOwn(session) && (await accept(session, req as Request));
    return { isAccepted: answer === true, isReported: false };
  };
  // A cookie's session may show more than a bearer token's, so one's answer does not decide about the other.
  const answers = { cookie: createAnswers(decide, settings), bearer: createAnswers(decide, settings) };
  const find = (session: Session, req: IncomingMessage, startedAt: number): Promise<Answer> => {
    const ofCredential = answers[session.credential];
    const answer = ofCredential.known(session);
    if (answer !== undefined) return Promise.resolve(answer);
    const restMs = Math.max(0, Math.floor(timeoutMs - (performance.now() - startedAt)));
    return withDeadline(() => ofCredential.request(session, req), restMs, outOfTime);
  };
  return {
    isAccepted: (session) => answers[session.credential].known(session)?.isAccepted === true,
    ask: async (session, req, startedAt) => (await find(session, req, startedAt)).isAccepted,
    async admits(session, req, startedAt) {
      const answer = await find(session, req, startedAt);
      if (!answer.isAccepted && !answer.isReported) {
        answer.isReported = true;
        emit({ type: 'session_rejected', reason: 'not_accepted' });
      }
      return answer.isAccepted;
    },
  };
}

/** Answers by access token. The session cache holds the same text, whose hash the engine has already computed. */
function createAnswers(
  decide: (session: Session, req: IncomingMessage) => Promise<Answer>,
  { timeoutMs, maxCachedSessions, now }: AcceptanceSettings,
) {
  const max = Math.max(maxCachedSessions, minAnswers) * answerBytes;
  const kept = createBoundedMap<Answer>({ max, sizeOf: () => answerBytes, ttlMs: graceMs, now });
  const running = new Map<string, Promise<Answer>>();

  function start(session: Session, req: IncomingMessage): Promise<Answer> {
    const { accessToken, expiresAt } = session;
    const call = decide(session, req).then((answer) => {
      const size = Math.max(answerBytes, accessToken.length);
      kept.set(accessToken, answer, { size, ttl: Math.max(0, expiresAt - now()) + graceMs });
      return answer;
    });
    // A call that never settles must not keep its session out for good: after the deadline the next request asks again.
    return withDeadline(() => call, timeoutMs, outOfTime).finally(() => running.delete(accessToken));
  }

  return {
    known: ({ accessToken }: Session): Answer | undefined => kept.get(accessToken),
    request(session: Session, req: IncomingMessage): Promise<Answer> {
      const known = running.get(session.accessToken);
      if (known !== undefined) return known;
      const started = start(session, req);
      running.set(session.accessToken, started);
      // Those that wait get the failure; where all have given up, it ends here.
      started.catch(() => undefined);
      return started;
    },
  };
}
