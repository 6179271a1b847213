import { otherAccountUrl } from '../../pages/page.ts';
import { emphasis, fillIn } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import { FormProblem } from '../forms/fields.ts';
import { addressForm } from '../pages/address.ts';
import { emailField, newPasswordField, passwordField } from '../pages/field.ts';
import type { BackendOptions } from '../options.ts';
import { goOn } from '../pages/notice.ts';
import type { SentNotice } from '../pages/notice.ts';
import {
  backToSignIn,
  forgotLink,
  formErrorOf,
  formValues,
  link,
  otherAccount,
  returnToOf,
  showPage,
  supportLink,
} from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';

/** Asks for the address to which a link for a new password is sent. A member may have none to reset, as after OAuth. */
export function forgotPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly isMember?: boolean },
): Reply {
  const { settings, text } = site;
  const address = emailField(site, { value: state.email, hasFocus: true });
  return showPage(site, request, {
    kind: 'forgot',
    values: formValues(state),
    heading: state.isMember === true ? text.passwordHeading : text.forgotHeading,
    lead: text.forgotText,
    error: state.error,
    problem: state.error && formErrorOf(state.error, text),
    isStep: true,
    parts: [
      addressForm(request.localPath(settings.paths.forgot), state, address, text.forgotButton),
      backToSignIn(site, request, state),
    ],
  });
}

/** For someone signed in whose account has no address, and so neither a password here nor a mail for one. */
export function noAddressPage(site: Site, request: PageRequest, returnTo: string): Reply {
  const { text } = site;
  return showPage(site, request, {
    kind: 'no_address',
    values: { returnTo },
    heading: text.noAddressHeading,
    emblem: 'notice',
    lead: text.noAddressText,
    parts: [
      goOn(site, request, returnTo),
      supportLink(site, request),
      link('otherAccount', otherAccountUrl(request, returnTo), text.otherAccount),
    ],
  });
}

/** After that form. */
export function forgotSent({ paths: { forgot: path } }: BackendOptions): SentNotice {
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
  const problem = state.error && formErrorOf(state.error, text);
  const mayBeSaved = state.error instanceof FormProblem && state.error.text === 'passwordMaybeSaved';
  const isNew = problem?.field === 'password' || !asksCurrent;
  return showPage(site, request, {
    kind: 'password',
    values: formValues(state),
    heading: text.passwordHeading,
    lead: email !== '' && fillIn(text.passwordFor, { email }, emphasis),
    error: state.error,
    problem,
    isStep: !asksCurrent,
    parts: [
      {
        part: 'form',
        action: request.localPath(settings.paths.password),
        hidden: returnToOf(state),
        account: email,
        fields: [
          asksCurrent &&
            passwordField(site, {
              name: 'currentPassword',
              label: text.currentPassword,
              aside: forgotLink(site, request, state),
              hasFocus: !isNew,
            }),
          newPasswordField(site, { label: text.newPassword, hasFocus: isNew }),
        ],
        buttons: [{ label: text.passwordButton }],
      },
      mayBeSaved && link('signIn', otherAccountUrl(request, state.returnTo), text.backToSignIn),
      asksCurrent && link('cancel', request.urlOf(state.returnTo), text.cancelLink),
      otherAccount(site, request, state),
    ],
  });
}
