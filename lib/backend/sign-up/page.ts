import { html, safeHref } from '../../tools/html.ts';
import type { Html } from '../../tools/html.ts';
import type { AuthError } from '../../errors.ts';
import type { Form } from '../../pages/form.ts';
import { otherAccountUrl } from '../../pages/page.ts';
import type { Part } from '../../pages/page.ts';
import { emphasis, fillIn } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendOptions } from '../options.ts';
import { emailField, focusOf, newPasswordField } from '../pages/field.ts';
import { goOn } from '../pages/notice.ts';
import type { SentNotice } from '../pages/notice.ts';
import { formErrorOf, formValues, link, returnToOf, showPage } from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';
import { buttonsOf } from '../pages/sign-in.ts';

/** Provider buttons, email and a new password. */
export function signUpPage(site: Site, request: PageRequest, state: FormState & { readonly isGuest?: boolean }): Reply {
  const { text } = site;
  const problem = state.error && formErrorOf(state.error, text);
  const focus = focusOf(state.email, problem);
  // The providers sign in to another account, so a guest's data is kept by the form alone.
  const ways = [buttonsOf(site, request, state), [signUpForm(site, request, state, focus)]];
  return showPage(site, request, {
    kind: 'sign_up',
    values: formValues(state),
    links: { terms: request.brand.links.terms, privacy: request.brand.links.privacy },
    heading: text.signUpHeading,
    lead: state.isGuest === true && text.guestText,
    error: state.error,
    problem,
    isStep: true,
    parts: [
      { part: 'ways', or: text.or, ways: state.isGuest === true ? ways.reverse() : ways },
      termsPart(site, request),
      { ...link('signIn', request.signInUrl(state.returnTo), text.toSignInLink), before: text.toSignIn },
    ],
  });
}

function signUpForm(site: Site, request: PageRequest, state: FormState, focus: string): Form {
  const { settings, text } = site;
  const { email } = state;
  return {
    part: 'form',
    action: request.localPath(settings.signupPath),
    hidden: returnToOf(state),
    fields: [
      emailField(site, { value: email, hasFocus: focus === 'email' }, 'email'),
      newPasswordField(site, { label: text.password, hasFocus: focus === 'password' }),
    ],
    buttons: [{ label: text.signUpButton }],
  };
}

/** What the application asks its users to agree to, where it names both pages. */
function termsPart({ text }: Site, { brand }: PageRequest): Part | undefined {
  const { terms, privacy } = brand.links;
  if (terms === undefined || privacy === undefined) return undefined;
  const names = { terms: brand.text.terms.plain, privacy: text.privacyPolicy.plain };
  const anchorOf = (words: string, name: string): Html =>
    html`<a href="${safeHref(name === 'terms' ? terms : privacy)}">${words}</a>`;
  return { part: 'hint', text: fillIn(text.termsLine, names, anchorOf) };
}

/** After the form of a guest whose account is complete already: nothing of the form was taken. @param state where it goes on */
export function accountExistsPage(
  site: Site,
  request: PageRequest,
  { account, returnTo, error }: { readonly account: string; readonly returnTo: string; readonly error: AuthError },
): Reply {
  const { text } = site;
  return showPage(site, request, {
    kind: 'signed_in',
    values: { email: account, returnTo },
    heading: text.signedInHeading,
    emblem: 'notice',
    lead: fillIn(text.accountExists, { account }, emphasis),
    leadRole: 'alert',
    error,
    parts: [goOn(site, request, returnTo), link('otherAccount', otherAccountUrl(request, returnTo), text.otherAccount)],
  });
}

/** After the form, where an email must be confirmed first. */
export function confirmationSent({ paths: { resend: path } }: BackendOptions): SentNotice {
  const [heading, text] = ['confirmationSentHeading', 'confirmationSentText'] as const;
  return { kind: 'confirmation_sent', heading, text, path, offersForgot: true };
}

/** After the email was requested again. */
export function mailSent({ paths: { resend: path } }: BackendOptions): SentNotice {
  return { kind: 'mail_sent', heading: 'mailSentHeading', text: 'mailSentText', path, offersForgot: true };
}
