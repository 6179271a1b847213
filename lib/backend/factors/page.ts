import { html, safeHref, textOf } from '../../tools/html.ts';
import type { Html, HtmlValue, Text } from '../../tools/html.ts';
import { withQuery } from '../../tools/url.ts';
import { chevron } from '../../pages/icons.ts';
import { emphasis, fillIn, isolated } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import { hasKeys, keyType } from './factors.ts';
import type { Factor } from './factors.ts';
import { ceremonyFallback, ceremonyForm, ceremonyScript } from '../webauthn/page.ts';
import { codeFields } from '../pages/field.ts';
import {
  formAlert,
  formErrorOf,
  formValues,
  isClosedFor,
  otherAccount,
  postForm,
  returnToOf,
  showPage,
  withReturnTo,
} from '../pages/parts.ts';
import type { FormError, FormState, PageRequest, Site } from '../slots.ts';
import { openingOf, resendForm } from '../pages/resend.ts';
import type { Resend } from '../pages/resend.ts';

interface VerifyState extends FormState {
  /** Only verified factors that can be asked for. */
  readonly factors: readonly Factor[];
  /** The factor whose code is asked for; `undefined` where none has codes. */
  readonly factor: Factor | undefined;
  /** Whether a text message with a code was sent to it. */
  readonly isSent: boolean;
  /** When another one can be sent, where one was just sent. */
  readonly resend?: Resend | undefined;
  /** Whether its codes are refused for a while, after too many wrong ones. */
  readonly isClosed?: boolean;
  /** Whether the script asks for the security key at once, because the answer before came too late. */
  readonly isAgain?: boolean;
}

/** A button for the security key, and a field for six digits; for a phone, first a button that sends them. */
export function verifyPage(site: Site, request: PageRequest, state: VerifyState): Reply {
  const { text } = site;
  const error = codeErrorOf(site, state);
  return showPage(site, request, {
    facts: {
      kind: 'verify',
      action: request.localPath(site.settings.verifyPath),
      fields: state.factor === undefined ? [] : ['code'],
      values: { ...formValues(state), factorId: state.factor?.id, factorType: state.factor?.type },
      links: { help: request.brand.links.help, signOut: request.localPath(site.settings.logoutPath) },
      choices: state.factors.map((factor) => ({
        name: factorName(site, factor).plain,
        href: withQuery(request.localPath(site.settings.verifyPath), { factorId: factor.id, ...returnToOf(state) }),
      })),
    },
    heading: text.verifyHeading,
    lead: leadOf(site, state),
    ...(state.isSent ? { leadRole: 'status' as const } : {}),
    error: state.error,
    hasForm: true,
    isStep: true,
    ...(keyOf(state) && { script: ceremonyScript(site, request, site.settings.verifyPath) }),
    content: html`${formAlert(site, request, error)}
${askForKey(site, request, state)}
${state.factor === undefined ? keyOf(state) === undefined && noFactor(site, request, state) : askFor(site, request, state.factor, state, error)}
${otherFactors(site, request, state)}
${state.factors.length > 0 && supportFor(site, request)}
${otherAccount(site, request, state)}`,
  });
}

/** For someone who cannot use a factor anymore: only the application's people can remove it. */
function supportFor({ text }: Pick<Site, 'text'>, { brand }: PageRequest): Html {
  const { help } = brand.links;
  const words = help === undefined ? text.verifyHelp : html`<a href="${safeHref(help)}">${text.verifyHelp}</a>`;
  return html`<p class="actions">${words}</p>`;
}

/** Other limits, such as the backend's own, are not about wrong codes. */
export function codeErrorOf({ text }: Pick<Site, 'text'>, { error }: Pick<FormState, 'error'>): FormError | undefined {
  const shown = error && formErrorOf(error, text);
  return shown !== undefined && isClosedFor({ error }) ? { ...shown, message: text.codeClosed } : shown;
}

/** Any of the user's keys answers the challenge of each of them. */
const keyOf = ({ factors }: VerifyState): Factor | undefined => factors.find(({ type }) => type === keyType);

function askForKey(site: Site, request: PageRequest, state: VerifyState): HtmlValue {
  const { text, settings } = site;
  const key = keyOf(state);
  if (key === undefined) return undefined;
  const isAlone = state.factor === undefined;
  const form = ceremonyForm(site, request, {
    kind: 'get',
    path: settings.verifyPath,
    start: { challenge: key.id },
    hidden: { factorId: key.id, ...returnToOf(state) },
    label: text.keyButton,
    isQuiet: false,
    hasFocus: true,
    isAgain: state.isAgain,
    after: !isAlone && html`<p class="or">${text.or}</p>`,
  });
  return html`${isAlone && ceremonyFallback(site)}${form}`;
}

/** One line of instructions. */
function leadOf(site: Site, state: VerifyState): Text {
  const { text } = site;
  const { factor, isSent } = state;
  const hasKey = keyOf(state) !== undefined;
  if (factor === undefined) return hasKey ? text.verifyKeyText : text.noFactorText;
  if (factor.type === 'totp') return hasKey ? text.verifyKeyOrAppText : text.verifyAppText;
  if (isSent) return fillIn(text.codeSentText, { digits: factor.digits });
  return fillIn(hasKey ? text.verifyKeyOrPhoneText : text.verifyPhoneText, { digits: factor.digits });
}

function askFor(
  site: Site,
  request: PageRequest,
  factor: Factor,
  state: VerifyState,
  error: FormError | undefined,
): Html {
  const { text } = site;
  const { resend } = state;
  const isQuiet = keyOf(state) !== undefined;
  const isPhone = factor.type === 'phone';
  const action = request.localPath(site.settings.verifyPath);
  const sending = { send: factor.id, ...returnToOf(state) };
  if (isPhone && !state.isSent) {
    return postForm(action, sending, html`<button${isQuiet && html` class="quiet"`}>${text.sendCodeButton}</button>`);
  }
  const { isClosed = false } = state;
  const fields = codeFields(site, { code: 'six', error, isClosed, label: text.continueButton, isQuiet });
  const hidden = { factorId: factor.id, ...returnToOf(state), ...(isPhone ? openingOf(resend) : {}) };
  return html`${postForm(action, hidden, fields)}
${isClosed && openAgain(site, request, factor, state)}
${isPhone && !isClosed && resendForm(site, request, { action, hidden: sending, label: text.sendCodeAgainButton, resend })}`;
}

/** The same page anew, which takes codes again after the time that its message names. */
function openAgain({ settings, text }: Site, request: PageRequest, { id }: Factor, state: VerifyState): Html {
  const href = withQuery(request.localPath(settings.verifyPath), { factorId: id, ...returnToOf(state) });
  return html`<p class="actions"><a href="${safeHref(href)}">${text.reloadLink}</a></p>`;
}

/** The form where an administrator has removed the last factor. */
function noFactor(site: Site, request: PageRequest, state: VerifyState): Html {
  const { text } = site;
  return postForm(
    request.localPath(site.settings.verifyPath),
    returnToOf(state),
    html`<button>${text.continueButton}</button>`,
  );
}

function otherFactors(site: Site, request: PageRequest, state: VerifyState): HtmlValue {
  const { text } = site;
  const others = state.factors.filter(({ id, type }) => id !== state.factor?.id && type !== keyType);
  if (others.length === 0) return undefined;
  const links = others.map((factor) => {
    const href = withQuery(request.localPath(site.settings.verifyPath), { factorId: factor.id, ...returnToOf(state) });
    return html`<li><a href="${safeHref(href)}">${factorIcon(factor)}<span class="name"><bdi>${factorName(site, factor)}</bdi></span>${chevron}</a></li>\n`;
  });
  return html`<p class="or">${text.or}</p>
<ul class="choices">
${links}</ul>`;
}

const phoneIcon = html`<rect x="7" y="2.5" width="10" height="19" rx="2.5"/><path d="M11 18h2"/>`;
const appIcon = html`<rect x="4" y="4" width="16" height="16" rx="4"/><path d="M8.5 12h.1m3.4 0h.1m3.4 0h.1"/>`;

function factorIcon({ type }: Factor): Html {
  return html`<svg class="start" viewBox="0 0 24 24" aria-hidden="true">${type === 'phone' ? phoneIcon : appIcon}</svg>`;
}

/** "Phone ending in 123", or the name of the app or key. */
function factorName({ text }: Pick<Site, 'text'>, { type, name, digits }: Factor): Text {
  if (type === 'phone') return fillIn(text.factorPhone, { digits });
  if (name !== '') return textOf(name);
  if (type === 'totp') return text.factorApp;
  if (type === 'webauthn') return text.factorKey;
  return type === 'recovery_code' ? text.factorRecovery : fillIn(text.factorOther, { type });
}

/** For a user with second factors of which none can be asked for here: what they are, and the ways on. */
export function unavailablePage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly factors: readonly Factor[]; readonly isPending: boolean },
): Reply {
  const { text } = site;
  const { links } = request.brand;
  const names = [...new Set(state.factors.map((factor) => factorName(site, factor).plain))];
  const list = new Intl.ListFormat(request.brand.lang).formatToParts(names);
  const factors = list.map(({ value }) => value).join('');
  // Each name has its own text direction.
  const markup = list.map(({ type, value }) => (type === 'element' ? emphasis(value) : value));
  return showPage(site, request, {
    facts: {
      kind: 'factor_unavailable',
      values: formValues(state),
      links: {
        help: links.help,
        home: request.urlOf(request.home),
        signOut: request.localPath(site.settings.logoutPath),
      },
    },
    heading: text.factorUnavailableHeading,
    emblem: 'lock',
    lead: fillIn(text.factorUnavailableText, { factors }, () => html`${markup}`),
    leadRole: 'alert',
    error: state.error,
    hasForm: true,
    content: html`${links.help !== undefined && html`<p><a class="button" href="${safeHref(links.help)}">${text.contactSupport}</a></p>`}
${otherAccount(site, request, state)}
${!state.isPending && html`<p class="actions"><a href="${safeHref(request.urlOf(request.home))}">${text.backHome}</a></p>`}`,
  });
}

/** After the project rejected a code: GoTrue has ended the sign-in. */
export function rejectedPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { text } = site;
  return showPage(site, request, {
    facts: { kind: 'factor_rejected', values: formValues(state), links: { signIn: request.signInUrl(state.returnTo) } },
    heading: text.factorRejectedHeading,
    emblem: 'warning',
    lead: text.factorRejectedText,
    leadRole: 'alert',
    error: state.error,
    hasForm: false,
    content: html`<p><a class="button" href="${safeHref(request.signInUrl(state.returnTo))}">${text.signInButton}</a></p>`,
  });
}

/** Says what the removal means, and removes only by its own button. */
export function removePage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly factor: Factor; readonly isLast: boolean },
): Reply {
  const { settings, text } = site;
  const { factor, isLast } = state;
  const action = request.localPath(settings.enrollPath);
  const hidden = { remove: factor.id, sure: 'yes', ...returnToOf(state) };
  return showPage(site, request, {
    facts: {
      kind: 'remove_factor',
      action,
      values: { returnTo: state.returnTo, remove: factor.id, sure: 'yes', name: factorName(site, factor).plain },
      links: { cancel: withReturnTo(action, state) },
    },
    heading: fillIn(text.removeHeading, { factor: factorName(site, factor).plain }, isolated),
    lead: isLast ? text.removeLastText : text.removeText,
    hasForm: true,
    content: html`${postForm(action, hidden, html`<button>${text.removeButton}</button>`)}
<p class="actions"><a href="${safeHref(withReturnTo(action, state))}">${text.cancelLink}</a></p>`,
  });
}

function factorsLead(site: Site, isEmpty: boolean): Text {
  const { text } = site;
  if (hasKeys(site)) return isEmpty ? text.factorsWithKeysEmptyText : text.factorsWithKeysText;
  return isEmpty ? text.factorsEmptyText : text.factorsText;
}

interface FactorsState extends FormState {
  readonly factors: readonly Factor[];
  readonly isAgain?: boolean;
  /** Whether the account has an email address, which an authenticator app needs. Default `true`. */
  readonly hasAddress?: boolean;
}

/** The second factors of an account, a link to remove each, and one to add an authenticator app. */
export function factorsPage(site: Site, request: PageRequest, state: FactorsState): Reply {
  const { settings, text } = site;
  const { factors, returnTo, isAgain, hasAddress = true } = state;
  const { enrollPath: path } = settings;
  const needsEmail = { message: text.factorNeedsEmail, field: 'form', tone: 'next' } as const;
  const isEmpty = factors.length === 0;
  const isStuck = !hasAddress && isEmpty;
  const message = state.error === undefined ? (isStuck ? needsEmail : undefined) : formErrorOf(state.error, text);
  // Filled in by the script, with the answer.
  const hidden = { type: keyType, factorId: '', ...returnToOf(state) };
  const start = { type: keyType };
  const adding = { kind: 'create', path, start, hidden, label: text.addKeyButton, isQuiet: true, isAgain } as const;
  const action = request.localPath(settings.enrollPath);
  // A guard may have led here, and would do so again: an account that cannot add a factor must not be trapped.
  const isRequired = isEmpty && returnTo !== request.home;
  const { help } = hasAddress ? {} : request.brand.links;
  const leave = request.urlOf(isStuck ? request.home : returnTo);
  const support = help !== undefined && html`<p><a href="${safeHref(help)}">${text.contactSupport}</a></p>`;
  const row = (factor: Factor): Html => {
    const name = html`<bdi>${factorName(site, factor)}</bdi>${dateOf(factor, request)}`;
    const href = withQuery(action, { remove: factor.id, ...returnToOf(state) });
    const label = `${text.removeButton.plain}: ${factorName(site, factor).plain}`;
    // Without an id it can be named, but not removed.
    const link = factor.id !== '' && html`<a href="${safeHref(href)}" aria-label="${label}">${text.removeButton}</a>`;
    return html`<li class="row"><span class="name">${name}</span> ${link}</li>\n`;
  };
  return showPage(site, request, {
    facts: {
      kind: 'factors',
      action,
      values: formValues(state),
      links: { done: leave, help },
      choices: factors.map((factor) => ({
        name: factorName(site, factor).plain,
        href: withQuery(action, { remove: factor.id, ...returnToOf(state) }),
      })),
    },
    heading: text.factorsHeading,
    lead: !isStuck && factorsLead(site, isEmpty),
    error: state.error,
    hasForm: true,
    ...(hasKeys(site) && { script: ceremonyScript(site, request, path) }),
    content: html`${formAlert(site, request, message, support)}
${!isEmpty && html`<ul class="choices">\n${factors.map(row)}</ul>`}
${hasAddress && postForm(action, returnToOf(state), html`<button>${text.addAppButton}</button>`)}
${hasKeys(site) && ceremonyForm(site, request, adding)}
${leaving(site, request, state, isStuck)}
${isRequired && otherAccount(site, request, state)}`,
  });
}

/** Without a factor nothing is done, and a guard that led here would do so again. */
function leaving({ text }: Site, request: PageRequest, { factors, returnTo }: FactorsState, isStuck: boolean): Html {
  const isEmpty = factors.length === 0;
  const link = (path: string, label: HtmlValue): Html =>
    html`<p class="actions"><a href="${safeHref(request.urlOf(path))}">${label}</a></p>`;
  const canGoBack = !isStuck && (!isEmpty || returnTo !== request.home);
  return html`${canGoBack && link(returnTo, isEmpty ? text.cancelLink : text.doneLink)}
${isEmpty && link(request.home, text.backHome)}`;
}

/** On its own line: beside a name in another script, bidirectional text would split it. */
function dateOf({ createdAt }: Factor, request: PageRequest): HtmlValue {
  const time = Date.parse(createdAt);
  if (Number.isNaN(time)) return undefined;
  const { lang } = request.brand;
  return html` <small>${new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeZone: 'UTC' }).format(time)}</small>`;
}
