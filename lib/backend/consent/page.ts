import { html, safeHref, textOf } from '../../tools/html.ts';
import type { Html, HtmlValue, Text } from '../../tools/html.ts';
import { readRedirectAddress } from './redirect-address.ts';
import { withQuery } from '../../tools/url.ts';
import type { AuthError } from '../../errors.ts';
import { emphasis, fillIn, isolated } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import type { ConnectedApp, OAuthClientInfo } from '../../types.ts';
import type { Authorization } from './oauth-server.ts';
import { otherAccount, postForm, returnToOf, showPage, withReturnTo } from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';
import type { PagesTextKey } from '../pages/text.ts';

interface ConsentState extends Pick<Authorization, 'client' | 'redirectUri' | 'scopes'> {
  readonly authorizationId: string;
  /** The page's own URL, to come back to with another account. */
  readonly returnTo: string;
  /** The name of the signed-in account. */
  readonly account: string | undefined;
}

/** What an app asks for, and two buttons of equal weight. Only what the provider checked is shown without a doubt: the address. */
export function consentPage(site: Site, request: PageRequest, state: ConsentState): Reply {
  const { settings, text } = site;
  const { client, redirectUri, scopes, account, authorizationId } = state;
  const address = readRedirectAddress(redirectUri);
  if (address === undefined) throw new Error('An unsafe address has no page');
  const hidden = { authorization_id: authorizationId };
  const words = addressWords[address.kind];
  const buttons = html`<div class="pair">
<button class="quiet" name="action" value="allow">${text.allowButton}</button>
<button class="quiet" name="action" value="deny">${text.denyButton}</button>
</div>`;
  return showPage(site, request, {
    facts: {
      kind: 'consent',
      action: request.localPath(settings.consentPath),
      fields: ['action'],
      values: {
        authorization_id: authorizationId,
        account,
        app: appName(text, client).plain,
        address: address.receiver,
        scopes: scopes.join(' '),
        returnTo: state.returnTo,
      },
      links: { signOut: request.localPath(settings.logoutPath) },
    },
    heading: withApp(site, text.consentHeading, client),
    lead: account !== undefined && fillIn(text.signedInAs, { account }, emphasis),
    hasForm: true,
    // Browsers check the redirect after the form against it, too.
    formLeadsTo: address.formAction,
    tellsOrigin: true,
    content: html`<div class="message plain">
<p>${fillIn(text[words], { address: address.receiver }, (receiver) => html`<strong dir="ltr">${receiver}</strong>`)}</p>
<p>${text.consentUnverified}</p>
</div>
<h2>${text.consentScopes}</h2>
<ul class="scopes">
${abilities(site, request, scopes).map((ability) => html`<li><span>${ability}</span></li>\n`)}</ul>
${postForm(request.localPath(settings.consentPath), hidden, buttons)}
${otherAccount(site, request, state)}`,
  });
}

const addressWords = { web: 'consentWeb', device: 'consentDevice', app: 'consentApp' } as const satisfies Record<
  string,
  PagesTextKey
>;

/** Supabase's scopes concern the data of an id token only: with each of them, an app acts with all of the user's permissions. */
function abilities(
  { text }: Pick<Site, 'text'>,
  request: PageRequest,
  scopes: readonly string[],
): readonly HtmlValue[] {
  const { title } = request.brand;
  const act = title === undefined ? text.consentAct : fillIn(text.consentActIn, { title }, isolated);
  return [act, ...scopes.map((scope) => scopeWords(text, scope))];
}

const knownScopes: ReadonlyMap<string, PagesTextKey> = new Map([
  ['openid', 'scopeOpenid'],
  ['profile', 'scopeProfile'],
  ['email', 'scopeEmail'],
  ['phone', 'scopePhone'],
  ['offline_access', 'scopeOfflineAccess'],
]);

/** A scope of tomorrow is shown as it is. */
function scopeWords(text: Site['text'], scope: string): HtmlValue {
  const key = knownScopes.get(scope);
  return key === undefined ? html`<code dir="ltr">${scope}</code>` : text[key];
}

/** The name that the app gave itself, with its own text direction. */
function withApp({ text }: Pick<Site, 'text'>, words: Text, client: OAuthClientInfo): Text {
  return fillIn(words, { app: appName(text, client).plain }, isolated);
}

function appName(text: Site['text'], { name }: OAuthClientInfo): Text {
  return name === '' ? text.unnamedApp : textOf(name);
}

/** For a request that cannot go on; the app can start another one. */
export function startAgainPage(
  site: Site,
  request: PageRequest,
  {
    error,
    account,
    allowed,
  }: {
    readonly error: AuthError;
    readonly account: string | undefined;
    /** The app, where the user has allowed it. */
    readonly allowed?: OAuthClientInfo | undefined;
  },
): Reply {
  const { text } = site;
  const why = allowed === undefined ? text[error.code] : withApp(site, text.startAgainAllowed, allowed);
  const signedIn = account !== undefined && html`<br>${fillIn(text.signedInAs, { account }, emphasis)}`;
  return showPage(site, request, {
    facts: {
      kind: 'start_again',
      values: { account, app: allowed && appName(text, allowed).plain },
      links: { home: request.urlOf(request.home) },
    },
    heading: text.startAgainHeading,
    emblem: error.code === 'authorization_expired' ? 'clock' : 'warning',
    lead: html`${why}${signedIn}`,
    leadRole: 'alert',
    error,
    hasForm: false,
    content: html`<p class="actions"><a href="${safeHref(request.urlOf(request.home))}">${text.backHome}</a></p>`,
  });
}

/**
 * Goes on to the app without a redirect: a sign-in form may have led here, and browsers check its redirects against the `form-action`
 * of its page, but not a `Refresh`. Where an app opens beside the browser, this page stays.
 */
export function toAppPage(
  site: Site,
  request: PageRequest,
  { redirectTo, client }: { readonly redirectTo: string; readonly client?: OAuthClientInfo | undefined },
): Reply {
  const { text } = site;
  const href = readRedirectAddress(redirectTo)?.href ?? '#';
  const page = showPage(site, request, {
    // Not the address, which holds the app's code: the response's `Refresh` has it.
    facts: { kind: 'to_app', values: { app: client && appName(text, client).plain } },
    heading: client === undefined ? text.toAppHeading : withApp(site, text.goBackHeading, client),
    lead: text.signingOutText,
    leadRole: 'status',
    hasForm: false,
    content: html`<p><a class="button" href="${href}">${text.continueButton}</a></p>`,
  });
  return { ...page, headers: { Refresh: `0; url=${href}` } };
}

/** The apps that act for the user, and a link to disconnect each. */
export function appsPage(
  site: Site,
  request: PageRequest,
  state: Pick<FormState, 'returnTo'> & { readonly apps: readonly ConnectedApp[] },
): Reply {
  const { settings, text } = site;
  const { apps, returnTo } = state;
  const path = request.localPath(settings.connectedAppsPath);
  const row = ({ client, scopes, grantedAt }: ConnectedApp): Html => {
    const name = appName(text, client);
    const href = withQuery(path, { revoke: client.id, ...returnToOf(state) });
    const label = `${text.disconnectButton.plain}: ${name.plain}`;
    // Without an id it can be named, but not disconnected.
    const link =
      client.id !== '' && html`<a href="${safeHref(href)}" aria-label="${label}">${text.disconnectButton}</a>`;
    const words = scopes.map((scope) => html`<small>${scopeWords(text, scope)}</small>`);
    return html`<li class="row"><span class="name"><strong dir="auto">${name}</strong>${words}${since(site, request, grantedAt)}</span> ${link}</li>\n`;
  };
  return showPage(site, request, {
    facts: {
      kind: 'apps',
      values: { returnTo },
      links: { done: request.urlOf(returnTo) },
      choices: apps.map(({ client }) => ({
        name: appName(text, client).plain,
        href: withQuery(path, { revoke: client.id, ...returnToOf(state) }),
      })),
    },
    heading: text.appsHeading,
    lead: apps.length === 0 ? text.appsEmptyText : text.appsText,
    hasForm: false,
    content: html`${apps.length > 0 && html`<ul class="choices">\n${apps.map(row)}</ul>`}
<p class="actions"><a href="${safeHref(request.urlOf(returnTo))}">${text.doneLink}</a></p>`,
  });
}

function since({ text }: Pick<Site, 'text'>, request: PageRequest, grantedAt: string): HtmlValue {
  if (grantedAt === '') return undefined;
  const { lang } = request.brand;
  const date = new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(grantedAt));
  return html`<small>${fillIn(text.appSince, { date })}</small>`;
}

/** Says what it means, and disconnects only by its own button. */
export function disconnectPage(
  site: Site,
  request: PageRequest,
  state: Pick<FormState, 'returnTo'> & { readonly client: OAuthClientInfo },
): Reply {
  const { settings, text } = site;
  const { client } = state;
  const path = request.localPath(settings.connectedAppsPath);
  const hidden = { revoke: client.id, sure: 'yes', ...returnToOf(state) };
  return showPage(site, request, {
    facts: {
      kind: 'disconnect_app',
      action: path,
      values: { revoke: client.id, sure: 'yes', app: appName(text, client).plain, returnTo: state.returnTo },
      links: { cancel: withReturnTo(path, state) },
    },
    heading: withApp(site, text.disconnectHeading, client),
    lead: text.disconnectText,
    hasForm: true,
    tellsOrigin: true,
    content: html`${postForm(path, hidden, html`<button>${text.disconnectButton}</button>`)}
<p class="actions"><a href="${safeHref(withReturnTo(path, state))}">${text.cancelLink}</a></p>`,
  });
}
