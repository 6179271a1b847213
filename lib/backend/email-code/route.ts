import { defined } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/request.ts';
import { json } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { MailSentBody } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { FormProblem, asBadAddress, digitsOf, readCaptcha, readEmail } from '../forms/fields.ts';
import { formRoute, redirectUrl } from '../forms/forms.ts';
import { sendMail } from '../forms/mail.ts';
import { emailCodeMethod } from './options.ts';
import { codePage } from './page.ts';
import { siteFor } from '../pages/parts.ts';
import { resendAfter, resendOf, waitIn } from '../pages/resend.ts';
import type { Resend } from '../pages/resend.ts';
import { fillIn } from '../../pages/texts.ts';
import type { SupabaseCall } from '../supabase/supabase-call.ts';
import { has, readAction } from '../forms/action.ts';
import { mailedBefore, mailWaitSeconds, tooManyCodes, unlimited } from '../forms/attempts.ts';
import { completeSignIn } from '../sign-in/sign-in.ts';

/**
 * GoTrue errors of `/otp` that reveal whether an account exists: closed sign-up and a
 * `before_user_created` hook refuse only addresses without an account.
 */
const telling = ['signup_disabled', 'unknown'];

/** Maps GoTrue's errors for a wrong code. GoTrue checks a ban before the code, so a ban must not be revealed here: the link tells it. */
function asWrongCode(error: unknown): never {
  const isWrong = error instanceof AuthError && (error.code === 'link_expired' || error.code === 'user_banned');
  if (!isWrong) throw error;
  const { cause, reason } = error;
  const message = 'That code isn’t right or has expired. Enter the newest one, or open the link in the email.';
  throw new FormProblem('code', 'emailCodeWrong', message, { code: 'code_wrong', cause, reason });
}

/** The option is another room's. */
const createsAccounts = (settings: Readonly<Record<string, unknown>>): boolean => settings['signUp'] !== false;

interface CodeForm {
  readonly email: string;
  readonly returnTo: string;
  readonly fields: Fields;
}

async function sendCode(backend: BackendContext, request: AuthRequest, form: CodeForm): Promise<Reply> {
  const { settings, attempts } = backend;
  const { email, returnTo, fields } = form;
  const options = {
    shouldCreateUser: createsAccounts(settings),
    emailRedirectTo: redirectUrl(request, settings),
    ...readCaptcha(fields),
  };
  const call = {
    email,
    returnTo,
    sendsMail: true,
    telling,
    // GoTrue then refuses every address, known or not.
    plain: createsAccounts(settings) ? ['otp_disabled'] : [],
    ask: async ({ auth, unwrap }: SupabaseCall) => {
      unwrap(await auth.signInWithOtp({ email, options }));
      return null;
    },
  };
  await attempts.runMail(email, () => sendMail(backend, request, call));
  if (!request.wantsJson) {
    const resend = attempts === unlimited ? undefined : resendAfter(mailWaitSeconds, settings.now());
    const codesOpen = codesOpenAt(backend, fields, undefined);
    return codePage(siteFor(backend, request), request, { step: 'code', email, returnTo, resend, codesOpen });
  }
  const message = fillIn(siteFor(backend, request).text.emailCodeSentText, { email }).plain;
  const body: MailSentBody = { email, message, redirectTo: request.signInUrl(returnTo) };
  return { ...json(200, body), hasTexts: true };
}

const actionOf = (fields: Fields) => readAction(fields, { reload: has('reload'), enter: has('code') }, 'send');

/** The page of a sent code anew: it takes codes again after the time that its message named. */
function showAgain(backend: BackendContext, request: AuthRequest, { email, returnTo, fields }: CodeForm): Reply {
  // A page's form alone has it.
  if (request.wantsJson) throw new AuthError('invalid_request');
  const resend = resendOf(fields, backend.settings.now());
  const codesOpen = codesOpenAt(backend, fields, undefined);
  return codePage(siteFor(backend, request), request, { step: 'code', email, returnTo, resend, codesOpen });
}

/** When the next email can be sent: as this refusal says, or as the form brought back. */
function nextEmail({ settings }: BackendContext, fields: Fields, error: AuthError | undefined): Resend | undefined {
  const now = settings.now();
  const { reason, retryAfter } = error ?? {};
  return reason === mailedBefore && retryAfter !== undefined ? resendAfter(retryAfter, now) : resendOf(fields, now);
}

/** How long too many wrong codes close them, in seconds. */
const closedSeconds = 15 * 60;

/** When codes are accepted again: as this refusal says, or as the form brought along. */
function codesOpenAt({ settings }: BackendContext, fields: Fields, error: AuthError | undefined): Resend | undefined {
  const now = settings.now();
  return error?.reason === tooManyCodes && error.retryAfter !== undefined
    ? resendAfter(error.retryAfter, now)
    : waitIn(fields, 'codesAt', { now, longest: closedSeconds });
}

async function enterCode(backend: BackendContext, request: AuthRequest, form: CodeForm): Promise<string> {
  const { supabase, attempts } = backend;
  const { email, returnTo, fields } = form;
  const token = readEmailCode(fields);
  const check = () =>
    supabase.call(request, async ({ auth, unwrap }) => {
      const result = await auth.verifyOtp({ email, token, type: 'email' });
      return unwrap(result).session;
    });
  const issued = await attempts
    .runMailedCode(request.req, email, () => check().catch(asWrongCode).catch(asBadAddress))
    .catch(asCodesLimited);
  if (issued === null) throw new AuthError('token_rejected');
  return completeSignIn(backend, request, issued, returnTo, emailCodeMethod);
}

/** Codes are refused for a while; the link in the same email is not. */
function asCodesLimited(error: unknown): never {
  if (!(error instanceof AuthError) || error.reason !== tooManyCodes) throw error;
  const { code, reason, retryAfter } = error;
  const message = 'Too many wrong codes. If you have our newest email, you can open its link.';
  throw new FormProblem('form', 'codesLimited', message, { code, reason, ...defined({ retryAfter }) });
}

/**
 * `/auth/code`: signs in by an emailed code. A POST with `email` sends it, with the same response for every
 * address. A POST with `email` and `code` signs in. The link in the same email also works without the code.
 */
export function codeRoute(backend: BackendContext): AuthRoute {
  return formRoute(backend, {
    path: backend.settings.paths.code,
    option: 'paths.code',
    page(request, { returnTo, fields, error }) {
      const isOfAddress = error instanceof FormProblem && error.field === 'email';
      // Where an email was sent shortly before, its code can be entered.
      const wasSent = !isOfAddress && (fields.has('code') || error?.reason === mailedBefore);
      const email = fields.get('email')?.trim();
      const resend = nextEmail(backend, fields, error);
      return codePage(siteFor(backend, request), request, {
        step: wasSent ? 'code' : 'address',
        email,
        returnTo,
        resend,
        codesOpen: codesOpenAt(backend, fields, error),
        error,
      });
    },
    async submit(request, fields, returnTo) {
      const form = { email: readEmail(fields), returnTo, fields };
      switch (actionOf(fields)) {
        case 'reload':
          return showAgain(backend, request, form);
        case 'enter':
          return enterCode(backend, request, form);
        case 'send':
          return sendCode(backend, request, form);
      }
    },
  });
}

/** An emailed code. @throws {FormProblem} where it cannot be one */
export function readEmailCode(fields: Fields): string {
  const code = digitsOf(fields);
  // A project configures six to ten digits.
  if (/^\d{6,10}$/.test(code)) return code;
  throw new FormProblem('code', 'emailCodeMissing', 'The code is missing, or is not one of six to ten digits.');
}
