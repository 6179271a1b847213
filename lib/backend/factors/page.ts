import { html, textOf } from '../../tools/html.ts';
import type { Html, Text } from '../../tools/html.ts';
import { withQuery } from '../../tools/url.ts';
import type { FormError } from '../../pages/form.ts';
import type { Choice, Parts } from '../../pages/page.ts';
import { rowIcon } from '../../pages/icons.ts';
import { dated, emphasis, fillIn, isolated, lines } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import { hasKeys } from './factors.ts';
import { keyKind, kindOf } from './kinds.ts';
import type { Factor } from './factors.ts';
import { ceremonyFallback, ceremonyForm, keyDrawing } from '../webauthn/page.ts';
import { codeFields } from '../pages/field.ts';
import {
  doneLink,
  formErrorOf,
  formValues,
  isClosedFor,
  link,
  otherAccount,
  removalParts,
  returnToOf,
  showPage,
  supportLink,
} from '../pages/parts.ts';
import { pageScript } from '../pages/script-route.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';
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
  const { text, settings } = site;
  const { factor, factors } = state;
  const key = keyOf(state);
  return showPage(site, request, {
    kind: 'verify',
    values: { ...formValues(state), factorId: factor?.id, factorType: factor?.type },
    heading: factor === undefined && key === undefined ? text.factorsHeading : text.verifyHeading,
    lead: leadOf(site, state),
    ...(state.isSent ? { leadRole: 'status' as const } : {}),
    error: state.error,
    problem: problemOf(site, state),
    isStep: true,
    ...(key && { script: pageScript(site, request, settings.paths.verify) }),
    parts: [
      {
        part: 'ways',
        or: text.or,
        ways: [
          askForKey(site, request, state),
          factor === undefined ? [] : askForCode(site, request, factor, state),
          otherFactors(site, request, state),
        ],
      },
      // An administrator has removed the last factor.
      factor === undefined &&
        key === undefined && {
          part: 'form',
          action: request.localPath(settings.paths.verify),
          hidden: returnToOf(state),
          buttons: [{ label: text.continueButton }],
        },
      ...(factors.length > 0 ? [lostFactor(site, request)] : []),
      otherAccount(site, request, state),
    ],
  });
}

/** For someone who cannot use a factor anymore: only the application's people can remove it. */
function lostFactor({ text }: Pick<Site, 'text'>, { brand }: PageRequest): Parts[number] {
  const { help } = brand.links;
  if (help !== undefined) return link('help', help, text.verifyHelp);
  return { part: 'markup', markup: html`<p class="actions">${text.verifyHelp}</p>` };
}

/** Other limits, such as the backend's own, are not about wrong codes. */
export function problemOf({ text }: Pick<Site, 'text'>, { error }: Pick<FormState, 'error'>): FormError | undefined {
  const shown = error && formErrorOf(error, text);
  return shown !== undefined && isClosedFor({ error }) ? { ...shown, message: text.codeClosed } : shown;
}

/** Any of the user's keys answers the challenge of each of them. */
const keyOf = ({ factors }: VerifyState): Factor | undefined => factors.find(({ type }) => type === keyKind.type);

function askForKey(site: Site, request: PageRequest, state: VerifyState): Parts {
  const { text, settings } = site;
  const key = keyOf(state);
  if (key === undefined) return [];
  const isAlone = state.factor === undefined;
  const form = ceremonyForm(site, request, {
    kind: 'get',
    path: settings.paths.verify,
    start: { challenge: key.id },
    hidden: { factorId: key.id, ...returnToOf(state) },
    label: text.keyButton,
    isQuiet: false,
    hasFocus: true,
    isAgain: state.isAgain,
  });
  return [isAlone && ceremonyFallback(site), form];
}

/** One line of instructions. */
function leadOf(site: Site, state: VerifyState): Text {
  const { text } = site;
  const { factor, isSent } = state;
  const hasKey = keyOf(state) !== undefined;
  const kind = factor === undefined ? hasKey && keyKind : kindOf(factor);
  if (kind === undefined || kind === false) return text.noFactorText;
  const { alone, withKey, sent = alone } = kind.lead;
  const key = isSent ? sent : hasKey ? withKey : alone;
  return fillIn(text[key], { digits: factor?.digits ?? '' });
}

function askForCode(site: Site, request: PageRequest, factor: Factor, state: VerifyState): Parts {
  const { text, settings } = site;
  const { resend, isClosed = false } = state;
  const isQuiet = keyOf(state) !== undefined;
  const mustSend = kindOf(factor)?.isSent === true;
  const action = request.localPath(settings.paths.verify);
  const sending = { send: factor.id, ...returnToOf(state) };
  if (mustSend && !state.isSent) {
    const look = isQuiet ? ('quiet' as const) : undefined;
    return [
      {
        part: 'form',
        action,
        hidden: returnToOf(state),
        buttons: [{ label: text.sendCodeButton, look, name: 'send', value: factor.id }],
      },
    ];
  }
  const fields = codeFields(site, { code: 6, isClosed, label: text.continueButton, isQuiet });
  const hidden = { factorId: factor.id, ...returnToOf(state), ...(mustSend ? openingOf(resend) : {}) };
  const again = { name: 'resend', action, hidden: sending, label: text.sendCodeAgainButton, resend };
  return [
    { part: 'form', action, hidden, ...fields },
    // The same page anew, which takes codes again after the time that its message names.
    isClosed && link('reload', urlOf(site, request, factor, state), text.reloadLink),
    mustSend && !isClosed && resendForm(site, request, again),
  ];
}

/** The page that asks for this factor. */
function urlOf({ settings }: Site, request: PageRequest, { id }: Factor, state: FormState): string {
  return withQuery(request.localPath(settings.paths.verify), { factorId: id, ...returnToOf(state) });
}

function otherFactors(site: Site, request: PageRequest, state: VerifyState): Parts {
  const others = state.factors.filter(({ id, type }) => id !== state.factor?.id && type !== keyKind.type);
  if (others.length === 0) return [];
  const choices = others.map((factor): Choice => ({
    name: factorName(site, factor),
    href: urlOf(site, request, factor, state),
    icon: factorIcon(factor),
  }));
  return [{ part: 'list', choices }];
}

const phoneIcon = html`<rect x="7" y="2.5" width="10" height="19" rx="2.5"/><path d="M11 18h2"/>`;
export const appIcon: Html = html`<rect x="4" y="4" width="16" height="16" rx="4"/><path d="M8.5 12h.1m3.4 0h.1m3.4 0h.1"/>`;

const icons: ReadonlyMap<string, Html> = new Map([
  ['phone', phoneIcon],
  [keyKind.type, keyDrawing],
]);

function factorIcon({ type }: Factor): Html {
  return rowIcon(icons.get(type) ?? appIcon);
}

/** "Phone ending in 123", or the name of the app or key. */
function factorName({ text }: Pick<Site, 'text'>, factor: Factor): Text {
  const { type, name, digits } = factor;
  const kind = kindOf(factor);
  if (name !== '' && kind?.label.always !== true) return textOf(name);
  if (kind !== undefined) return fillIn(text[kind.label.key], { digits });
  return type === 'recovery_code' ? text.factorRecovery : fillIn(text.factorOther, { type });
}

/** For a user with second factors of which none can be asked for here: what they are, and the ways on. */
export function unavailablePage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly factors: readonly Factor[]; readonly isPending: boolean },
): Reply {
  const { text } = site;
  const names = [...new Set(state.factors.map((factor) => factorName(site, factor).plain))];
  const list = new Intl.ListFormat(request.brand.lang).formatToParts(names);
  const factors = list.map(({ value }) => value).join('');
  // Each name has its own text direction.
  const markup = list.map(({ type, value }) => (type === 'element' ? emphasis(value) : value));
  return showPage(site, request, {
    kind: 'factor_unavailable',
    values: formValues(state),
    heading: text.factorUnavailableHeading,
    emblem: 'lock',
    lead: fillIn(text.factorUnavailableText, { factors }, () => html`${markup}`),
    leadRole: 'alert',
    error: state.error,
    parts: [
      supportLink(site, request, 'button'),
      otherAccount(site, request, state),
      !state.isPending && link('home', request.urlOf(request.home), text.backHome),
    ],
  });
}

/** After the project rejected a code: GoTrue has ended the sign-in. */
export function rejectedPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { text } = site;
  return showPage(site, request, {
    kind: 'factor_rejected',
    values: formValues(state),
    heading: text.factorRejectedHeading,
    emblem: 'warning',
    lead: text.factorRejectedText,
    leadRole: 'alert',
    error: state.error,
    parts: [link('signIn', request.signInUrl(state.returnTo), text.signInButton, 'button'), supportLink(site, request)],
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
  const action = request.localPath(settings.paths.enroll);
  const asked = { remove: factor.id, sure: 'yes' };
  const name = factorName(site, factor).plain;
  return showPage(site, request, {
    kind: 'remove_factor',
    values: { returnTo: state.returnTo, ...asked, name },
    heading: fillIn(text.removeHeading, { factor: name }, isolated),
    lead: isLast ? text.removeLastText : text.removeText,
    parts: removalParts(site, action, state, { asked, label: text.removeButton }),
  });
}

function factorsLead(site: Site, isEmpty: boolean): Text {
  const { text } = site;
  if (hasKeys(site)) return isEmpty ? text.factorsWithKeysEmptyText : text.factorsWithKeysText;
  return isEmpty ? text.factorsEmptyText : text.factorsText;
}

export interface FactorsState extends FormState {
  readonly factors: readonly Factor[];
  readonly isAgain?: boolean;
  /** Whether the first one was added just now. */
  readonly isFirst?: boolean;
  /** Whether another of our pages led here, to which a user can go back: none of them asks for a factor first. */
  readonly isOfOurs?: boolean;
  /** Whether the account has an email address, which an authenticator app needs. Default `true`. */
  readonly hasAddress?: boolean;
}

/** The second factors of an account, a link to remove each, and one to add an authenticator app. */
export function factorsPage(site: Site, request: PageRequest, state: FactorsState): Reply {
  const { settings, text } = site;
  const { factors, isAgain, isFirst = false, hasAddress = true } = state;
  const path = settings.paths.enroll;
  const isEmpty = factors.length === 0;
  const isStuck = !hasAddress && isEmpty;
  const action = request.localPath(path);
  const choices = factors.map((factor): Choice => {
    const href = withQuery(action, { remove: factor.id, ...returnToOf(state) });
    const name = factorName(site, factor);
    // Without an id it can be named, but not removed.
    const actions = factor.id === '' ? [] : [{ href, label: text.removeButton }];
    const details = dated(text.factorAdded, factor.createdAt, request.brand.lang);
    return { name, href, icon: factorIcon(factor), details, actions };
  });
  // Filled in by the script, with the answer.
  const hidden = { type: keyKind.type, factorId: '', ...returnToOf(state) };
  const start = { type: keyKind.type };
  const adding = { kind: 'create', path, start, hidden, label: text.addKeyButton, isQuiet: true, isAgain } as const;
  const addApp = [{ label: text.addAppButton }];
  return showPage(site, request, {
    kind: 'factors',
    values: formValues(state),
    heading: text.factorsHeading,
    lead: !isStuck && factorsLead(site, isEmpty),
    error: state.error,
    problem: state.error === undefined ? noticeOf(site, { isStuck, isFirst }) : formErrorOf(state.error, text),
    ...(!hasAddress && { remedy: [supportLink(site, request)] }),
    ...(hasKeys(site) && { script: pageScript(site, request, path) }),
    parts: [
      { part: 'list', choices },
      hasAddress && { part: 'form', action, hidden: returnToOf(state), buttons: addApp },
      hasKeys(site) && ceremonyForm(site, request, adding),
      ...leaving(site, request, state, isStuck),
    ],
  });
}

/** What the page begins with, where nothing failed. */
function noticeOf(
  { text }: Site,
  { isStuck, isFirst }: { readonly isStuck: boolean; readonly isFirst: boolean },
): FormError | undefined {
  if (isStuck) return { message: text.factorNeedsEmail, field: 'form', tone: 'next' };
  return isFirst ? { message: lines(text.factorsOnText, text.addAnotherText), field: 'form', tone: 'good' } : undefined;
}

/**
 * Without a factor nothing is done, and a guard that led here would do so again: an account that cannot add a factor must not be
 * trapped.
 */
function leaving(site: Site, request: PageRequest, state: FactorsState, isStuck: boolean): Parts {
  const { text } = site;
  const { factors, returnTo, isOfOurs = false } = state;
  const isEmpty = factors.length === 0;
  const mayBeAsked = isEmpty && !isOfOurs;
  const canGoBack = !isStuck && (!isEmpty || returnTo !== request.home);
  return [
    canGoBack && (isEmpty ? link('done', request.urlOf(returnTo), text.cancelLink) : doneLink(site, request, state)),
    (mayBeAsked || !canGoBack) && link('home', request.urlOf(request.home), text.backHome),
    mayBeAsked && returnTo !== request.home && otherAccount(site, request, state),
  ];
}
