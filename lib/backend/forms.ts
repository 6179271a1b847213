/**
 * How to add a form route, with its page, JSON, throttle and the same answer for everyone:
 *
 *     export function forgotRoute(backend: BackendContext): AuthRoute {
 *       return {
 *         path: backend.settings.forgotPath,
 *         option: 'forgotPath',
 *         get: (request) => forgotPage(backend, request, { returnTo: readReturnTo(request) }),
 *         async post(request) {
 *           const fields = await readFields(request.req, request.res);
 *           const state = { returnTo: readReturnTo(request, fields), email: fields.get('email') };
 *           try {
 *             const email = readEmail(fields);
 *             …
 *             return redirectOrJson(request, state.returnTo);
 *           } catch (error) {
 *             return forgotPage(backend, request, { ...state, error: errorForForm(backend, request, error) });
 *           }
 *         },
 *       };
 *     }
 *
 * - The page is a function in `pages/` of the site, the request and its state; its words stand in `pages/text.ts`.
 * - `attempts.run` counts a try against its address and network before the backend is asked.
 * - `supabase.call` talks to the backend; `sendMail` does it so that every address gets the same answer in the same time.
 * - `completeSignIn` verifies and stores what the backend issued. What is to be remembered until a callback is in `sign-in/flow-cookies.ts`.
 * - The path option goes into `options.ts` and `option-schema.ts`, the route into the list in `index.ts`.
 */
import { defined } from '../core/json.ts';
import { withQuery } from '../core/url.ts';
import { AuthError } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { Fields } from '../http/body.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { redirect, redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { signInFailed } from '../session/events.ts';
import type { Emit } from '../session/events.ts';
import type { BackendOptions } from './options.ts';
import type { PagesText } from './pages/text.ts';

/** The fields that a message can stand beside; `form` is all of them. */
export type FieldName = 'email' | 'password' | 'currentPassword' | 'code' | 'form';

/** What is wrong with a form before the backend is asked: the field, and the error for clients that show no form. */
export class FormProblem extends AuthError {
  readonly field: FieldName;
  readonly text: keyof PagesText;

  constructor(field: FieldName, text: keyof PagesText, message: string) {
    super('invalid_request', { message });
    this.field = field;
    this.text = text;
  }
}

/** bcrypt reads no further, and GoTrue refuses more. */
const maxPasswordBytes = 72;

/** Where to go afterwards, made safe: from the form, else from the query. */
export function readReturnTo(request: AuthRequest, fields?: Fields): string {
  return request.returnTo(fields?.get('returnTo') ?? request.query.get('returnTo'));
}

/** @throws {FormProblem} for what is no address */
export function readEmail(fields: Fields): string {
  const email = (fields.get('email') ?? '').trim();
  if (email === '') throw new FormProblem('email', 'emailMissing', 'The email address is missing.');
  // Only what can be no address at all; the mail decides the rest.
  if (email.length > 320 || email.includes('..') || !/^[^\s\0-\x1f\x7f-\x9f@]+@[^\s\0-\x1f\x7f-\x9f@]+$/.test(email)) {
    throw new FormProblem('email', 'emailInvalid', 'The email address is not valid.');
  }
  return email;
}

/** @throws {FormProblem} where it is missing */
export function readPassword(fields: Fields): string {
  const password = fields.get('password') ?? '';
  if (password === '') throw new FormProblem('password', 'passwordMissing', 'The password is missing.');
  return password;
}

/** The digits of an email, however they were grouped. @throws {FormProblem} for what can be no code */
export function readEmailCode(fields: Fields): string {
  const code = (fields.get('code') ?? '').replaceAll(/[\s-]/g, '');
  // A project chooses between six and ten.
  if (/^\d{6,10}$/.test(code)) return code;
  throw new FormProblem('code', 'emailCodeMissing', 'The code is missing, or is not one of six to ten digits.');
}

/** @throws {AuthError} `weak_password`, though it is the only way to be too strong; {FormProblem} where it is missing */
export function readNewPassword(fields: Fields): string {
  const password = readPassword(fields);
  if (Buffer.byteLength(password) <= maxPasswordBytes) return password;
  throw new AuthError('weak_password', {
    message: `Passwords can be at most ${maxPasswordBytes} bytes long. Choose a shorter one.`,
  });
}

/** Six digits, however they were grouped. @throws {FormProblem} for anything else */
export function readCode(fields: Fields): string {
  const code = (fields.get('code') ?? '').replace(/[\s-]/g, '');
  if (code === '') throw new FormProblem('code', 'codeMissing', 'The code is missing.');
  if (!/^\d{6}$/.test(code)) throw new AuthError('code_wrong', { reason: 'malformed' });
  return code;
}

/** The answer to a captcha, under the name of whichever widget the application uses, as the SDK takes it. */
export function readCaptcha(fields: Fields): { readonly captchaToken?: string } {
  const captchaToken =
    fields.get('captchaToken') ?? fields.get('cf-turnstile-response') ?? fields.get('h-captcha-response');
  return defined({ captchaToken });
}

/**
 * The failure that a form shows above itself; it is an event, too.
 *
 * @throws what no form shows: any failure where the client wants JSON, and errors of the application's own
 */
export function errorForForm({ emit }: { readonly emit: Emit }, request: AuthRequest, error: unknown): AuthError {
  emit(signInFailed(error), request.startedAt);
  if (!(error instanceof AuthError) || request.wantsJson) throw error;
  return error;
}

/**
 * For `catch`: gives a refusal of the backend the code that it has in this form, and throws every other failure as it is.
 *
 * @param isMeant whether it is that refusal
 */
export function rethrowAs(code: AuthErrorCode, isMeant: (refusal: AuthError) => boolean): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AuthError) || !isMeant(error)) throw error;
    throw new AuthError(code, { cause: error.cause, reason: error.reason });
  };
}

/**
 * Where a form is, if it is not the answer itself: at the application's own page, or, for a client that wants JSON, at its URL.
 *
 * @param ownPage the option for the application's own page
 * @param path the built-in form's
 */
export function formElsewhere(
  request: AuthRequest,
  ownPage: string | undefined,
  path: string,
  returnTo: string,
): Reply | undefined {
  if (ownPage === undefined && !request.wantsJson) return undefined;
  return redirectOrJson(request, withWayBack(request, ownPage ?? request.localPath(path), returnTo), 302);
}

/** Back to the application's own page, which gets the error's code. */
export function failureElsewhere(request: AuthRequest, ownPage: string, error: AuthError, returnTo: string): Reply {
  return redirect(303, withWayBack(request, ownPage, returnTo, { error: error.code }));
}

/** The URL of one of the adapter's own pages, with the way back in `returnTo`, after further parameters. */
export function localUrl(
  request: AuthRequest,
  path: string,
  returnTo: string,
  parameters?: Readonly<Record<string, string>>,
): string {
  return withWayBack(request, request.localPath(path), returnTo, parameters);
}

function withWayBack(
  request: AuthRequest,
  url: string,
  returnTo: string,
  parameters: Readonly<Record<string, string>> = {},
): string {
  return withQuery(url, { ...parameters, ...(returnTo === request.home ? {} : { returnTo }) });
}

/** The absolute URL to which the backend sends the browser back; it must be on the project's list of redirect URLs. */
export function redirectUrl(
  request: AuthRequest,
  { callbackUrl, callbackPath }: Pick<BackendOptions, 'callbackUrl' | 'callbackPath'>,
): string {
  const url = callbackUrl ?? request.publicUrl(callbackPath);
  request.definition.explain('the redirect URL is %s', url);
  return url;
}
