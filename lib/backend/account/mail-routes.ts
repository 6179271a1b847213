import { setTimeout } from 'node:timers/promises';
import type { Session as SdkSession } from '@supabase/supabase-js';
import { defined } from '../../core/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { readFields } from '../../http/body.ts';
import { json, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { EmailConfirmationBody, MailSentBody } from '../../types.ts';
import { outOfTime } from '../connection.ts';
import type { BackendContext } from '../context.ts';
import { errorForForm, formElsewhere, readCaptcha, readEmail, readReturnTo, redirectUrl } from '../forms.ts';
import { forgotPage } from '../pages/credentials.ts';
import { mailPage, mailWords, otherLinkPage } from '../pages/notice.ts';
import type { MailNotice } from '../pages/notice.ts';
import type { StoredContent } from '../session-cookie.ts';
import type { FlowKind } from '../sign-in/flow-cookies.ts';
import { discardIssued } from '../sign-in/pending.ts';
import type { SupabaseCall } from '../supabase-call.ts';

/** `/auth/forgot`: has a link for a new password sent, and says the same about every address. */
export function forgotRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  const { forgotPath } = settings;
  return {
    path: forgotPath,
    option: 'forgotPath',
    get(request) {
      const returnTo = readReturnTo(request);
      return formElsewhere(request, undefined, forgotPath, returnTo) ?? forgotPage(backend, request, { returnTo });
    },
    async post(request) {
      const fields = await readFields(request.req, request.res);
      const returnTo = readReturnTo(request, fields);
      try {
        const email = readEmail(fields);
        const options = { redirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
        const ask = async ({ auth, unwrap }: SupabaseCall): Promise<null> => {
          unwrap(await auth.resetPasswordForEmail(email, options));
          return null;
        };
        await sendMail(backend, request, { email, returnTo, sendsMail: true, kind: 'recovery', ask });
        return mailAnswer(backend, request, { kind: 'forgot_sent', email, returnTo });
      } catch (error) {
        const shown = errorForForm(backend, request, error);
        return forgotPage(backend, request, { returnTo, email: fields.get('email'), error: shown });
      }
    },
  };
}

/** `POST /auth/resend`: has the confirmation email sent again, and says the same about every address. */
export function resendRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  return {
    path: settings.resendPath,
    option: 'resendPath',
    async post(request) {
      const fields = await readFields(request.req, request.res);
      const email = readEmail(fields);
      const returnTo = readReturnTo(request, fields);
      const options = { emailRedirectTo: redirectUrl(request, settings), ...readCaptcha(fields) };
      const ask = async ({ auth, unwrap }: SupabaseCall): Promise<null> => {
        unwrap(await auth.resend({ type: 'signup', email, options }));
        return null;
      };
      await sendMail(backend, request, { email, returnTo, sendsMail: true, ask });
      return mailAnswer(backend, request, { kind: 'mail_sent', email, returnTo });
    },
  };
}

/** After `sendMail`: the same for every address, whether or not an email was sent. */
export function mailAnswer(backend: BackendContext, request: AuthRequest, notice: MailNotice): Reply {
  if (!request.wantsJson) return mailPage(backend, request, notice);
  const { email, returnTo } = notice;
  const sent: MailSentBody = {
    email,
    message: mailWords(backend, notice).plain,
    redirectTo: request.signInUrl(returnTo),
  };
  const body: MailSentBody | EmailConfirmationBody =
    notice.kind === 'forgot_sent' ? sent : { emailConfirmationRequired: true, ...sent };
  return json(200, body);
}

/** After the first of the two links that confirm a changed address. */
export function otherLinkAnswer(backend: BackendContext, request: AuthRequest, returnTo: string): Reply {
  return request.wantsJson ? redirectOrJson(request, returnTo) : otherLinkPage(backend, request, returnTo);
}

/** One call to the backend that may send an email, from a form that must not tell who has an account. */
interface MailCall {
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
  readonly ask: (call: SupabaseCall) => Promise<SdkSession | null>;
}

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

/**
 * Runs such a call. For `null` every address gets the same answer: the flow's cookies are written, and the time is `mailAnswerMs`. Until
 * then a refusal is held back, and after it a slow email goes on in the background.
 *
 * @throws {AuthError} what says nothing about the address: a limit of our own, a weak password, an outage
 */
export async function sendMail(
  backend: BackendContext,
  request: AuthRequest,
  { email, returnTo, sendsMail, session, telling, kind = 'mail', ask }: MailCall,
): Promise<SdkSession | null> {
  const { settings, supabase, flows, attempts, emit } = backend;
  const { mailAnswerMs, timeoutMs } = settings;
  const failed = ({ code, reason }: AuthError): void => emit({ type: 'mail_failed', code, ...defined({ reason }) });
  const answerIsDue = wait(mailAnswerMs);
  let asked: SupabaseCall | undefined;
  const send = async (call: SupabaseCall): Promise<SdkSession | null> => {
    asked = call;
    try {
      return await ask(call);
    } catch (error) {
      if (!tellsWhoExists(error, telling)) throw error;
      failed(error);
      return null;
    }
  };
  const work = () => supabase.call(request, send, { lifeMs: callLifeMs, session });
  const outcome = attempts.run(request.req, email, work, 'counts');
  const isAnsweredEarly = sendsMail && mailAnswerMs > 0;
  const patience = isAnsweredEarly ? answerIsDue : wait(timeoutMs);
  const result = await Promise.race([outcome, patience.then(() => undefined)]);
  if (result === undefined) {
    // A session that comes too late for its visitor ends.
    const end = (late: SdkSession | null): Promise<void> | null => late && discardIssued(backend, late);
    outcome.then(end).catch((error: unknown) => {
      if (error instanceof AuthError) failed(error);
    });
    if (!isAnsweredEarly) throw outOfTime();
  } else if (result !== null) return result;
  await answerIsDue;
  if (asked !== undefined) request.writeCookies(flows.remember(asked.started(), { kind, returnTo }, request.cookies));
  return null;
}

/** Keeps no process alive. */
function wait(ms: number): Promise<void> {
  return setTimeout(ms, undefined, { ref: false });
}

function tellsWhoExists(error: unknown, telling: readonly string[] | undefined): error is AuthError {
  if (!(error instanceof AuthError) || error.reason === undefined) return false;
  return telling?.includes(error.reason) === true || !saysNothing.has(error.reason);
}
