import { html, safeHref } from '../../core/html.ts';
import { emphasis, fillIn } from '../../http/page-text.ts';
import type { Reply } from '../../http/reply.ts';
import { field, formAlert, formErrorOf, postForm, returnToOf, showPage, withReturnTo } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';

export interface PasswordState extends FormState {
  /** Whether the current password must be given: not after an email's link. */
  readonly asksCurrent: boolean;
}

/** Asks for a new password; `email` names the account that it is for. */
export function passwordPage(site: Site, request: PageRequest, state: PasswordState): Reply {
  const { settings, text } = site;
  const { asksCurrent, email = '' } = state;
  const error = state.error && formErrorOf(state.error, text);
  const focus = error?.field === 'password' ? 'password' : 'currentPassword';
  const hint = text.newPasswordHint;
  const forgotHref = withReturnTo(request.localPath(settings.forgotPath), state);
  const current =
    asksCurrent &&
    field({
      name: 'currentPassword',
      type: 'password',
      label: text.currentPassword,
      autocomplete: 'current-password',
      aside: html`<a href="${safeHref(forgotHref)}">${text.toForgotLink}</a>`,
      error,
      hasFocus: focus === 'currentPassword',
    });
  // For password managers: they store the new password under this name.
  const username = html`<input type="text" name="username" autocomplete="username" value="${email}" hidden>`;
  const fields = html`${username}
${current}
${field({ name: 'password', type: 'password', label: text.newPassword, autocomplete: 'new-password', hint, error, hasFocus: focus === 'password' || !asksCurrent })}
<button>${text.passwordButton}</button>`;
  return showPage(site, request, {
    heading: text.passwordHeading,
    lead: email !== '' && fillIn(text.passwordFor, { email }, emphasis),
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, error)}
${postForm(request.localPath(settings.passwordPath), returnToOf(state), fields)}`,
  });
}

/** A link for a new password that no longer works, or one that was opened too late: the way to another. */
export function linkExpiredPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { settings, text } = site;
  const forgotHref = withReturnTo(request.localPath(settings.forgotPath), state);
  return showPage(site, request, {
    heading: text.linkExpiredHeading,
    error: state.error,
    hasForm: false,
    lead: text.linkExpiredText,
    leadRole: 'alert',
    content: html`<p class="actions"><a class="button" href="${safeHref(forgotHref)}">${text.newLinkButton}</a>
<a href="${safeHref(request.signInUrl(state.returnTo))}">${text.backToSignIn}</a></p>`,
  });
}
