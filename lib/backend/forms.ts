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

/** What the page shows: an empty form, or after a failure what was entered. */
export interface FormInput {
  readonly returnTo: string;
  readonly fields: Fields;
  readonly error?: AuthError;
}

/** One form of the account, on one path. */
export interface Form {
  readonly path: string;
  /** The name of the path's option. */
  readonly option: string;
  /** The URL of the application's own page, which takes the place of the built-in one. */
  readonly ownPage?: string | undefined;
  /** Answers a GET that asks for something else than the form. */
  readonly open?: (request: AuthRequest) => Promise<Reply> | Reply | undefined;
  /** The built-in page. Without one, the path answers POST only, and a failure has the general error page. */
  readonly page?: ShowPage;
  /** Answers a POST. Without it, the path answers GET only. */
  readonly submit?: Submit;
}

type ShowPage = (request: AuthRequest, input: FormInput) => Promise<Reply> | Reply;

/** @returns the next URL, or the reply */
export type Submit = (request: AuthRequest, fields: Fields, returnTo: string) => Promise<Reply | string>;

/**
 * A form's route. A GET shows the page, leads to the application's own page, or is the URL as JSON. A POST, sent once or twice, goes on
 * to the next URL; its failure shows the page again, leads to the application's own page, or is JSON. To add one:
 *
 *     export function forgotRoute(backend: BackendContext): AuthRoute {
 *       return formRoute(backend, {
 *         path: backend.settings.forgotPath,
 *         option: 'forgotPath',
 *         page: (request, { returnTo, fields, error }) => forgotPage(backend, request, { returnTo, email: fields.get('email'), error }),
 *         async submit(request, fields, returnTo) {
 *           const email = readEmail(fields);
 *           …
 *           return returnTo;
 *         },
 *       });
 *     }
 *
 * - The page is a function in `pages/` that takes the backend, the request and its state; its texts are in `pages/text.ts`.
 * - `attempts.run` counts an attempt for its address and network before the backend is called.
 * - `supabase.call` calls the backend; `sendMail` does so with the same response and timing for every address.
 * - `completeSignIn` verifies and stores the backend's session. `sign-in/flow-cookies.ts` keeps state until a callback.
 * - Add the path option to `option-schema.ts`, and the route to the list in `index.ts`.
 */
export function formRoute(backend: BackendContext, form: Form): AuthRoute {
  const { path, option, ownPage, open, page, submit } = form;
  const get = async (request: AuthRequest, showPage: ShowPage): Promise<Reply> => {
    const returnTo = readReturnTo(request);
    const elsewhere = (await open?.(request)) ?? formElsewhere(request, ownPage, path, returnTo);
    return elsewhere ?? showPage(request, { returnTo, fields: new Map() });
  };
  const post = (request: AuthRequest, send: Submit): Promise<Reply> =>
    answerOnce(backend, request, async (fields, returnTo) => {
      try {
        const next = await send(request, fields, returnTo);
        return typeof next === 'string' ? redirectOrJson(request, next) : next;
      } catch (error) {
        if (page === undefined) throw error;
        const shown = errorForForm(backend, request, error);
        if (ownPage !== undefined) return failureElsewhere(request, ownPage, shown, returnTo);
        return page(request, { returnTo, fields, error: shown });
      }
    });
  return {
    path,
    option,
    ...(page && { get: (request) => get(request, page) }),
    ...(submit && { post: (request) => post(request, submit) }),
  };
}

/** For a route that is no `formRoute`: its POST shares a double submit, too. */
export function withSubmitOnce(backend: BackendContext, { post, ...route }: AuthRoute): AuthRoute {
  return { ...route, ...(post && { post: (request) => answerOnce(backend, request, () => post(request)) }) };
}

async function answerOnce(
  backend: BackendContext,
  request: AuthRequest,
  answer: (fields: Fields, returnTo: string) => Reply | Promise<Reply>,
): Promise<Reply> {
  const fields = await readFields(request.req, request.res);
  const returnTo = readReturnTo(request, fields);
  request.errorReturnTo = returnTo;
  return backend.submitOnce(request, fields, async () => answer(fields, returnTo));
}

/** The fields that a message can belong to; `form` means the whole form. */
export type FieldName = 'email' | 'password' | 'currentPassword' | 'code' | 'name' | 'form';

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
