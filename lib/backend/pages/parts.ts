import { html, safeHref, textOf } from '../../tools/html.ts';
import { withQuery } from '../../tools/url.ts';
import type { Html, HtmlValue, Text } from '../../tools/html.ts';
import { errorTable } from '../../error-table.ts';
import type { AuthError, AuthErrorCode } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { builtInPage, sentMark } from '../../pages/page.ts';
import type { Brands, PageParts, PageScript } from '../../pages/page.ts';
import type { PageFacts } from '../../pages/view.ts';
import type { Reply } from '../../http/reply.ts';
import { FormProblem, fieldOf } from '../forms/fields.ts';
import { tooManyCodes } from '../forms/attempts.ts';
import type { Emblem } from '../../pages/icons.ts';
import { duration, fillIn } from '../../pages/texts.ts';
import type { FormError, FormState, PageRequest, Site } from '../slots.ts';
import type { PagesText, PagesTextKey } from './text.ts';

/** What the pages show to one request. */
export function siteFor(
  { settings, passwordRule, signIn, ways, brands }: Omit<Site, 'text'> & { readonly brands: Brands<PagesTextKey> },
  { req }: Pick<AuthRequest, 'req'>,
): Site {
  return { settings, passwordRule, signIn, ways, text: brands.of(req).text };
}

/** A complete page: its status, `Retry-After` and title follow from `error`. */
export function showPage(
  { text }: Pick<Site, 'text'>,
  request: PageRequest,
  page: {
    /** The page as data. */
    readonly facts: PageFacts;
    readonly heading: Text;
    /** One soft line below the heading. */
    readonly lead?: HtmlValue;
    /** `status` where this line is the expected result. */
    readonly leadRole?: 'status' | 'alert';
    readonly content: HtmlValue;
    /** Whether the page has a form that posts to one of our routes. */
    readonly hasForm: boolean;
    /** The sources of a CSP that the form's response may redirect to, where it leaves this site, such as `https:`. */
    readonly formLeadsTo?: string | undefined;
    readonly tellsOrigin?: boolean;
    /** The outcome as a picture, below the brand. */
    readonly emblem?: Emblem | undefined;
    /** Whether the page is a step on the way into the application. */
    readonly isStep?: boolean;
    readonly script?: PageScript | undefined;
    readonly error?: AuthError | undefined;
  },
): Reply {
  const { error, hasForm, formLeadsTo, ...parts } = page;
  const formAction = formLeadsTo === undefined ? ("'self'" as const) : (`'self' ${formLeadsTo}` as const);
  const reply = builtInPage({
    ...parts,
    status: error?.status ?? 200,
    ...(error && { failure: failureOf(error, text) }),
    // Screen readers announce the title first.
    ...(error && { errorTitle: text.errorTitle }),
    stylesheet: request.stylesheetUrl,
    brand: request.brand,
    ...(hasForm ? { formAction } : {}),
  });
  if (error?.retryAfter === undefined) return reply;
  return { ...reply, headers: { 'Retry-After': String(Math.max(1, Math.ceil(error.retryAfter))) } };
}

/** The error as data, with its message at the field that it concerns. */
function failureOf(error: AuthError, text: PagesText): NonNullable<PageParts['failure']> {
  const { field, message, at } = formErrorOf(error, text);
  const fields = { ...at, ...(field === 'form' ? {} : { [field]: message.plain }) };
  return { code: error.code, message: message.plain, fields };
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

/**
 * A form that posts to one of our routes; undefined values produce no field.
 *
 * @param marks further attributes of a form that the page's script sends
 */
export function postForm(
  action: string,
  hidden: Readonly<Record<string, string | undefined>>,
  content: HtmlValue,
  marks?: HtmlValue,
): Html {
  const inputs = Object.entries(hidden).map(
    ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">\n`,
  );
  return html`<form method="post" action="${safeHref(action)}"${marks}>
${inputs}${content}
${marks === undefined && sentMark}</form>`;
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

/** An error of the whole form, above it; `extra` offers a way to resolve it. */
export function formAlert(
  { text }: Pick<Site, 'text'>,
  request: PageRequest,
  error: FormError | undefined,
  extra?: HtmlValue,
): HtmlValue {
  if (error?.field !== 'form') return undefined;
  const { lang } = request.brand;
  // The built-in pages have no fields of these names.
  const others = Object.entries(error.at ?? {}).filter(([name]) => !shownFields.has(name));
  const wait = error.retryAfter !== undefined && fillIn(text.retryIn, { time: duration(error.retryAfter, lang) });
  const { tone = 'bad' } = error;
  return html`<div class="message ${tone}">
<p id="form-error" role="${tone === 'bad' ? 'alert' : 'status'}">${error.message}${others.map(([, message]) => html`<br>${message}`)}${wait && html` ${wait}`}</p>
${extra}
</div>`;
}

const shownFields: ReadonlySet<string> = new Set(['email', 'password']);

/** The URL that sends a link for a new password; `undefined` where none does. */
export function forgotUrl(
  { ways }: Site,
  request: PageRequest,
  state: Pick<FormState, 'returnTo' | 'isOtherAccount'>,
): string | undefined {
  return ways.forgot === undefined ? undefined : withReturnTo(request.localPath(ways.forgot), state);
}

export function forgotLink(
  site: Site,
  request: PageRequest,
  state: Pick<FormState, 'returnTo' | 'isOtherAccount'>,
): Html | undefined {
  const href = forgotUrl(site, request, state);
  return href === undefined ? undefined : html`<a href="${safeHref(href)}">${site.text.toForgotLink}</a>`;
}

export function backToSignIn({ text }: Site, request: PageRequest, { returnTo }: Pick<FormState, 'returnTo'>): Html {
  return html`<p class="actions"><a href="${safeHref(request.signInUrl(returnTo))}">${text.backToSignIn}</a></p>`;
}

/** Signs out, which also ends a pending sign-in at the backend, and leads to a sign-in with another account. */
export function otherAccount({ settings, text }: Site, request: PageRequest, state: Pick<FormState, 'returnTo'>): Html {
  const button = html`<button class="link">${text.otherAccount}</button>`;
  return html`<div class="actions">${postForm(request.localPath(settings.logoutPath), returnToOf({ ...state, isOtherAccount: true }), button)}</div>`;
}
