import { defined } from '../../tools/json.ts';
import { pathOf } from '../../tools/paths/request-path.ts';
import { withQuery } from '../../tools/url.ts';
import { AuthError, isOutage } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/request.ts';
import { comparablePath } from '../../http/message.ts';
import { redirect, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { signInFailed } from '../../session/events.ts';
import type { Emit } from '../../session/events.ts';
import type { BackendContext } from '../context.ts';
import { asMeant, placed } from './fields.ts';
import type { BackendOptions } from '../options.ts';

/** What the page shows: an empty form, or after a failure what was entered. */
export interface FormInput {
  readonly returnTo: string;
  readonly fields: Fields;
  readonly error?: AuthError;
}

/** What a form found out about its request before the page and before a POST, such as whom it is about. */
interface Found {
  /** Where the form leads in the end, sanitized. */
  readonly returnTo: string;
}

/** One form of the account, on one path. */
export interface Form<About extends Found = Found> {
  readonly path: string;
  /** The name of the path's option. */
  readonly option: string;
  /** Whether `returnTo` may name the path. */
  readonly isReturnTarget?: boolean;
  /** The URL of the application's own page, which takes the place of the built-in one. */
  readonly ownPage?: string | undefined;
  /** Answers a GET that asks for something else than the form. */
  readonly open?: (request: AuthRequest) => Promise<Reply | undefined> | Reply | undefined;
  /** The built-in page. Without one, the path answers POST only, and a failure has the general error page. */
  readonly page?: ShowPage<About>;
  /** Whether `page` also answers a JSON client's GET. Otherwise that gets the form's URL. */
  readonly hasData?: boolean;
  /** Answers a POST. Without it, the path answers GET only. */
  readonly submit?: Submit<About>;
  /** Whether a POST that is sent twice has one answer. Default: each. One that asks for a challenge has its own, which works once. */
  readonly isShared?: (request: AuthRequest, fields: Fields) => boolean;
  /** Whether a double submit is known by its fields where the browser has no cookie of ours. Only a form with a password may say so. */
  readonly provesSender?: boolean;
  /** Answers a failure of `submit` that this form cannot mend. What it throws has the general error page. */
  readonly leave?: (request: AuthRequest, error: unknown, about: About) => Next | undefined | Promise<Next | undefined>;
}

/** The reply, or the next URL. */
export type Next = Reply | string;

type ShowPage<About> = (request: AuthRequest, input: FormInput, about: About) => Promise<Reply> | Reply;

export type Submit<About = Found> = (
  request: AuthRequest,
  fields: Fields,
  returnTo: string,
  about: About,
) => Promise<Next>;

/** @param fields of a POST @returns a reply where another step is required before the form */
type Find<About> = (request: AuthRequest, fields?: Fields) => About | Reply | Promise<About | Reply>;

/**
 * A form's route. A GET shows the page, leads to the application's own page, or is the URL as JSON. A POST, sent once or twice, goes on
 * to the next URL; its failure shows the page again, leads to the application's own page, or is JSON. To add one:
 *
 *     export function forgotRoute(backend: BackendContext): AuthRoute {
 *       return formRoute(backend, {
 *         path: backend.settings.paths.forgot,
 *         option: 'paths.forgot',
 *         page: (request, { returnTo, fields, error }) => forgotPage(siteFor(backend, request), request, { returnTo, email: fields.get('email'), error }),
 *         async submit(request, fields, returnTo) {
 *           const email = readEmail(fields);
 *           …
 *           return returnTo;
 *         },
 *       });
 *     }
 *
 * - The page is a function in the room's `page.ts` that takes the site, the request and its state; its texts are in the room's `texts.ts`.
 * - `attempts.run` counts an attempt for its address and network before the backend is called.
 * - `supabase.call` calls the backend; `sendMail` does so with the same response and timing for every address.
 * - `completeSignIn` verifies and stores the backend's session. `flow-cookies.ts` keeps state until a callback.
 * - Add the path option to the room's `options.ts`, and the route to its `index.ts`.
 */
export function formRoute(backend: BackendContext, form: Form): AuthRoute {
  return subjectFormRoute(backend, form, (request, fields) => ({ returnTo: readReturnTo(request, fields) }));
}

/** The route of a form that is about someone: a pending sign-in, a session, or the account of an email's link. */
export function subjectFormRoute<About extends Found>(
  backend: BackendContext,
  form: Form<About>,
  find: Find<About>,
): AuthRoute {
  const { path, option, isReturnTarget, page, submit } = form;
  return {
    path,
    option,
    ...defined({ isReturnTarget }),
    ...(page && { get: (request) => showForm(request, form, find, page) }),
    ...(submit && { post: (request) => submitForm(backend, request, { ...form, submit }, find) }),
  };
}

async function showForm<About extends Found>(
  request: AuthRequest,
  { path, ownPage, open, hasData = false }: Form<About>,
  find: Find<About>,
  page: ShowPage<About>,
): Promise<Reply> {
  const otherPage = pageElsewhere(request, ownPage, path);
  const elsewhere = (await open?.(request)) ?? (hasData ? undefined : formElsewhere(request, otherPage, path));
  if (elsewhere !== undefined) return elsewhere;
  const about = await find(request);
  return 'status' in about ? about : page(request, { returnTo: about.returnTo, fields: new Map() }, about);
}

async function submitForm<About extends Found>(
  backend: BackendContext,
  request: AuthRequest,
  form: Form<About> & { readonly submit: Submit<About> },
  find: Find<About>,
): Promise<Reply> {
  const fields = asMeant(await readFields(request.req, request.res));
  request.errorReturnTo = readReturnTo(request, fields);
  const answer = async (): Promise<Reply> => {
    const about = await findFor(backend, request, { form, find }, fields);
    if ('status' in about) return about;
    const { returnTo } = about;
    request.errorReturnTo = returnTo;
    try {
      return toReply(request, await form.submit(request, fields, returnTo, about));
    } catch (error) {
      const next = await form.leave?.(request, error, about);
      return next === undefined
        ? showFailure(backend, request, form, { fields, error, about })
        : toReply(request, next);
    }
  };
  if (form.isShared?.(request, fields) === false) return answer();
  return backend.submitOnce(request, { fields, provesSender: form.provesSender === true, submit: answer });
}

async function findFor<About extends Found>(
  { emit }: BackendContext,
  request: AuthRequest,
  { form: { path, page }, find }: { readonly form: Form<About>; readonly find: Find<About> },
  fields: Fields,
): Promise<About | Reply> {
  try {
    return await find(request, fields);
  } catch (error) {
    if (page !== undefined && isOutage(error))
      request.errorRetryUrl = localUrl(request, path, readReturnTo(request, fields));
    emit(signInFailed(error), request.startedAt);
    throw error;
  }
}

function toReply(request: AuthRequest, next: Next): Reply {
  return typeof next === 'string' ? redirectOrJson(request, next) : next;
}

function showFailure<About extends Found>(
  backend: BackendContext,
  request: AuthRequest,
  { path, ownPage, page }: Form<About>,
  { fields, error, about }: { readonly fields: Fields; readonly error: unknown; readonly about: About },
): Reply | Promise<Reply> {
  if (page === undefined) throw error;
  const shown = placed(errorForForm(backend, request, error), fields);
  const { returnTo } = about;
  const otherPage = pageElsewhere(request, ownPage, path);
  if (otherPage !== undefined) return failureElsewhere(request, otherPage, shown, returnTo);
  return page(request, { returnTo, fields, error: shown }, about);
}

/** The sanitized return path: from the form, else from the query, else that of the link or of the sign-in's beginning. */
export function readReturnTo(request: AuthRequest, fields?: Fields, former?: string): string {
  return request.returnTo(fields?.get('returnTo') ?? request.query.get('returnTo'), former);
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

/** The application's own page; `undefined` where that is this form, as below a mount path, which no option names. */
function pageElsewhere(request: AuthRequest, ownPage: string | undefined, path: string): string | undefined {
  const isHere = ownPage !== undefined && comparablePath(pathOf(ownPage)) === comparablePath(request.localPath(path));
  return isHere ? undefined : ownPage;
}

/**
 * Redirects where this response does not show the form: to the application's own page, or to the form's URL for JSON clients.
 *
 * @param ownPage the option for the application's own page
 * @param path the path of the built-in form
 */
function formElsewhere(request: AuthRequest, ownPage: string | undefined, path: string): Reply | undefined {
  if (ownPage === undefined && !request.wantsJson) return undefined;
  const prompt = wantsOtherAccount(request) ? { prompt: 'login' } : undefined;
  const url = withWayBack(request, ownPage ?? request.localPath(path), readReturnTo(request), prompt);
  return redirectOrJson(request, url, 302);
}

/** Redirects to the application's own page, with the error's code in the query. */
function failureElsewhere(request: AuthRequest, ownPage: string, error: AuthError, returnTo: string): Reply {
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
