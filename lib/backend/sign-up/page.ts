import { html, safeHref } from '../../tools/html.ts';
import type { AuthError } from '../../errors.ts';
import { emphasis, fillIn } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendOptions } from '../options.ts';
import { emailField, field, focusOf, passwordHint } from '../pages/field.ts';
import type { SentNotice } from '../pages/notice.ts';
import { formAlert, formErrorOf, formValues, postForm, returnToOf, showPage } from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';
import { buttonsOf } from '../pages/sign-in.ts';

/** Provider buttons, email and a new password. */
export function signUpPage(site: Site, request: PageRequest, state: FormState & { readonly isGuest?: boolean }): Reply {
  const { settings, text } = site;
  const { email } = state;
  const error = state.error && formErrorOf(state.error, text);
  const focus = focusOf(email, error);
  const hint = passwordHint(site);
  const buttons = buttonsOf(site, request, state);
  const fields = html`${emailField(site, { value: email, error, hasFocus: focus === 'email' }, 'email')}
${field({ name: 'password', type: 'password', label: text.password, autocomplete: 'new-password', hint, error, hasFocus: focus === 'password' })}
<button>${text.signUpButton}</button>`;
  return showPage(site, request, {
    facts: {
      kind: 'sign_up',
      action: request.localPath(settings.signupPath),
      fields: ['email', 'password'],
      values: formValues(state),
      links: { signIn: request.signInUrl(state.returnTo) },
      choices: buttons.choices,
    },
    heading: text.signUpHeading,
    lead: state.isGuest === true && text.guestText,
    error: state.error,
    hasForm: true,
    isStep: true,
    content: html`${formAlert(site, request, error)}
${buttons.content}
${postForm(request.localPath(settings.signupPath), returnToOf(state), fields)}
<p class="actions">${text.toSignIn} <a href="${safeHref(request.signInUrl(state.returnTo))}">${text.toSignInLink}</a></p>`,
  });
}

/** After the form of a guest whose account is complete already: nothing of the form was taken. @param state where it goes on */
export function accountExistsPage(
  site: Site,
  request: PageRequest,
  { account, returnTo, error }: { readonly account: string; readonly returnTo: string; readonly error: AuthError },
): Reply {
  const { text } = site;
  const next = request.urlOf(returnTo);
  return showPage(site, request, {
    facts: { kind: 'signed_in', values: { email: account, returnTo }, links: { continue: next } },
    heading: text.signUpHeading,
    emblem: 'notice',
    lead: fillIn(text.accountExists, { account }, emphasis),
    leadRole: 'alert',
    error,
    hasForm: false,
    content: html`<p><a class="button" href="${safeHref(next)}">${text.continueButton}</a></p>`,
  });
}

/** After the form, where an email must be confirmed first. */
export function confirmationSent({ resendPath: path }: BackendOptions): SentNotice {
  const [heading, text] = ['confirmationSentHeading', 'confirmationSentText'] as const;
  return { kind: 'confirmation_sent', heading, text, path, offersForgot: true };
}

/** After the email was requested again. */
export function mailSent({ resendPath: path }: BackendOptions): SentNotice {
  return { kind: 'mail_sent', heading: 'mailSentHeading', text: 'mailSentText', path, offersForgot: true };
}
