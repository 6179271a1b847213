import { html, textOf } from '../../tools/html.ts';
import type { Text } from '../../tools/html.ts';
import { readRedirectAddress } from './redirect-address.ts';
import { withQuery } from '../../tools/url.ts';
import type { AuthError } from '../../errors.ts';
import type { Choice, Part } from '../../pages/page.ts';
import { appDrawing, rowIcon } from '../../pages/icons.ts';
import { dated, dotted, emphasis, fillIn, isolated, lines } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import type { ConnectedApp, OAuthClientInfo } from '../../types.ts';
import type { Authorization } from './oauth-server.ts';
import { doneLink, link, otherAccount, removalParts, returnToOf, showPage } from '../pages/parts.ts';
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
  const name = 'action';
  return showPage(site, request, {
    kind: 'consent',
    values: {
      authorization_id: authorizationId,
      account,
      app: appName(text, client).plain,
      address: address.receiver,
      scopes: scopes.join(' '),
      returnTo: state.returnTo,
    },
    heading: withApp(site, text.consentHeading, client),
    lead: account !== undefined && fillIn(text.signedInAs, { account }, emphasis),
    // Browsers check the redirect after the form against it, too.
    formLeadsTo: address.formAction,
    tellsOrigin: true,
    parts: [
      receiverPart(site, address),
      scopesPart(site, request, scopes),
      {
        part: 'form',
        action: request.localPath(settings.paths.consent),
        hidden: { authorization_id: authorizationId },
        buttons: [
          { label: text.allowButton, look: 'quiet', name, value: 'allow' },
          { label: text.denyButton, look: 'quiet', name, value: 'deny' },
        ],
        look: 'pair',
      },
      otherAccount(site, request, state),
    ],
  });
}

/** Who receives the answer, which is all that the provider has checked. */
function receiverPart(
  { text }: Site,
  { kind, receiver }: { readonly kind: keyof typeof addressWords; readonly receiver: string },
): Part {
  const words = fillIn(
    text[addressWords[kind]],
    { address: receiver },
    (shown) => html`<strong dir="ltr">${shown}</strong>`,
  );
  const markup = html`<div class="message plain">
<p>${words}</p>
<p>${text.consentUnverified}</p>
</div>`;
  return { part: 'markup', markup };
}

function scopesPart(site: Site, request: PageRequest, scopes: readonly string[]): Part {
  const markup = html`<h2>${site.text.consentScopes}</h2>
<ul class="scopes">
${abilities(site, request, scopes).map((ability) => html`<li><span>${ability}</span></li>\n`)}</ul>`;
  return { part: 'markup', markup };
}

const addressWords = { web: 'consentWeb', device: 'consentDevice', app: 'consentApp' } as const satisfies Record<
  string,
  PagesTextKey
>;

/** Supabase's scopes concern the data of an id token only: with each of them, an app acts with all of the user's permissions. */
function abilities({ text }: Pick<Site, 'text'>, request: PageRequest, scopes: readonly string[]): readonly Text[] {
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
function scopeWords(text: Site['text'], scope: string): Text {
  const key = knownScopes.get(scope);
  return key === undefined ? textOf(scope, undefined, html`<code dir="ltr">${scope}</code>`) : text[key];
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
    returnTo,
    allowed,
  }: {
    readonly error: AuthError;
    readonly account: string | undefined;
    /** The consent page's own URL, to come back to with another account. */
    readonly returnTo: string;
    /** The app, where the user has allowed it. */
    readonly allowed?: OAuthClientInfo | undefined;
  },
): Reply {
  const { text } = site;
  const why = allowed === undefined ? text[error.code] : withApp(site, text.startAgainAllowed, allowed);
  return showPage(site, request, {
    kind: 'start_again',
    values: { account, app: allowed && appName(text, allowed).plain },
    heading: text.startAgainHeading,
    emblem: error.code === 'authorization_expired' ? 'clock' : 'warning',
    lead: lines(why, account !== undefined && fillIn(text.signedInAs, { account }, emphasis)),
    leadRole: 'alert',
    error,
    tellsOrigin: true,
    parts: [
      link('home', request.urlOf(request.home), text.backHome, 'button'),
      account !== undefined && allowed === undefined && otherAccount(site, request, { returnTo }),
    ],
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
    kind: 'to_app',
    values: { app: client && appName(text, client).plain },
    heading: client === undefined ? text.toAppHeading : withApp(site, text.goBackHeading, client),
    lead: text.signingOutText,
    leadRole: 'status',
    // Not as data, because the address holds the app's code: the response's `Refresh` has it.
    parts: [{ part: 'markup', markup: html`<p><a class="button" href="${href}">${text.continueButton}</a></p>` }],
  });
  return { ...page, headers: { Refresh: `0; url=${href}` } };
}

const appIcon = rowIcon(appDrawing);

/** The apps that act for the user, and a link to disconnect each. */
export function appsPage(
  site: Site,
  request: PageRequest,
  state: Pick<FormState, 'returnTo'> & { readonly apps: readonly ConnectedApp[] },
): Reply {
  const { settings, text } = site;
  const { apps, returnTo } = state;
  const path = request.localPath(settings.paths.connectedApps);
  const choices = apps.map(({ client, scopes, grantedAt }): Choice => {
    const href = withQuery(path, { revoke: client.id, ...returnToOf(state) });
    const hasId = client.id !== '';
    return {
      name: appName(text, client),
      href,
      icon: appIcon,
      // Without an id it can be named, but not disconnected.
      details: [...dated(text.appSince, grantedAt, request.brand.lang), ...(hasId ? [] : [text.appStays])],
      actions: hasId ? [{ href, label: text.disconnectButton }] : [],
      ...(scopes.length > 0 && { about: dotted(...scopes.map((scope) => scopeWords(text, scope))) }),
    };
  });
  return showPage(site, request, {
    kind: 'apps',
    values: { returnTo },
    heading: text.appsHeading,
    lead: apps.length === 0 ? text.appsEmptyText : text.appsText,
    parts: [{ part: 'list', choices }, doneLink(site, request, state)],
  });
}

/** Says what it means, and disconnects only by its own button. */
export function disconnectPage(
  site: Site,
  request: PageRequest,
  state: Pick<FormState, 'returnTo'> & { readonly client: OAuthClientInfo },
): Reply {
  const { settings, text } = site;
  const { client } = state;
  const path = request.localPath(settings.paths.connectedApps);
  const asked = { revoke: client.id, sure: 'yes' };
  return showPage(site, request, {
    kind: 'disconnect_app',
    values: { ...asked, app: appName(text, client).plain, returnTo: state.returnTo },
    heading: withApp(site, text.disconnectHeading, client),
    lead: text.disconnectText,
    tellsOrigin: true,
    parts: removalParts(site, path, state, { asked, label: text.disconnectButton }),
  });
}
