import { html, safeHref, textOf } from '../../core/html.ts';
import type { Html, HtmlValue, Text } from '../../core/html.ts';
import { withQuery } from '../../core/url.ts';
import { fillIn } from '../../http/page-text.ts';
import type { Reply } from '../../http/reply.ts';
import type { Factor } from '../account/factors.ts';
import { field, formAlert, formErrorOf, postForm, returnToOf, showPage } from './parts.ts';
import type { FormError, FormState, PageRequest, Site } from './parts.ts';

export interface VerifyState extends FormState {
  /** The verified ones. */
  readonly factors: readonly Factor[];
  /** The one that is asked for; `undefined` where none is left. */
  readonly factor: Factor | undefined;
  /** Whether a text message with a code is on its way to it. */
  readonly isSent: boolean;
  /** Whether a sign-in waits, which can be given up. */
  readonly isPending: boolean;
  /** What the code is for: the page of the factors, or the sign-in that waits beside another user's session. */
  readonly then?: 'enroll' | 'sign-in' | undefined;
}

/** One field for six digits; for a phone first a button that sends them. */
export function verifyPage(site: Site, request: PageRequest, state: VerifyState): Reply {
  const { text } = site;
  const error = state.error && formErrorOf(state.error, text);
  return showPage(site, request, {
    heading: text.verifyHeading,
    lead: leadOf(site, state),
    ...(state.isSent ? { leadRole: 'status' as const } : {}),
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, error)}
${state.factor === undefined ? noFactor(site, request, state) : askFor(site, request, state.factor, state, error)}
${otherFactors(site, request, state)}
${state.isPending && otherAccount(site, request, state)}`,
  });
}

/** What to do, in one line. */
function leadOf({ text }: Site, { factor, isSent }: VerifyState): Text {
  if (factor === undefined) return text.noFactorText;
  if (factor.type === 'totp') return text.verifyAppText;
  return isSent ? text.codeSentText : fillIn(text.verifyPhoneText, { digits: factor.digits });
}

/** The page's own URL carries where it leads afterwards, so that its form does, too. */
function action({ settings }: Site, request: PageRequest, { then }: VerifyState): string {
  const path = request.localPath(settings.verifyPath);
  return then === undefined ? path : withQuery(path, { then });
}

function askFor(
  site: Site,
  request: PageRequest,
  factor: Factor,
  state: VerifyState,
  error: FormError | undefined,
): Html {
  const { text } = site;
  const isPhone = factor.type === 'phone';
  const send = (label: Text, isQuiet: boolean): Html =>
    postForm(
      action(site, request, state),
      { send: factor.id, ...returnToOf(state) },
      html`<button${isQuiet && html` class="quiet"`}>${label}</button>`,
    );
  if (isPhone && !state.isSent) {
    return send(text.sendCodeButton, false);
  }
  const code = field({
    name: 'code',
    type: 'text',
    inputmode: 'numeric',
    label: text.code,
    autocomplete: 'one-time-code',
    error,
    hasFocus: true,
  });
  const hidden = { factorId: factor.id, ...returnToOf(state) };
  return html`${postForm(action(site, request, state), hidden, html`${code}\n<button>${text.continueButton}</button>`)}
${isPhone && send(text.sendCodeAgainButton, true)}`;
}

/** An administrator has removed the last one. */
function noFactor(site: Site, request: PageRequest, state: VerifyState): Html {
  const { text } = site;
  return postForm(action(site, request, state), returnToOf(state), html`<button>${text.continueButton}</button>`);
}

function otherFactors(site: Site, request: PageRequest, state: VerifyState): HtmlValue {
  const { text } = site;
  const others = state.factors.filter(({ id }) => id !== state.factor?.id);
  if (others.length === 0) return undefined;
  const links = others.map((factor) => {
    const href = withQuery(action(site, request, state), { factorId: factor.id, ...returnToOf(state) });
    return html`<li><a href="${safeHref(href)}"><bdi class="name">${factorName(site, factor)}</bdi></a></li>\n`;
  });
  return html`<p class="or">${text.or}</p>
<ul class="choices">
${links}</ul>`;
}

/** "Phone ending in 123", or the name that it was given. */
export function factorName({ text }: Pick<Site, 'text'>, { type, name, digits }: Factor): Text {
  if (type === 'phone') return fillIn(text.factorPhone, { digits });
  return name === '' ? text.factorApp : textOf(name);
}

/** Signing out ends what waits here, at the backend, too. */
function otherAccount({ settings, text }: Site, request: PageRequest, state: VerifyState): Html {
  const button = html`<button class="link">${text.otherAccount}</button>`;
  return html`<div class="actions">${postForm(request.localPath(settings.logoutPath), returnToOf(state), button)}</div>`;
}
