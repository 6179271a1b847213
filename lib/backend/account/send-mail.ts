import { setTimeout } from 'node:timers/promises';
import type { Session } from '@supabase/supabase-js';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import type { Emit } from '../../session/events.ts';
import type { Attempts } from '../throttle-options.ts';
import { outOfTime } from '../connection.ts';
import type { Supabase, SupabaseCall } from '../supabase.ts';
import type { FlowCookies, FlowKind } from '../sign-in/flow-cookies.ts';
import { rememberFlow } from '../sign-in/start-flow.ts';
import type { StoredContent } from '../session-cookie.ts';

/** One call to the backend that may send an email, from a form that must not tell who has an account. */
export interface MailCall {
  readonly email: string;
  readonly returnTo: string;
  /** Whether this call is known to send an email; else it is waited for, because it may bring a session. */
  readonly sendsMail: boolean;
  /** Acts as this session's user. */
  readonly session?: StoredContent | undefined;
  /** GoTrue's errors that come for some addresses only in this call, though in others they say nothing of an address. */
  readonly telling?: readonly string[];
  /** What the email's link is for. Default `mail`. */
  readonly kind?: FlowKind;
  /** @returns `null` where an email is sent or might have been */
  readonly ask: (call: SupabaseCall) => Promise<Session | null>;
}

/**
 * Runs such a call. For `null` every address gets the same answer: the flow's cookies are written, and the time is `mailAnswerMs`. Until
 * then a refusal is held back, and after it a slow email goes on in the background.
 *
 * @throws {AuthError} what says nothing about the address: a limit of our own, a weak password, an outage
 */
export type SendMail = (request: AuthRequest, call: MailCall) => Promise<Session | null>;

/** How long a call may live, in milliseconds: sending an email takes longer than a visitor waits. */
const callLifeMs = 25_000;

/**
 * GoTrue's errors of sign-up and resend that it decides on before it looks for the address, or that the project's owner wrote (`unknown`).
 * All others, those of tomorrow too, come only for some addresses: a limit per address, a mail server that fails.
 */
const saysNothing: ReadonlySet<string> = new Set([
  'anonymous_provider_disabled',
  'bad_json',
  'captcha_failed',
  'email_exists',
  'email_provider_disabled',
  'over_request_rate_limit',
  'signup_disabled',
  'unknown',
  'user_already_exists',
  'validation_failed',
  'weak_password',
]);

export function createSendMail(parts: {
  readonly settings: { readonly mailAnswerMs: number; readonly timeoutMs: number };
  readonly supabase: Supabase;
  readonly flows: FlowCookies;
  readonly attempts: Attempts;
  /** Ends a session that comes too late for its visitor. */
  readonly discard: (issued: Session) => Promise<void>;
  readonly emit: Emit;
}): SendMail {
  const { settings, supabase, flows, attempts, discard, emit } = parts;
  const { mailAnswerMs, timeoutMs } = settings;
  const failed = ({ code, reason }: AuthError): void =>
    emit({ type: 'mail_failed', code, ...(reason === undefined ? {} : { reason }) });

  return async (request, { email, returnTo, sendsMail, session, telling, kind = 'mail', ask }) => {
    const answerIsDue = wait(mailAnswerMs);
    let started: SupabaseCall | undefined;
    const send = async (call: SupabaseCall): Promise<Session | null> => {
      started = call;
      try {
        return await ask(call);
      } catch (error) {
        if (!tellsWhoExists(error, telling)) throw error;
        failed(error);
        return null;
      }
    };
    const outcome = attempts.run(
      request.req,
      email,
      () => supabase.call(request, send, { lifeMs: callLifeMs, session }),
      'counts',
    );
    const isAnsweredEarly = sendsMail && mailAnswerMs > 0;
    const patience = isAnsweredEarly ? answerIsDue : wait(timeoutMs);
    const result = await Promise.race([outcome, patience.then(() => undefined)]);
    if (result === undefined) {
      const end = (late: Session | null): Promise<void> | null => late && discard(late);
      outcome.then(end).catch((error: unknown) => {
        if (error instanceof AuthError) failed(error);
      });
      if (!isAnsweredEarly) throw outOfTime();
    } else if (result !== null) return result;
    await answerIsDue;
    if (started !== undefined) {
      request.writeCookies(rememberFlow(started, flows, request.cookies, { kind, returnTo }));
    }
    return null;
  };
}

/** Keeps no process alive. */
function wait(ms: number): Promise<void> {
  return setTimeout(ms, undefined, { ref: false });
}

function tellsWhoExists(error: unknown, telling: readonly string[] | undefined): error is AuthError {
  if (!(error instanceof AuthError) || error.reason === undefined) return false;
  return telling?.includes(error.reason) === true || !saysNothing.has(error.reason);
}
