import type { IncomingMessage } from 'node:http';
import { AuthError } from '../../errors.ts';
import { FormProblem } from './fields.ts';

/** The `reason` of a refusal because an email with a code was sent within the last minute. */
export const mailedBefore = 'email_sent_before';
/** The `reason` of a refusal because too many codes were wrong. */
export const tooManyCodes = 'too_many_codes';
/** Seconds until an address can get its next email with a code. */
export const mailWaitSeconds = 60;

/**
 * Limits attempts before the backend is called. Guesses, links and messages have counts of their own. All methods reject with `rate_limited` before `work` starts, or with its error.
 * A refused attempt is not counted, only failures and attempts in progress are: `retryAfter` is the seconds until the window
 * ends, or one while attempts in progress may still make room.
 */
export interface Attempts {
  /**
   * Runs an attempt that counts against its network, and against its account there, so that the owner can sign in from elsewhere.
   *
   * @param email in any spelling; `undefined` for an answer that names no account
   */
  run<Result>(req: IncomingMessage, email: string | undefined, work: () => Promise<Result>): Promise<Result>;
  /** Runs an attempt with the token of an email's link or the code of a callback, which counts against its network. */
  runLink<Result>(req: IncomingMessage, work: () => Promise<Result>): Promise<Result>;
  /** Runs the application's own functions for a form, which any answer of theirs counts against its network. */
  runCheck<Result>(req: IncomingMessage, work: () => Promise<Result>): Promise<Result>;
  /** Runs a call that signs up or sends a message, for its account and network: one that succeeds stays counted. */
  runMessage<Result>(req: IncomingMessage, account: string, work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs an attempt with a six-digit code. After five wrong ones, from any networks, all are refused for 15 minutes.
   *
   * @param subject the owner of the code, such as `factor:<id>`
   */
  runCode<Result>(req: IncomingMessage, subject: string, work: () => Promise<Result>): Promise<Result>;
  /** The same for an emailed code: five wrong ones from a network are refused there, 30 from all networks everywhere. */
  runMailedCode<Result>(req: IncomingMessage, email: string, work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs a call that asks for a challenge that a browser's key answers: 100 per window for a network. One that fails is not counted.
   *
   * @param userId of a visitor who has given a first factor: views of the sign-in page must not use up what this step needs
   */
  runChallenge<Result>(req: IncomingMessage, userId: string | undefined, work: () => Promise<Result>): Promise<Result>;
  /** Runs a call that sends an email with a code: one per minute for an address. One that fails is not counted. */
  runMail<Result>(email: string, work: () => Promise<Result>): Promise<Result>;
}

const run: Attempts['runCode'] & Attempts['runChallenge'] = (_req, _subject, work) => work();

/** Refuses nothing. */
export const unlimited: Attempts = {
  run,
  runLink: (_req, work) => work(),
  runCheck: (_req, work) => work(),
  runMessage: run,
  runCode: run,
  runMailedCode: run,
  runChallenge: run,
  runMail: (_email, work) => work(),
};

/** The error of an attempt over a limit. An email asked for twice, or a code after wrong ones, is not one of “too many attempts”. @param retryAfter seconds */
export function refusedAttempt(retryAfter: number, reason: string | undefined): AuthError {
  const options = { code: 'rate_limited', retryAfter, reason } as const;
  if (reason === mailedBefore)
    return new FormProblem('form', 'codeEmailsLimited', 'We can’t send another email yet.', options);
  if (reason === tooManyCodes) return new FormProblem('form', 'codeClosed', 'Too many wrong codes.', options);
  return new AuthError('rate_limited', options);
}
