import { setTimeout } from 'node:timers/promises';
import type { Session as SdkSession } from '@supabase/supabase-js';
import { defined } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { json } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { EmailConfirmationBody, MailSentBody } from '../../types.ts';
import { outOfTime } from '../supabase/connection.ts';
import type { BackendContext } from '../context.ts';
import type { FlowKind } from '../supabase/flow-cookies.ts';
import { asBadAddress } from './fields.ts';
import { mailPage, mailWords, otherLinkPage } from '../pages/notice.ts';
import type { MailNotice } from '../pages/notice.ts';
import { siteFor } from '../pages/parts.ts';
import { resendAfter } from '../pages/resend.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import type { SupabaseCall } from '../supabase/supabase-call.ts';
import { mailWaitSeconds } from './attempts.ts';

/** The response after `sendMail`: the same for every address, whether or not an email was sent. GoTrue sends an address one per minute. */
export function mailAnswer(backend: BackendContext, request: AuthRequest, notice: MailNotice): Reply {
  const resend = resendAfter(mailWaitSeconds, backend.settings.now());
  const site = siteFor(backend, request);
  if (!request.wantsJson) return mailPage(site, request, { ...notice, resend });
  const { email, returnTo } = notice;
  const sent: MailSentBody = {
    email,
    message: mailWords(site, notice).plain,
    redirectTo: request.signInUrl(returnTo),
  };
  const body: MailSentBody | EmailConfirmationBody =
    notice.kind === 'forgot_sent' ? sent : { emailConfirmationRequired: true, ...sent };
  return { ...json(200, body), hasTexts: true };
}

/** After the first of the two links that confirm a changed address. */
export function otherLinkAnswer(backend: BackendContext, request: AuthRequest, returnTo: string): Reply {
  const site = siteFor(backend, request);
  if (!request.wantsJson) return otherLinkPage(site, request, returnTo);
  const message = site.text.otherLinkText.plain;
  return { ...json(200, { otherLinkRequired: true, message, redirectTo: request.urlOf(returnTo) }), hasTexts: true };
}

/** One call to the backend that may send an email, from a form that must not reveal whether an account exists. */
interface MailCall {
  readonly email: string;
  readonly returnTo: string;
  /** Whether this call always sends an email; otherwise the response waits for it, because it may return a session. */
  readonly sendsMail: boolean;
  /** Whether it is known to send none: then no response may say that it did, and every refusal is told. */
  readonly sendsNone?: boolean;
  /** Acts as this session's user. */
  readonly session?: StoredContent | undefined;
  /** GoTrue errors that depend on the address only in this call. */
  readonly telling?: readonly string[];
  /** GoTrue errors that do not depend on the address in this call, beyond those that never do. */
  readonly plain?: readonly string[];
  /** The purpose of the email's link. Default `mail`. */
  readonly kind?: FlowKind;
  /** @returns `null` where an email was sent or may have been */
  readonly ask: (call: SupabaseCall) => Promise<SdkSession | null>;
}

/** The deadline of a call, in milliseconds: sending an email takes longer than a visitor waits. */
const callLifeMs = 25_000;

/**
 * GoTrue errors of sign-up and resend that do not depend on the address, or that the project's owner wrote (`unknown`). All other
 * errors, including future ones, may occur for some addresses only: a limit per address, a failing mail server.
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
  // About a guest's own session, whatever the address.
  'bad_jwt',
  'insufficient_aal',
]);

/**
 * Runs such a call. Where it returns `null`, every address gets the same response after `mailAnswerMs`, with
 * the flow's cookies. A refusal is held back until then; a slower email continues in the background.
 *
 * @throws {AuthError} errors that do not depend on the address: our own limit, a weak password, an outage
 */
export async function sendMail(
  backend: BackendContext,
  request: AuthRequest,
  { email, returnTo, sendsMail, sendsNone = false, session, telling, plain, kind = 'mail', ask }: MailCall,
): Promise<SdkSession | null> {
  const { settings, supabase, flows, attempts, emit } = backend;
  const { background } = backend.resolver;
  const { mailAnswerMs, timeoutMs } = settings;
  const failed = ({ code, reason }: AuthError): void => emit({ type: 'mail_failed', code, ...defined({ reason }) });
  let asked: SupabaseCall | undefined;
  const send = async (call: SupabaseCall): Promise<SdkSession | null> => {
    asked = call;
    try {
      return await ask(call);
    } catch (error) {
      if (sendsNone || !tellsWhoExists(error, telling, plain)) return asBadAddress(error);
      failed(error);
      return null;
    }
  };
  const isAnsweredEarly = sendsMail && mailAnswerMs > 0 && !background.mustWait;
  const started = Promise.withResolvers<{ readonly answerIsDue: Promise<void>; readonly patience: Promise<void> }>();
  // The timers start behind the throttle, so that a refused attempt starts none.
  const work = () => {
    const answerIsDue = wait(mailAnswerMs);
    started.resolve({ answerIsDue, patience: isAnsweredEarly ? answerIsDue : wait(timeoutMs) });
    return supabase.call(request, send, { lifeMs: callLifeMs, session, signsIn: false });
  };
  const outcome = attempts.runMessage(request.req, email, work);
  const { answerIsDue, patience } = await Promise.race([started.promise, outcome.then(() => started.promise)]);
  const result = await Promise.race([outcome, patience.then(() => undefined)]);
  if (result === undefined) {
    // A session that arrives after the response is ended.
    const end = (late: SdkSession | null): Promise<void> | null => late && backend.supabase.discard(late);
    const ended = outcome.then(end).catch((error: unknown) => {
      if (error instanceof AuthError) failed(error);
    });
    background.outlive(ended);
    if (!isAnsweredEarly) throw outOfTime();
  } else if (result !== null) return result;
  await answerIsDue;
  if (asked !== undefined) request.writeCookies(flows.remember(asked.started(), { kind, returnTo }, request.cookies));
  return null;
}

/** The timer does not keep the process alive. */
function wait(ms: number): Promise<void> {
  return setTimeout(ms, undefined, { ref: false });
}

function tellsWhoExists(
  error: unknown,
  telling: readonly string[] = [],
  plain: readonly string[] = [],
): error is AuthError {
  if (!(error instanceof AuthError) || error.reason === undefined) return false;
  return telling.includes(error.reason) || !(saysNothing.has(error.reason) || plain.includes(error.reason));
}
