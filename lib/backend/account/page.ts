import { html, textOf } from '../../tools/html.ts';
import type { Text } from '../../tools/html.ts';
import { withQuery } from '../../tools/url.ts';
import { envelopeDrawing, rowIcon } from '../../pages/icons.ts';
import { emphasis, fillIn, isolated, lines } from '../../pages/texts.ts';
import type { Choice } from '../../pages/page.ts';
import type { Reply } from '../../http/reply.ts';
import { emailField } from '../pages/field.ts';
import { openMail } from '../pages/mail-apps.ts';
import { formErrorOf, formValues, link, removalParts, returnToOf, showPage, withReturnTo } from '../pages/parts.ts';
import type { AccountRow, FormState, PageRequest, Site } from '../slots.ts';
import type { Identity } from './identities.ts';

/** An identity as the page names it. */
export interface ShownIdentity extends Identity {
  readonly label: string;
  readonly canUnlink: boolean;
}

export interface AccountState extends FormState {
  readonly email: string | undefined;
  readonly newEmail: string | undefined;
  /** Whether its organization keeps the address. */
  readonly isManaged: boolean;
  readonly rows: readonly AccountRow[];
  readonly identities: readonly ShownIdentity[];
  /** The providers that can be linked. */
  readonly links: readonly { readonly name: string; readonly label: string }[];
}

const linkDrawing = html`<path d="M10 14a4 4 0 0 0 5.7 0l3.6-3.6a4 4 0 0 0-5.7-5.7L12 6.3M14 10a4 4 0 0 0-5.7 0l-3.6 3.6a4 4 0 0 0 5.7 5.7l1.6-1.6"/>`;

/** A row for each thing that the account has, the linked sign-ins, and the ways out. */
export function accountPage(site: Site, request: PageRequest, state: AccountState): Reply {
  const { text } = site;
  const { rows, identities, links, returnTo } = state;
  const action = request.localPath(site.settings.paths.account);
  const wayBack = withReturnTo(action, state);
  const hidden = returnToOf(state);
  const others = rows.map(({ label, path, icon, state: details }): Choice => ({
    name: label,
    href: withQuery(request.localPath(path), { returnTo: wayBack }),
    icon: rowIcon(icon),
    details: details === undefined ? [] : [details],
  }));
  const linked = identities.map(({ id, label, email, canUnlink }): Choice => {
    const href = withQuery(action, { unlink: id, ...hidden });
    const actions = canUnlink ? [{ href, label: text.unlinkButton }] : [];
    return {
      name: textOf(label),
      href,
      icon: rowIcon(linkDrawing),
      details: email === undefined ? [] : [textOf(email)],
      actions,
    };
  });
  const toLink = links.map(({ name, label }) => ({
    label: fillIn(text.linkButton, { provider: label }),
    look: 'quiet' as const,
    name: 'link',
    value: name,
  }));
  const hasLinks = linked.length + toLink.length > 0;
  return showPage(site, request, {
    kind: 'account',
    values: formValues(state),
    heading: text.accountHeading,
    error: state.error,
    problem: state.error && formErrorOf(state.error, text),
    parts: [
      { part: 'list', choices: [emailRow(site, action, state), ...others] },
      hasLinks && { part: 'list', heading: { text: text.linksHeading }, choices: linked },
      toLink.length > 0 && { part: 'form', name: 'link', action, hidden, buttons: toLink },
      {
        part: 'form',
        name: 'signOut',
        action,
        hidden,
        buttons: [
          { label: text.signOutOthersButton, look: 'quiet', name: 'signOut', value: 'others' },
          { label: text.signOutAllButton, look: 'quiet', name: 'signOut', value: 'global' },
        ],
      },
      link('done', request.urlOf(returnTo), text.doneLink),
    ],
  });
}

function emailRow({ text }: Site, action: string, state: AccountState): Choice {
  const { email, newEmail, isManaged } = state;
  const waiting = newEmail === undefined ? [] : [fillIn(text.accountNewEmail, { email: newEmail }, isolated)];
  const details: readonly Text[] = [...(email === undefined ? [] : [textOf(email)]), ...waiting];
  const href = withQuery(action, { change: 'email', ...returnToOf(state) });
  return { name: text.email, href, icon: rowIcon(envelopeDrawing), details, ...(isManaged && { actions: [] }) };
}

/** Asks for the new address. */
export function changeEmailPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { text } = site;
  const action = request.localPath(site.settings.paths.account);
  const field = { ...emailField(site, { value: state.email, hasFocus: true }, 'email'), label: text.newEmail };
  return showPage(site, request, {
    kind: 'change_email',
    values: formValues(state),
    heading: text.changeEmailHeading,
    lead: text.changeEmailText,
    error: state.error,
    problem: state.error && formErrorOf(state.error, text),
    parts: [
      { part: 'form', action, hidden: returnToOf(state), fields: [field], buttons: [{ label: text.continueButton }] },
      link('cancel', withReturnTo(action, state), text.cancelLink),
    ],
  });
}

/** What was sent, and what still waits: the same for every address. @param former the account's address, where it has one */
export function sentWords({ text }: Pick<Site, 'text'>, email: string, former: string | undefined): Text {
  return lines(
    fillIn(text.changeEmailSentText, { email }, emphasis),
    former !== undefined && fillIn(text.changeEmailBothText, { email: former }, emphasis),
  );
}

export function changeSentPage(
  site: Site,
  request: PageRequest,
  state: Pick<FormState, 'returnTo'> & { readonly email: string; readonly former: string | undefined },
): Reply {
  const { text } = site;
  const { email, former } = state;
  return showPage(site, request, {
    kind: 'change_email_sent',
    values: formValues(state),
    heading: text.changeEmailHeading,
    emblem: 'envelope',
    lead: sentWords(site, email, former),
    leadRole: 'status',
    parts: [openMail(site, email), { part: 'hint', text: text.mailHint }, toAccount(site, request, state)],
  });
}

/** Says what it means, and unlinks only by its own button. */
export function unlinkPage(
  site: Site,
  request: PageRequest,
  state: Pick<FormState, 'returnTo'> & { readonly identity: ShownIdentity },
): Reply {
  const { text } = site;
  const { identity } = state;
  const asked = { unlink: identity.id, sure: 'yes' };
  return showPage(site, request, {
    kind: 'unlink_provider',
    values: { returnTo: state.returnTo, ...asked, provider: identity.label },
    heading: fillIn(text.unlinkHeading, { provider: identity.label }, isolated),
    lead: text.unlinkText,
    parts: removalParts(site, request.localPath(site.settings.paths.account), state, {
      asked,
      label: text.unlinkButton,
    }),
  });
}

/** Goes on to the provider without a redirect: browsers check a form's redirects against its page's `form-action`, but not a `Refresh`. */
export function linkPage(
  site: Site,
  request: PageRequest,
  { label, url }: { readonly label: string; readonly url: string },
): Reply {
  const { text } = site;
  const page = showPage(site, request, {
    kind: 'link_provider',
    heading: fillIn(text.linkButton, { provider: label }, isolated),
    lead: text.linkText,
    leadRole: 'status',
    parts: [link('continue', url, text.continueButton, 'button')],
  });
  return { ...page, headers: { ...page.headers, Refresh: `0; url=${url}` } };
}

export function signedOutOthersPage(site: Site, request: PageRequest, state: Pick<FormState, 'returnTo'>): Reply {
  return showPage(site, request, {
    kind: 'account',
    values: formValues(state),
    heading: site.text.signedOutOthersHeading,
    emblem: 'check',
    parts: [toAccount(site, request, state)],
  });
}

function toAccount({ text, settings }: Site, request: PageRequest, state: Pick<FormState, 'returnTo'>) {
  return link('done', withReturnTo(request.localPath(settings.paths.account), state), text.doneLink, 'button');
}
