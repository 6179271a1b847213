/**
 * How to add a form route with page, JSON, throttle and the same response for known and unknown addresses:
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
 * - The page is a function in `pages/` that takes the backend, the request and its state; its texts are in `pages/text.ts`.
 * - `attempts.run` counts an attempt for its address and network before the backend is called.
 * - `supabase.call` calls the backend; `sendMail` does so with the same response and timing for every address.
 * - `completeSignIn` verifies and stores the backend's session. `sign-in/flow-cookies.ts` keeps state until a callback.
 * - Add the path option to `options.ts` and `option-schema.ts`, and the route to the list in `index.ts`.
 */
import { defined } from '../core/json.ts';
import { withQuery } from '../core/url.ts';
import { AuthError } from '../errors.ts';
import type { AuthErrorCode, AuthErrorOptions } from '../errors.ts';
import { readFields } from '../http/body.ts';
import type { Fields } from '../http/body.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { redirect, redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { AuthRoute } from '../http/router.ts';
import { signInFailed } from '../session/events.ts';
import type { Emit } from '../session/events.ts';
import type { BackendContext } from './context.ts';
import type { BackendOptions } from './options.ts';
import type { PagesText } from './pages/text.ts';

/** A route whose POST shares a double submit. */
export function withSubmitOnce(backend: BackendContext, { post, ...route }: AuthRoute): AuthRoute {
  return { ...route, ...(post && { post: (request) => answerOnce(backend, request, () => post(request)) }) };
}

async function answerOnce(
  backend: BackendContext,
  request: AuthRequest,
  submit: (fields: Fields) => Reply | Promise<Reply>,
): Promise<Reply> {
  const fields = await readFields(request.req, request.res);
  request.errorReturnTo = readReturnTo(request, fields);
  return backend.submitOnce(request, fields, async () => submit(fields));
}

/** The fields that a message can belong to; `form` means the whole form. */
export type FieldName = 'email' | 'password' | 'currentPassword' | 'code' | 'form';

/** A form error that is found before the backend is called: the field, and the error for clients without a form. */
export class FormProblem extends AuthError {
  readonly field: FieldName;
  readonly text: keyof PagesText;

  constructor(
    field: FieldName,
    text: keyof PagesText,
    message: string,
    { code = 'invalid_request', ...options }: AuthErrorOptions & { readonly code?: AuthErrorCode } = {},
  ) {
    super(code, { ...options, message });
    this.field = field;
    this.text = text;
  }
}

/** bcrypt ignores further bytes, and GoTrue refuses longer passwords. */
const maxPasswordBytes = 72;

/** The sanitized return path: from the form, else from the query. */
export function readReturnTo(request: AuthRequest, fields?: Fields): string {
  return request.returnTo(fields?.get('returnTo') ?? request.query.get('returnTo'));
}

/** @throws {FormProblem} where it is not an email address */
export function readEmail(fields: Fields): string {
  const email = (fields.get('email') ?? '').trim();
  if (email === '') throw new FormProblem('email', 'emailMissing', 'The email address is missing.');
  // Rejects only what cannot be an address; sending the email decides the rest.
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

/** The digits of an emailed code, without spaces and hyphens. @throws {FormProblem} where it cannot be a code */
export function readEmailCode(fields: Fields): string {
  const code = (fields.get('code') ?? '').replaceAll(/[\s-]/g, '');
  // A project configures six to ten digits.
  if (/^\d{6,10}$/.test(code)) return code;
  throw new FormProblem('code', 'emailCodeMissing', 'The code is missing, or is not one of six to ten digits.');
}

/** @throws {AuthError} `weak_password` where it is too long; {FormProblem} where it is missing */
export function readNewPassword(fields: Fields): string {
  const password = readPassword(fields);
  if (Buffer.byteLength(password) <= maxPasswordBytes) return password;
  throw new AuthError('weak_password', {
    message: `Passwords can be at most ${maxPasswordBytes} bytes long. Choose a shorter one.`,
  });
}

/** Six digits, without spaces and hyphens. @throws {FormProblem} where it is missing; {AuthError} `code_wrong` where it is malformed */
export function readCode(fields: Fields): string {
  const code = (fields.get('code') ?? '').replace(/[\s-]/g, '');
  if (code === '') throw new FormProblem('code', 'codeMissing', 'The code is missing.');
  if (!/^\d{6}$/.test(code)) throw new AuthError('code_wrong', { reason: 'malformed' });
  return code;
}

/** The captcha response, under the field name of any supported widget, in the SDK's form. */
export function readCaptcha(fields: Fields): { readonly captchaToken?: string } {
  const captchaToken =
    fields.get('captchaToken') ?? fields.get('cf-turnstile-response') ?? fields.get('h-captcha-response');
  return defined({ captchaToken });
}

/**
 * Emits the failure as an event, and returns it for the form to show.
 *
 * @throws errors that no form shows: all errors where the client wants JSON, and the application's own errors
 */
export function errorForForm({ emit }: { readonly emit: Emit }, request: AuthRequest, error: unknown): AuthError {
  emit(signInFailed(error), request.startedAt);
  if (!(error instanceof AuthError) || request.wantsJson) throw error;
  return error;
}

/**
 * For `catch`: maps one refusal of the backend to this form's error code and rethrows every other error.
 *
 * @param isMeant whether the error is that refusal
 */
export function rethrowAs(code: AuthErrorCode, isMeant: (refusal: AuthError) => boolean): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AuthError) || !isMeant(error)) throw error;
    throw new AuthError(code, { cause: error.cause, reason: error.reason });
  };
}

/**
 * GoTrue's codes for an address that it refuses. A form that was checked here has no other malformed field. The code
 * `email_address_not_authorized` is none of them: GoTrue gives it only for addresses that it sends mail to, so it would tell who has an account.
 */
export const badAddress = ['validation_failed', 'email_address_invalid'];

/** For `catch`: GoTrue's refusal of an address belongs to the field of the address. */
export function asBadAddress(error: unknown): never {
  if (!(error instanceof AuthError) || !badAddress.includes(error.reason ?? '')) throw error;
  const { cause, reason } = error;
  throw new FormProblem('email', 'emailRefused', 'Enter a valid email address.', { cause, reason });
}

/**
 * Redirects where this response does not show the form: to the application's own page, or to the form's URL for JSON clients.
 *
 * @param ownPage the option for the application's own page
 * @param path the path of the built-in form
 */
export function formElsewhere(
  request: AuthRequest,
  ownPage: string | undefined,
  path: string,
  returnTo: string,
): Reply | undefined {
  if (ownPage === undefined && !request.wantsJson) return undefined;
  const prompt = wantsOtherAccount(request) ? { prompt: 'login' } : undefined;
  return redirectOrJson(request, withWayBack(request, ownPage ?? request.localPath(path), returnTo, prompt), 302);
}

/** Redirects to the application's own page, with the error's code in the query. */
export function failureElsewhere(request: AuthRequest, ownPage: string, error: AuthError, returnTo: string): Reply {
  return redirect(303, withWayBack(request, ownPage, returnTo, { error: error.code }));
}

/** Whether the form, or the query, asks for another account than before (OpenID Connect Core §3.1.2.1). */
export function wantsOtherAccount({ query }: AuthRequest, fields?: Fields): boolean {
  return (fields?.get('prompt') ?? query.get('prompt')) === 'login';
}

/** The URL of one of the adapter's pages, with further parameters and then `returnTo`. */
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

/** The absolute URL to which the backend redirects the browser; the project's list of redirect URLs must contain it. */
export function redirectUrl(
  request: AuthRequest,
  { callbackUrl, callbackPath }: Pick<BackendOptions, 'callbackUrl' | 'callbackPath'>,
): string {
  const url = callbackUrl ?? request.publicUrl(callbackPath);
  request.definition.explain('the redirect URL is %s', url);
  return url;
}
