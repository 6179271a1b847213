import { textOf } from '../../tools/html.ts';
import type { Text } from '../../tools/html.ts';
import { defined } from '../../tools/json.ts';
import { withQuery } from '../../tools/url.ts';
import { errorTable } from '../../error-table.ts';
import type { AuthError, AuthErrorCode } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { Form, FormError, Link } from '../../pages/form.ts';
import { builtInPage } from '../../pages/document.ts';
import type { Brands, Page, Parts } from '../../pages/page.ts';
import type { Reply } from '../../http/reply.ts';
import { FormProblem, fieldOf } from '../forms/fields.ts';
import { tooManyCodes } from '../forms/attempts.ts';
import { everyField } from '../../pages/parts.ts';
import { fillIn } from '../../pages/texts.ts';
import { pageScript } from './script-route.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';
import { lastWayIn } from './last-way.ts';
import type { PagesText, PagesTextKey } from './text.ts';

/** What the pages show to one request. */
export function siteFor(
  {
    settings,
    passwordRule,
    signIn,
    ways,
    brands,
  }: Omit<Site, 'text' | 'lastWay'> & { readonly brands: Brands<PagesTextKey> },
  { req, cookies }: Pick<AuthRequest, 'req' | 'cookies'>,
): Site {
  const lastWay = lastWayIn({ settings, signIn }, cookies);
  return { settings, passwordRule, signIn, ways, text: brands.of(req).text, lastWay };
}

/** A complete page: its status, `Retry-After` and title follow from `error`. */
export function showPage(
  site: Pick<Site, 'text' | 'settings'>,
  request: PageRequest,
  {
    error,
    problem,
    ...shown
  }: Omit<Page, 'status' | 'errorTitle' | 'failure' | 'error' | 'stylesheet' | 'brand'> & {
    /** Why the page is shown. */
    readonly error?: AuthError | undefined;
    /** What the form says of it. Default: nothing, where the line below the heading says it. */
    readonly problem?: FormError | undefined;
  },
): Reply {
  const { text } = site;
  const hasPassword = everyField(shown.parts).some(({ reveal }) => reveal !== undefined);
  const reply = builtInPage({
    ...shown,
    script: shown.script ?? (hasPassword ? pageScript(site, request) : undefined),
    status: error?.status ?? 200,
    error: problem,
    ...(error && { failure: failureOf(error, problem ?? formErrorOf(error, text)) }),
    // Screen readers announce the title first.
    ...(error && { errorTitle: text.errorTitle }),
    stylesheet: request.stylesheetUrl,
    brand: request.brand,
  });
  if (error?.retryAfter === undefined) return reply;
  return { ...reply, headers: { 'Retry-After': String(Math.max(1, Math.ceil(error.retryAfter))) } };
}

/** The error as data, with its message at the field that it concerns. */
function failureOf({ code }: AuthError, { field, message, at }: FormError): NonNullable<Page['failure']> {
  const fields = { ...at, ...(field === 'form' ? {} : { [field]: message.plain }) };
  return { code, message: message.plain, fields };
}

/** The fields for links and forms; `/` is the default, so it is left out of URLs. */
export function returnToOf({ returnTo, isOtherAccount }: Pick<FormState, 'returnTo' | 'isOtherAccount'>): {
  readonly returnTo?: string;
  readonly prompt?: 'login';
} {
  return { ...(returnTo === '/' ? {} : { returnTo }), ...(isOtherAccount === true ? { prompt: 'login' } : {}) };
}

/** What a page shows again, and its form sends back. */
export function formValues({
  email,
  returnTo,
  isOtherAccount,
}: FormState): Readonly<Record<string, string | undefined>> {
  return { email, returnTo, prompt: isOtherAccount === true ? 'login' : undefined };
}

/** A link to another of our pages, with `returnTo`. */
export function withReturnTo(href: string, state: Pick<FormState, 'returnTo' | 'isOtherAccount'>): string {
  return withQuery(href, returnToOf(state));
}

/** Nothing went wrong: another step comes first. */
const nextSteps: ReadonlySet<string> = new Set([
  'email_not_confirmed',
  'fresh_sign_in_required',
  'second_factor_required',
  'phone_number_required',
  'identity_check_required',
  'sign_in_incomplete',
] satisfies AuthErrorCode[]);

/**
 * An error for a form: a text of the page, at the field that it concerns. A message that was set for this error (by a
 * sign-in hook, or for a password that the backend refused) takes precedence over the general one.
 */
export function formErrorOf(error: AuthError, text: PagesText): FormError {
  const { code, retryAfter } = error;
  if (error instanceof FormProblem)
    return { message: fillIn(text[error.text], error.values), field: error.field, retryAfter };
  const isGeneral = error.message === errorTable[code].message;
  const message = isGeneral ? text[code] : textOf(error.message);
  const tone = nextSteps.has(code) && { tone: 'next' as const };
  return { message, field: fieldOf(code) ?? 'form', at: error.fields, retryAfter, ...tone };
}

/** Whether a code is refused, whatever it is. */
export function isClosedFor({ error }: Pick<FormState, 'error'>): boolean {
  return error?.reason === tooManyCodes;
}

/** The URL that sends a link for a new password; `undefined` where none does. */
function forgotUrl(
  { ways }: Site,
  request: PageRequest,
  state: Pick<FormState, 'returnTo' | 'isOtherAccount'>,
): string | undefined {
  return ways.forgot === undefined ? undefined : withReturnTo(request.localPath(ways.forgot), state);
}

/** The same as a link. */
export function forgotLink(
  site: Site,
  request: PageRequest,
  state: Pick<FormState, 'returnTo' | 'isOtherAccount'>,
): Link | undefined {
  const href = forgotUrl(site, request, state);
  return href === undefined ? undefined : link('forgot', href, site.text.toForgotLink);
}

export function backToSignIn({ text }: Site, request: PageRequest, { returnTo }: Pick<FormState, 'returnTo'>): Link {
  return link('signIn', request.signInUrl(returnTo), text.backToSignIn);
}

export function link(name: string, href: string, label: Text, look?: Link['look']): Link {
  return { part: 'link', name, href, label, ...defined({ look }) };
}

/** Where the page was opened without a `returnTo`, it leads to the account home. */
export function doneLink(
  { text, ways }: Pick<Site, 'text' | 'ways'>,
  request: PageRequest,
  { returnTo }: Pick<FormState, 'returnTo'>,
): Link {
  const isHome = returnTo === request.home && ways.account !== undefined;
  return link('done', isHome ? request.localPath(ways.account) : request.urlOf(returnTo), text.doneLink);
}

/** The button that removes something, and the way back. @param asked what the form says of it */
export function removalParts(
  { text }: Site,
  action: string,
  state: Pick<FormState, 'returnTo'>,
  { asked, label }: { readonly asked: Readonly<Record<string, string>>; readonly label: Text },
): Parts {
  return [
    { part: 'form', action, hidden: { ...asked, ...returnToOf(state) }, buttons: [{ label }] },
    link('cancel', withReturnTo(action, state), text.cancelLink),
  ];
}

/** Says at a way in that this browser used it last. @param way its name */
export function lastUsedAt({ text, lastWay }: Site, way: string): { readonly note?: Text } {
  return way === lastWay ? { note: text.lastUsed } : {};
}

/** Help with what the page cannot do, where the application names a page for it. */
export function supportLink({ text }: Site, { brand }: PageRequest, look?: Link['look']): Link | undefined {
  const { help } = brand.links;
  return help === undefined ? undefined : link('help', help, text.contactSupport, look);
}

/** Signs out, which also ends a pending sign-in at the backend, and leads to a sign-in with another account. */
export function otherAccount({ settings, text }: Site, request: PageRequest, state: Pick<FormState, 'returnTo'>): Form {
  return {
    part: 'form',
    name: 'signOut',
    action: request.localPath(settings.logoutPath),
    hidden: returnToOf({ ...state, isOtherAccount: true }),
    buttons: [{ label: text.otherAccount, look: 'link' }],
    look: 'aside',
  };
}
