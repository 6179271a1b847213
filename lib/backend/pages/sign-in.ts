import { html, safeHref } from '../../tools/html.ts';
import type { Html, HtmlValue, Text } from '../../tools/html.ts';
import { otherAccountUrl } from '../../pages/page.ts';
import { emphasis, fillIn, isolated } from '../../pages/texts.ts';
import type { PageFacts } from '../../pages/view.ts';
import type { Reply } from '../../http/reply.ts';
import type { SignInButtons, SignInShown, SignInState, FormState, PageRequest, Site } from '../slots.ts';
import { focusOf } from './field.ts';
import { formAlert, formErrorOf, formValues, postForm, returnToOf, showPage } from './parts.ts';
import { englishText } from './text.ts';
import type { PagesTextKey } from './text.ts';

/** What each room adds: buttons, the form with the address, further ways to sign in. */
export function signInPage(site: Site, request: PageRequest, state: SignInState): Reply {
  const { text } = site;
  const { email, hasNoAddress = false } = state;
  const parts = site.signIn.flatMap(({ show }) => show?.(site, request, state) ?? []);
  const shown = hasNoAddress ? parts.filter(({ needsNoAddress }) => needsNoAddress) : parts;
  const form = shown.find((each) => each.form !== undefined);
  const general = state.error && formErrorOf(state.error, text);
  // Beside the field to correct, not above the buttons of the providers.
  const isWrong = form?.form?.fields.includes('password') === true && state.error?.code === 'invalid_credentials';
  const error = isWrong && general ? { ...general, field: 'password' as const } : general;
  // A visitor who needs the confirmation email again does not need the password field.
  const resend = resendPath(site, state);
  const isAlone = shown.every(({ form, below }) => form === undefined && below === undefined);
  const buttons = buttonsOf(site, request, state, isAlone);
  const fields = form?.form?.content({
    error,
    focus: resend === undefined ? focusOf(email, error) : undefined,
    autocomplete: shown.find(({ autocomplete }) => autocomplete)?.autocomplete ?? 'username',
    buttons: shown.flatMap((each) => (each === form ? [] : (each.button ?? []))),
  });
  const script = shown.find((each) => each.script)?.script;
  return showPage(site, request, {
    facts: signInFacts(request, state, { shown, choices: buttons.choices, resend }),
    heading: signInHeading(site, request),
    lead: error === undefined && (hasNoAddress ? text.noAddressSignInText : text.signInText),
    error: state.error,
    hasForm: !hasNoAddress || shown.length > 0,
    isStep: true,
    ...(script && { script }),
    content: html`${formAlert(site, request, error, resend !== undefined && resendForm(site, request, state, resend))}
${buttons.content}
${fields}
${shown.map(({ below }) => below && html`${below}\n`)}${hasNoAddress && noAddressWays(site, request, state)}`,
  });
}

/** Where no form can sign in to the account again. */
function waysWithoutAddress(request: PageRequest, { returnTo }: Pick<FormState, 'returnTo'>) {
  const { help } = request.brand.links;
  return { help, otherAccount: otherAccountUrl(request, returnTo), home: request.urlOf(request.home) };
}

function noAddressWays({ text }: Site, request: PageRequest, state: SignInState): Html {
  const { help, otherAccount, home } = waysWithoutAddress(request, state);
  const way = (href: string, label: Text): Html =>
    html`<p class="actions"><a href="${safeHref(href)}">${label}</a></p>\n`;
  return html`${help !== undefined && way(help, text.contactSupport)}${way(otherAccount, text.otherAccount)}${way(home, text.backHome)}`;
}

/** The path that sends the email again which confirms the address, where the account waits for it. */
function resendPath({ ways }: Site, { error, email = '' }: SignInState): string | undefined {
  return error?.code === 'email_not_confirmed' && email !== '' ? ways.resend : undefined;
}

function resendForm({ text }: Site, request: PageRequest, state: SignInState, path: string): HtmlValue {
  const button = html`<button class="quiet" aria-describedby="form-error" autofocus>${text.resendButton}</button>`;
  return postForm(request.localPath(path), { email: state.email, ...returnToOf(state) }, button);
}

/** The buttons above a form that signs in or signs up. @param isAlone whether nothing to choose follows them */
export function buttonsOf(site: Site, request: PageRequest, state: FormState, isAlone = false): SignInButtons {
  const all = site.signIn.flatMap(({ buttons }) => buttons?.(site, request, state) ?? []);
  const shown = all.flatMap(({ content }) => content ?? []);
  const or = shown.length > 0 && !isAlone && html`\n<p class="or">${site.text.or}</p>`;
  return { content: [...shown, or], choices: all.flatMap(({ choices }) => choices) };
}

/** The sign-in page as data. */
function signInFacts(
  request: PageRequest,
  state: SignInState,
  {
    shown,
    choices,
    resend,
  }: { readonly shown: readonly SignInShown[]; readonly resend: string | undefined } & Pick<SignInButtons, 'choices'>,
): PageFacts {
  const form = shown.find((each) => each.form !== undefined)?.form;
  return {
    kind: 'sign_in',
    action: form && request.localPath(form.path),
    fields: form?.fields ?? [],
    values: formValues(state),
    links: {
      ...(Object.assign({}, ...shown.map(({ links }) => links)) as PageFacts['links']),
      resend: resend && request.localPath(resend),
      ...(state.hasNoAddress === true && waysWithoutAddress(request, state)),
    },
    choices,
  };
}

/** Names the product, unless the application overrides only the heading without a title. */
function signInHeading({ text }: Site, { brand }: PageRequest): Text {
  const isOurs = (key: PagesTextKey): boolean => text[key].plain === englishText[key];
  if (brand.title === undefined || (isOurs('signInToHeading') && !isOurs('signInHeading'))) return text.signInHeading;
  return fillIn(text.signInToHeading, { title: brand.title }, isolated);
}

/** Shows the signed-in account, with links to continue or to sign in with another account. */
export function signedInPage(
  site: Site,
  request: PageRequest,
  { returnTo, account }: { readonly returnTo: string; readonly account: string | undefined },
): Reply {
  const { text } = site;
  const next = request.urlOf(returnTo);
  const lead: HtmlValue = account !== undefined && fillIn(text.signedInAs, { account }, emphasis);
  return showPage(site, request, {
    facts: {
      kind: 'signed_in',
      values: { email: account, returnTo },
      links: { continue: next, otherAccount: otherAccountUrl(request, returnTo) },
    },
    heading: text.signedInHeading,
    emblem: 'check',
    lead,
    hasForm: false,
    content: html`<p class="actions"><a class="button" href="${safeHref(next)}">${text.continueButton}</a>
<a href="${safeHref(otherAccountUrl(request, returnTo))}">${text.otherAccount}</a></p>`,
  });
}
