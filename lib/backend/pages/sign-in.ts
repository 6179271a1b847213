import type { Text } from '../../tools/html.ts';
import { fieldsOf } from '../../pages/form.ts';
import type { Form } from '../../pages/form.ts';
import { otherAccountUrl } from '../../pages/page.ts';
import type { Parts } from '../../pages/page.ts';
import { emphasis, fillIn, isolated } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import type { SignInState, FormState, PageRequest, Site } from '../slots.ts';
import { focusOf } from './field.ts';
import { goOn } from './notice.ts';
import { formErrorOf, formValues, link, returnToOf, showPage, supportLink } from './parts.ts';
import { englishText } from './text.ts';
import type { PagesTextKey } from './text.ts';

/** What each room adds: buttons, the form with the address, further ways to sign in. */
export function signInPage(site: Site, request: PageRequest, state: SignInState): Reply {
  const { text } = site;
  const { email, hasNoAddress = false } = state;
  const all = site.signIn.flatMap(({ show }) => show?.(site, request, state) ?? []);
  const shown = hasNoAddress ? all.filter(({ needsNoAddress }) => needsNoAddress) : all;
  const form = shown.find((each) => each.form !== undefined);
  const general = state.error && formErrorOf(state.error, text);
  // A visitor who needs the confirmation email again does not need the password field.
  const resend = resendForm(site, request, state);
  const own = form?.form?.({
    autocomplete: shown.find(({ autocomplete }) => autocomplete)?.autocomplete ?? 'username',
    buttons: shown.flatMap((each) => (each === form ? [] : (each.button ?? []))),
  });
  // Beside the field to correct, not above the buttons of the providers.
  const isWrong = state.error?.code === 'invalid_credentials' && own !== undefined && hasField(own, 'password');
  const problem = isWrong && general ? { ...general, field: 'password' } : general;
  const script = shown.find((each) => each.script)?.script;
  return showPage(site, request, {
    kind: 'sign_in',
    values: formValues(state),
    links: Object.fromEntries(shown.flatMap(({ links = {} }) => Object.entries(links))),
    heading: signInHeading(site, request),
    lead: hasNoAddress ? text.noAddressSignInText : text.signInText,
    error: state.error,
    problem,
    ...(resend && { remedy: [resend] }),
    isStep: true,
    lastUsed: site.lastWay,
    script,
    parts: [
      {
        part: 'ways',
        or: text.or,
        ways: [
          shown.length > 0 ? buttonsOf(site, request, state) : mainIfAlone(buttonsOf(site, request, state)),
          [own && (resend === undefined ? focused(own, focusOf(email, problem)) : own)],
          ...shown.map(({ below = [] }) => below),
        ],
      },
      ...(hasNoAddress ? waysWithoutAddress(site, request, state) : []),
    ],
  });
}

const hasField = (form: Form, name: string): boolean => fieldsOf(form).some((field) => field.name === name);

/** The form with the first focus at this field, else at its first one. */
function focused(form: Form, name: string): Form {
  const at = hasField(form, name) ? name : fieldsOf(form)[0]?.name;
  return { ...form, fields: fieldsOf(form).map((field) => ({ ...field, hasFocus: field.name === at })) };
}

/** Where no form can sign in to the account again. */
function waysWithoutAddress(site: Site, request: PageRequest, { returnTo }: Pick<FormState, 'returnTo'>): Parts {
  const { text } = site;
  return [
    supportLink(site, request),
    link('otherAccount', otherAccountUrl(request, returnTo), text.otherAccount),
    link('home', request.urlOf(request.home), text.backHome),
  ];
}

/** Sends the email again which confirms the address, where the account waits for it. */
function resendForm(
  { text, ways }: Site,
  request: PageRequest,
  { error, email = '', ...state }: SignInState,
): Form | undefined {
  if (error?.code !== 'email_not_confirmed' || email === '' || ways.resend === undefined) return undefined;
  return {
    part: 'form',
    name: 'resend',
    action: request.localPath(ways.resend),
    hidden: { email, ...returnToOf(state) },
    buttons: [{ label: text.resendButton, look: 'quiet', hasFocus: true }],
  };
}

/** Where nothing else signs in, one provider is not one of several ways. */
function mainIfAlone(parts: Parts): Parts {
  return parts.map((part) => {
    if (part === undefined || part === false || part.part !== 'list' || part.choices.length > 1) return part;
    return { ...part, choices: part.choices.map((choice) => ({ ...choice, isMain: true })) };
  });
}

/** The buttons above a form that signs in or signs up. */
export function buttonsOf(site: Site, request: PageRequest, state: FormState): Parts {
  return site.signIn.flatMap(({ buttons }) => buttons?.(site, request, state) ?? []);
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
  return showPage(site, request, {
    kind: 'signed_in',
    values: { email: account, returnTo },
    heading: text.signedInHeading,
    emblem: 'check',
    lead: account !== undefined && fillIn(text.signedInAs, { account }, emphasis),
    parts: [goOn(site, request, returnTo), link('otherAccount', otherAccountUrl(request, returnTo), text.otherAccount)],
  });
}
