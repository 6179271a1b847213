import { html, safeHref } from '../../tools/html.ts';
import { otherAccountUrl } from '../../pages/page.ts';
import { emphasis, fillIn } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import { FormProblem } from '../forms/fields.ts';
import { addressFacts, addressForm } from '../pages/address.ts';
import { emailField, field, passwordHint } from '../pages/field.ts';
import type { BackendOptions } from '../options.ts';
import type { SentNotice } from '../pages/notice.ts';
import {
  backToSignIn,
  forgotLink,
  formAlert,
  formErrorOf,
  formValues,
  otherAccount,
  postForm,
  returnToOf,
  showPage,
  withReturnTo,
} from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';

/** Asks for the address to which a link for a new password is sent. A member may have none to reset, as after OAuth. */
export function forgotPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly isMember?: boolean },
): Reply {
  const { settings, text } = site;
  const error = state.error && formErrorOf(state.error, text);
  const address = emailField(site, { value: state.email, error, hasFocus: true });
  return showPage(site, request, {
    facts: addressFacts('forgot', request, state, settings.forgotPath),
    heading: state.isMember === true ? text.passwordHeading : text.forgotHeading,
    lead: text.forgotText,
    error: state.error,
    hasForm: true,
    isStep: true,
    content: html`${formAlert(site, request, error)}
${addressForm(request.localPath(settings.forgotPath), state, address, text.forgotButton)}
${backToSignIn(site, request, state)}`,
  });
}

/** For someone signed in whose account has no address, and so neither a password here nor a mail for one. */
export function noAddressPage(site: Site, request: PageRequest, returnTo: string): Reply {
  const { text } = site;
  const { help } = request.brand.links;
  const next = request.urlOf(returnTo);
  return showPage(site, request, {
    facts: {
      kind: 'no_address',
      values: { returnTo },
      links: { continue: next, help, otherAccount: otherAccountUrl(request, returnTo) },
    },
    heading: text.noAddressHeading,
    emblem: 'notice',
    hasForm: false,
    lead: text.noAddressText,
    content: html`<p><a class="button" href="${safeHref(next)}">${text.continueButton}</a></p>
${help !== undefined && html`<p class="actions"><a href="${safeHref(help)}">${text.contactSupport}</a></p>\n`}<p class="actions"><a href="${safeHref(otherAccountUrl(request, returnTo))}">${text.otherAccount}</a></p>`,
  });
}

/** After that form. */
export function forgotSent({ forgotPath: path }: BackendOptions): SentNotice {
  return { kind: 'forgot_sent', heading: 'forgotSentHeading', text: 'forgotSentText', path };
}

/** Asks for a new password for the account `email`. After an email's link it does not ask for the current password. */
export function passwordPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly asksCurrent: boolean },
): Reply {
  const { settings, text } = site;
  const { asksCurrent, email = '' } = state;
  const error = state.error && formErrorOf(state.error, text);
  const mayBeSaved = state.error instanceof FormProblem && state.error.text === 'passwordMaybeSaved';
  const focus = error?.field === 'password' ? 'password' : 'currentPassword';
  const hint = passwordHint(site);
  const current =
    asksCurrent &&
    field({
      name: 'currentPassword',
      type: 'password',
      label: text.currentPassword,
      autocomplete: 'current-password',
      aside: forgotLink(site, request, state),
      error,
      hasFocus: focus === 'currentPassword',
    });
  // Password managers store the new password under this name.
  const username = html`<input type="text" name="username" autocomplete="username" value="${email}" hidden>`;
  const fields = html`${username}
${current}
${field({ name: 'password', type: 'password', label: text.newPassword, autocomplete: 'new-password', hint, error, hasFocus: focus === 'password' || !asksCurrent })}
<button>${text.passwordButton}</button>`;
  return showPage(site, request, {
    facts: {
      kind: 'password',
      action: request.localPath(settings.passwordPath),
      fields: [...(asksCurrent ? ['currentPassword'] : []), 'password'],
      values: formValues(state),
      links: {
        forgot: asksCurrent && withReturnTo(request.localPath(settings.forgotPath), state),
        signIn: mayBeSaved && otherAccountUrl(request, state.returnTo),
      },
    },
    heading: text.passwordHeading,
    lead: email !== '' && fillIn(text.passwordFor, { email }, emphasis),
    error: state.error,
    hasForm: true,
    isStep: !asksCurrent,
    content: html`${formAlert(site, request, error)}
${postForm(request.localPath(settings.passwordPath), returnToOf(state), fields)}
${mayBeSaved && html`<p class="actions"><a href="${safeHref(otherAccountUrl(request, state.returnTo))}">${text.backToSignIn}</a></p>\n`}${otherAccount(site, request, state)}`,
  });
}
