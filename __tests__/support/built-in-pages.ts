import { textOf } from '../../lib/tools/html.ts';
import { withQuery } from '../../lib/tools/url.ts';
import { lockDrawing } from '../../lib/pages/icons.ts';
import { AuthError } from '../../lib/errors.ts';
import type { AuthErrorCode, AuthErrorOptions } from '../../lib/errors.ts';
import { chooserPage } from '../../lib/b2b/organizations/chooser-page.ts';
import { slotsOf } from '../../lib/backend/feature.ts';
import { features } from '../../lib/backend/features.ts';
import { FormProblem, readEmail } from '../../lib/backend/forms/fields.ts';
import { readBackendOptions } from '../../lib/backend/options.ts';
import type { BackendAuthOptions } from '../../lib/backend/option-schema.ts';
import {
  accountPage,
  changeEmailPage,
  changeSentPage,
  linkPage,
  signedOutOthersPage,
  unlinkPage,
} from '../../lib/backend/account/page.ts';
import { confirmPage, switchPage } from '../../lib/backend/confirm/page.ts';
import { codePage } from '../../lib/backend/email-code/page.ts';
import { signedInPage, signInPage } from '../../lib/backend/pages/sign-in.ts';
import { forgotPage, forgotSent, noAddressPage, passwordPage } from '../../lib/backend/reset/page.ts';
import { accountExistsPage, confirmationSent, mailSent, signUpPage } from '../../lib/backend/sign-up/page.ts';
import { ssoPage } from '../../lib/backend/sso/page.ts';
import { appsPage, consentPage, disconnectPage, startAgainPage, toAppPage } from '../../lib/backend/consent/page.ts';
import { enrollPage } from '../../lib/backend/factors/enroll-page.ts';
import { factorsPage, rejectedPage, removePage, unavailablePage, verifyPage } from '../../lib/backend/factors/page.ts';
import {
  addressChangedPage,
  changeLinkExpiredPage,
  guestLinkExpiredPage,
  linkExpiredPage,
  newLinkPage,
  mailPage,
  otherLinkPage,
  pleaseSignInPage,
} from '../../lib/backend/pages/notice.ts';
import { createPasswordRule, weakPassword } from '../../lib/backend/forms/new-password.ts';
import type { PageRequest, Site } from '../../lib/backend/slots.ts';
import { qrCode } from '../../lib/backend/factors/qr-code.ts';
import { resendAfter } from '../../lib/backend/pages/resend.ts';
import {
  offerPage,
  passkeysOffPage,
  passkeysPage,
  removePasskeyPage,
  renamePage,
} from '../../lib/backend/passkeys/page.ts';
import { englishText } from '../../lib/backend/pages/text.ts';
import type { PagesTextKey } from '../../lib/backend/pages/text.ts';
import { refusedAnswer } from '../../lib/backend/webauthn/challenges.ts';
import type { Factor } from '../../lib/backend/factors/factors.ts';
import type { Passkey } from '../../lib/backend/passkeys/passkeys.ts';
import { mailedBefore, tooManyCodes } from '../../lib/backend/forms/attempts.ts';
import { errorPage } from '../../lib/pages/error-page.ts';
import type { ErrorPageParts } from '../../lib/pages/error-page.ts';
import { createBrands } from '../../lib/pages/options.ts';
import type { PagesOptions } from '../../lib/pages/options.ts';
import { sharedText } from '../../lib/pages/texts.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { signingOutPage, signOutPage } from '../../lib/pages/document.ts';

const email = 'ada@example.com';
const atGmail = 'ada@gmail.com';
const returnTo = '/account?tab=1';
const other = { id: 'o', name: 'eve@example.com' };
const createdAt = '2026-11-22T08:00:00Z';
const app: Factor = { id: 'a', type: 'totp', name: '', isVerified: true, digits: '', createdAt };
const key: Factor = { ...app, id: 'k', type: 'webauthn', name: '' };
const phone: Factor = { ...app, id: 'b', type: 'phone', digits: '123' };
const enrollment = {
  factorId: 'c',
  secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
  uri: 'otpauth://totp/Northwind:ada@example.com?algorithm=SHA1&digits=6&issuer=Northwind&period=30&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
};
const passkey: Passkey = { id: 'p', name: '', createdAt, lastUsedAt: '' };
const withPasskeys: NonNullable<BackendAuthOptions['signInMethods']> = ['password', 'code', 'passkey'];
/** As GoTrue's SDK tells it. */
const shortPassword = { message: 'Password should be at least 12 characters.', reasons: ['length'] };
const resend = resendAfter(60, Date.UTC(2026, 0, 31, 9, 5));
const picture = await qrCode(enrollment.uri, 'QR code for your authenticator app');

/** What pages show of an adapter with these options. */
export function siteOf(options: BackendAuthOptions = {}): Site {
  const required = { url: 'https://abcdefghijklmnopqrst.supabase.co', anonKey: 'sb_publishable_abc_def' };
  const settings = readBackendOptions({ ...required, ...options }, {});
  return {
    settings,
    text: createBrands(englishText, settings.pages).of({ headers: {} }).text,
    passwordRule: createPasswordRule(settings.passwordMinLength),
    ...slotsOf(features, settings),
  };
}

/** A request at the root of an application. */
export function requestOf(pages: PagesOptions = { title: 'Northwind', logo: '/logo.svg' }): PageRequest {
  const signInUrl = (to: string): string => withQuery('/auth/login', to === '/' ? {} : { returnTo: to });
  return {
    home: '/',
    localPath: (path) => path,
    publicUrl: (path) => `https://northwind.example${path}`,
    signInUrl,
    urlOf: (path) => path,
    stylesheetUrl: '/auth/pages.css',
    brand: createBrands(sharedText, pages).of({ headers: {} }),
  };
}

export function failure(code: AuthErrorCode, options?: AuthErrorOptions): AuthError {
  return new AuthError(code, options);
}

/** The failure of a form whose address is this. */
export function emailProblem(typed: string): AuthError {
  try {
    readEmail(new Map([['email', typed]]));
  } catch (error) {
    if (error instanceof AuthError) return error;
  }
  throw new Error('a good address');
}

/** Every built-in page in every state that a visitor can meet. */
export function everyPageState(
  pages: PagesOptions<PagesTextKey> = { title: 'Northwind', logo: '/logo.svg' },
): Readonly<Record<string, Reply>> {
  const request = requestOf(pages);
  return {
    ...formPages(pages, request),
    ...accountPages(pages, request),
    ...factorPages(pages, request),
    ...codePages(pages, request),
    ...passkeyPages(pages, request),
    ...consentPages(pages, request),
    ...homePages(pages, request),
    ...otherPages(pages, request),
  };
}

function formPages(pages: PagesOptions<PagesTextKey>, request: PageRequest): Readonly<Record<string, Reply>> {
  const site = siteOf({ providers: ['github', 'google'], pages });
  const many = siteOf({ providers: ['google', 'github', 'azure', 'apple', 'linkedin_oidc', 'custom:acme-sso'], pages });
  const state = { returnTo };
  const again = { returnTo, email };
  return {
    'sign-in': signInPage(site, request, state),
    'sign-in, plain': signInPage(siteOf(), requestOf({}), state),
    'sign-in, many providers': signInPage(many, request, state),
    'sign-in, last used': signInPage({ ...site, lastWay: 'google' }, request, state),
    'sign-in, last used, many providers': signInPage({ ...many, lastWay: 'azure' }, request, state),
    'sign-in, last used, every way': signInPage(
      { ...siteOf({ signInMethods: ['password', 'code'], sso: true, pages }), lastWay: 'password' },
      request,
      state,
    ),
    'sign-in, wrong password': signInPage(site, request, { ...again, error: failure('invalid_credentials') }),
    'sign-in, throttled': signInPage(site, request, { ...again, error: failure('rate_limited', { retryAfter: 700 }) }),
    'sign-in, email missing': signInPage(site, request, { ...state, email: '', error: emailProblem('') }),
    'sign-in, unconfirmed': signInPage(site, request, { ...again, error: failure('email_not_confirmed') }),
    'sign-in, passkey': signInPage(
      siteOf({ pages, providers: ['github'], signInMethods: withPasskeys }),
      request,
      state,
    ),
    'sign-in, code and passkey': signInPage(siteOf({ pages, signInMethods: ['code', 'passkey'] }), request, {
      ...again,
      isAgain: true,
      error: failure('challenge_expired'),
    }),
    'sign-in, passkey only': signInPage(siteOf({ pages, providers: ['github'], signInMethods: ['passkey'] }), request, {
      ...state,
      error: refusedAnswer({ reason: 'test' }),
    }),
    'sign-in, no address': signInPage(siteOf({ pages, providers: ['twitter', 'github'], sso: true }), request, {
      ...state,
      hasNoAddress: true,
      providers: ['phone', 'twitter'],
    }),
    'sign-in, no address, passkey': signInPage(siteOf({ pages, signInMethods: withPasskeys }), request, {
      ...state,
      hasNoAddress: true,
    }),
    'sign-in, signed in': signedInPage(site, request, { returnTo, account: email }),
    'sign-up': signUpPage(site, request, state),
    'sign-up, guest': signUpPage(site, request, { ...state, isGuest: true }),
    'sign-up, account exists': accountExistsPage(site, request, {
      account: email,
      returnTo,
      error: new FormProblem('form', 'accountExists', 'none', { code: 'email_in_use', values: { account: email } }),
    }),
    'sign-up, email malformed': signUpPage(site, request, { ...state, email: 'ada@', error: emailProblem('ada@') }),
    'sign-up, weak password': signUpPage(site, request, { ...again, error: failure('weak_password') }),
    'sign-up, short password': signUpPage({ ...site, passwordRule: { minLength: () => 12 } }, request, {
      ...again,
      error: weakPassword(shortPassword, {}),
    }),
    'sign-up, throttled': signUpPage(site, request, { ...again, error: failure('rate_limited', { retryAfter: 30 }) }),
  };
}

function passkeyPages(pages: PagesOptions<PagesTextKey>, request: PageRequest): Readonly<Record<string, Reply>> {
  const site = siteOf({ pages, signInMethods: withPasskeys });
  const state = {
    returnTo,
    passkeys: [passkey, { ...passkey, id: 'q', name: 'iCloud Keychain', lastUsedAt: createdAt }],
  };
  const gone = new FormProblem('form', 'passkeyGone', 'This passkey does not exist anymore.');
  const noName = new FormProblem('name', 'passkeyNameInvalid', 'A name has 1 to 120 bytes.');
  const verify = { returnTo, isSent: false };
  return {
    'verify, key': verifyPage(site, request, { ...verify, factors: [key], factor: undefined }),
    'verify, key and app': verifyPage(site, request, { ...verify, factors: [key, app, phone], factor: app }),
    'verify, key and phone': verifyPage(site, request, { ...verify, factors: [key, phone], factor: phone }),
    'verify, key refused': verifyPage(site, request, {
      ...verify,
      factors: [key, app],
      factor: app,
      error: refusedAnswer({ reason: 'test' }),
    }),
    'factors, with keys': factorsPage(site, request, { returnTo, factors: [key, app] }),
    'factors, with keys, none': factorsPage(site, request, { returnTo, factors: [] }),
    passkeys: passkeysPage(site, request, state),
    'passkeys, offer': offerPage(site, request, { returnTo }),
    'passkeys, none': passkeysPage(site, request, { ...state, passkeys: [] }),
    'passkeys, off': passkeysOffPage(site, request, { returnTo, error: failure('unknown_provider') }),
    'passkeys, gone': passkeysPage(site, request, { ...state, error: gone }),
    'passkeys, rename': renamePage(site, request, { returnTo, passkey: state.passkeys[1]! }),
    'passkeys, rename, no name': renamePage(site, request, { returnTo, passkey, name: '', error: noName }),
    'passkeys, remove': removePasskeyPage(site, request, { returnTo, passkey: state.passkeys[1]! }),
  };
}

function accountPages(pages: PagesOptions<PagesTextKey>, request: PageRequest): Readonly<Record<string, Reply>> {
  const site = siteOf({ pages });
  const state = { returnTo };
  const again = { returnTo, email };
  const link = { tokenHash: 'pkce_abc', type: 'email', returnTo: '/' };
  const expired = { ...state, error: failure('link_expired') };
  return {
    confirm: confirmPage(site, request, link),
    forgot: forgotPage(site, request, state),
    'forgot, email malformed': forgotPage(site, request, { ...state, email: 'ada@', error: emailProblem('ada@') }),
    'forgot, throttled': forgotPage(site, request, { ...again, error: failure('rate_limited', { retryAfter: 700 }) }),
    'forgot, no address': noAddressPage(site, request, returnTo),
    'recovery mail sent': mailPage(site, request, { ...forgotSent(site.settings), email, returnTo: '/', resend }),
    'password, after a link': passwordPage(site, request, { ...again, asksCurrent: false }),
    'password, after a link, weak': passwordPage(site, request, {
      ...again,
      asksCurrent: false,
      error: failure('weak_password'),
    }),
    'password, signed in': passwordPage(site, request, { ...again, asksCurrent: true }),
    'password, current one wrong': passwordPage(site, request, {
      ...again,
      asksCurrent: true,
      error: failure('current_password_wrong'),
    }),
    'password, unavailable': passwordPage(site, request, {
      ...again,
      asksCurrent: true,
      error: failure('provider_unavailable', { retryAfter: 5 }),
    }),
    'link expired': linkExpiredPage(site, request, expired),
    'link expired, of a sign-up': newLinkPage(site, request, expired),
    'link expired, of a code': newLinkPage(siteOf({ pages, signInMethods: ['password', 'code'] }), request, expired),
    'link expired, of a changed address': changeLinkExpiredPage(site, request, expired),
    'link expired, of a guest': guestLinkExpiredPage(site, request, expired),
    'confirm, for a new password': confirmPage(site, request, { ...link, type: 'recovery' }),
    'confirm, unavailable': confirmPage(site, request, { ...link, error: failure('provider_unavailable') }),
  };
}

function factorPages(pages: PagesOptions<PagesTextKey>, request: PageRequest): Readonly<Record<string, Reply>> {
  const site = siteOf({ pages });
  const state = { returnTo };
  const factorState = { returnTo, factors: [app, phone], isSent: false };
  const limited = failure('rate_limited', { retryAfter: 700 });
  return {
    verify: verifyPage(site, request, { ...factorState, factor: app }),
    'verify, wrong code': verifyPage(site, request, { ...factorState, factor: app, error: failure('code_wrong') }),
    'verify, throttled': verifyPage(site, request, { ...factorState, factor: app, error: limited }),
    'verify, closed': verifyPage(site, request, {
      ...factorState,
      factor: app,
      isClosed: true,
      error: failure('rate_limited', { retryAfter: 700, reason: tooManyCodes }),
    }),
    'verify, phone': verifyPage(site, request, { ...factorState, factors: [phone], factor: phone }),
    'verify, code sent': verifyPage(site, request, { ...factorState, factor: phone, isSent: true, resend }),
    'verify, another code': verifyPage(site, request, { ...factorState, factor: phone, isSent: true }),
    'verify, no factor': verifyPage(site, request, { ...factorState, factors: [], factor: undefined }),
    factors: factorsPage(site, request, { ...state, factors: [{ ...app, name: 'Work' }, phone] }),
    'factors, first': factorsPage(site, request, { ...state, factors: [app], isFirst: true }),
    'factor, unavailable': unavailablePage(site, request, {
      ...state,
      factors: [{ ...app, type: 'webauthn' }],
      isPending: true,
      error: failure('factor_unavailable'),
    }),
    'factor, unavailable for a session': unavailablePage(site, request, {
      ...state,
      factors: [
        { ...app, type: 'webauthn', name: 'Key of Ada' },
        { ...app, type: 'recovery_code' },
      ],
      isPending: false,
      error: failure('factor_unavailable'),
    }),
    'factor, rejected': rejectedPage(site, request, { ...state, error: failure('sign_in_refused') }),
    'factor, remove': removePage(site, request, { ...state, factor: { ...app, name: 'Work' }, isLast: false }),
    'factor, remove the last': removePage(site, request, { ...state, factor: app, isLast: true }),
    'factors, no address': factorsPage(site, requestOf({ ...pages, links: { help: '/help' } }), {
      ...state,
      factors: [],
      hasAddress: false,
    }),
    'factors, none': factorsPage(site, request, { ...state, factors: [] }),
    enroll: enrollPage(site, request, { ...state, enrollment, picture }),
    'enroll, closed': enrollPage(site, request, {
      ...state,
      enrollment,
      picture,
      error: failure('rate_limited', { retryAfter: 700, reason: tooManyCodes }),
    }),
    'enroll, wrong code': enrollPage(site, request, { ...state, enrollment, picture, error: failure('code_wrong') }),
  };
}

function codePages(pages: PagesOptions<PagesTextKey>, request: PageRequest): Readonly<Record<string, Reply>> {
  const site = siteOf({ pages });
  const state = { returnTo };
  const again = { returnTo, email };
  const codesOnly = siteOf({ signInMethods: ['code'], sso: true, providers: ['github'], pages });
  const digitsOf = (codeLength: number) => siteOf({ signInMethods: ['code'], codeLength, pages });
  const everyWay = siteOf({ signInMethods: ['password', 'code'], sso: true, pages });
  return {
    'sign-in, codes only': signInPage(codesOnly, request, state),
    'sign-in, every way': signInPage(everyWay, request, again),
    code: codePage(site, request, { ...state, step: 'address' }),
    'code, email malformed': codePage(site, request, {
      ...state,
      step: 'address',
      email: 'ada@',
      error: emailProblem('ada@'),
    }),
    'code sent': codePage(site, request, { ...again, step: 'code', resend }),
    'code sent, Gmail': codePage(site, request, { ...state, email: atGmail, step: 'code', resend }),
    'code sent, eight digits': codePage(digitsOf(8), request, { ...again, step: 'code', resend }),
    'code sent, ten digits': codePage(digitsOf(10), request, { ...again, step: 'code', resend }),
    'code, wrong': codePage(site, request, { ...again, step: 'code', error: failure('code_wrong') }),
    'code, another email too soon': codePage(site, request, {
      ...again,
      step: 'code',
      resend: resendAfter(42, 0),
      error: failure('rate_limited', { retryAfter: 42, reason: mailedBefore }),
    }),
    'code, closed': codePage(site, request, {
      ...again,
      step: 'code',
      codesOpen: resendAfter(700, 0),
      error: new FormProblem('form', 'codesLimited', 'none', {
        code: 'rate_limited',
        retryAfter: 700,
        reason: tooManyCodes,
      }),
    }),
    sso: ssoPage(site, request, state),
    'sso, unavailable': ssoPage(site, request, { ...again, error: failure('sso_unavailable') }),
  };
}

const manyNames = [
  'Acme',
  'Aurora Foods',
  'Borealis',
  'Cascade & Sons',
  'Delta Works',
  'Globex Corporation',
  'Initech',
  'Kestrel',
  'Meridian Labs',
  'Northwind Traders',
  'Soylent',
  'Umbrella',
  'Wayne Enterprises',
  '42 Networks',
  'Éclair Paris',
  'نورثويند',
];

function consentPages(pages: PagesOptions<PagesTextKey>, request: PageRequest): Readonly<Record<string, Reply>> {
  const site = siteOf({ pages });
  const client = { id: 'd', name: 'Cursor' };
  const asked = { client, scopes: ['openid', 'profile', 'email'], authorizationId: 'abc', returnTo, account: email };
  const callback = 'https://www.cursor.example/oauth/callback';
  const long = {
    id: 'e',
    name: 'Donaudampfschifffahrtsgesellschaftskapitänsmützenverwaltung <b>verified</b> by Google',
  };
  const grantedAt = createdAt;
  return {
    consent: consentPage(site, request, { ...asked, redirectUri: callback }),
    'consent, every scope': consentPage(site, request, {
      ...asked,
      redirectUri: callback,
      scopes: ['openid', 'profile', 'email', 'phone', 'offline_access', 'https://api.example/notes.read'],
    }),
    'consent, on this device': consentPage(site, request, { ...asked, redirectUri: 'http://127.0.0.1:33418/callback' }),
    'consent, custom scheme': consentPage(site, request, { ...asked, redirectUri: 'cursor://oauth/callback' }),
    'consent, long names': consentPage(site, request, {
      ...asked,
      client: long,
      redirectUri: `https://${'a-very-long-label.'.repeat(8)}example/cb`,
    }),
    'consent, no name': consentPage(site, request, { ...asked, client: { id: 'f', name: '' }, redirectUri: callback }),
    'consent, another direction': consentPage(site, request, {
      ...asked,
      client: { id: 'g', name: 'مساعد Helper' },
      redirectUri: callback,
    }),
    'consent, expired': startAgainPage(site, request, {
      error: failure('authorization_expired'),
      account: email,
      returnTo: asked.returnTo,
    }),
    'consent, answered before': startAgainPage(site, request, {
      error: failure('authorization_expired'),
      account: email,
      returnTo: asked.returnTo,
      allowed: asked.client,
    }),
    'consent, on to the app': toAppPage(site, request, { redirectTo: `${callback}?code=1` }),
    'consent, back to the app': toAppPage(site, request, {
      redirectTo: 'cursor://oauth/callback?code=1',
      client: asked.client,
    }),
    apps: appsPage(site, request, {
      returnTo,
      apps: [
        { client, scopes: ['openid', 'profile', 'email'], grantedAt },
        { client: long, scopes: ['email'], grantedAt },
        { client: { id: '', name: '' }, scopes: [], grantedAt: '' },
      ],
    }),
    'apps, none': appsPage(site, request, { returnTo, apps: [] }),
    'apps, disconnect': disconnectPage(site, request, { returnTo, client }),
  };
}

function homePages(pages: PagesOptions<PagesTextKey>, request: PageRequest): Readonly<Record<string, Reply>> {
  const site = siteOf({ pages, providers: ['github', 'google'], signInMethods: withPasskeys });
  const { text } = site;
  const identity = { id: 'i', provider: 'github', label: 'GitHub', email, canUnlink: true };
  const state = { returnTo, email, newEmail: undefined, isManaged: false, rows: [], identities: [], links: [] };
  const row = { value: 2, icon: lockDrawing };
  const full = {
    ...state,
    newEmail: 'ada.lovelace@example.com',
    rows: [
      { ...row, field: 'password', label: text.password, path: '/auth/password' },
      { ...row, field: 'factors', label: text.factorsHeading, state: text.factorsOff, path: '/auth/enroll' },
      { ...row, field: 'passkeys', label: text.passkeysHeading, state: textOf('2'), path: '/auth/passkeys' },
    ],
    identities: [identity, { ...identity, id: 'j', label: 'Keycloak', canUnlink: false }],
    links: [{ name: 'google', label: 'Google' }],
  };
  return {
    account: accountPage(site, request, state),
    'account, everything': accountPage(site, request, full),
    'account, the last way in': accountPage(site, request, { ...full, error: failure('last_sign_in_method') }),
    'account, of an organization': accountPage(site, request, { ...state, isManaged: true }),
    'account, others signed out': signedOutOthersPage(site, request, { returnTo }),
    'email, change': changeEmailPage(site, request, { returnTo }),
    'email, malformed': changeEmailPage(site, request, { returnTo, email: 'ada@', error: emailProblem('ada@') }),
    'email, change sent': changeSentPage(site, request, { returnTo, email: 'ada.lovelace@gmail.com', former: email }),
    'email, change sent, none before': changeSentPage(site, request, { returnTo, email, former: undefined }),
    'provider, link': linkPage(site, request, { label: 'GitHub', url: 'https://github.com/login?a=1&b=2' }),
    'provider, unlink': unlinkPage(site, request, { returnTo, identity }),
  };
}

function otherPages(pages: PagesOptions<PagesTextKey>, request: PageRequest): Readonly<Record<string, Reply>> {
  const site = siteOf({ pages });
  const { brand } = request;
  const error = (code: AuthErrorCode, more: Partial<ErrorPageParts> = {}): Reply =>
    errorPage({
      error: failure(code),
      signInUrl: '/auth/login',
      home: '/',
      stylesheet: '/auth/pages.css',
      now: Date.UTC(2026, 0, 31, 9, 5),
      isInTerminal: false,
      isSignedIn: false,
      canReload: false,
      retryUrl: undefined,
      hasSession: true,
      brand,
      ...more,
    });
  const search = { action: '/callback', state: 'a1', words: '' };
  const organizations = (names: readonly string[]) =>
    names.map((name, index) => ({ name, href: `/callback?organization_id=org_${index}` }));
  return {
    'confirmation sent': mailPage(site, request, { ...confirmationSent(site.settings), email, returnTo: '/', resend }),
    'confirmation sent, Gmail': mailPage(site, request, {
      ...confirmationSent(site.settings),
      email: atGmail,
      returnTo: '/',
      resend,
    }),
    'mail sent again': mailPage(site, request, { ...mailSent(site.settings), email, returnTo: '/', resend }),
    'mail, too soon': mailPage(site, request, {
      ...mailSent(site.settings),
      email,
      returnTo: '/',
      resend: resendAfter(700, 0),
      error: failure('rate_limited', { retryAfter: 700 }),
    }),
    'please sign in': pleaseSignInPage(site, request, '/'),
    'one more link': otherLinkPage(site, request, '/'),
    'address changed': addressChangedPage(site, request, { returnTo, isSignedIn: false }),
    'address changed, signed in': addressChangedPage(site, request, { returnTo, isSignedIn: true }),
    'switch account': switchPage(site, request, { returnTo, account: other, signedInAs: email }),
    'switch account, long names': switchPage(site, request, {
      returnTo,
      account: { id: 'e', name: `${'a-very-long-label.'.repeat(8)}@example.com` },
      signedInAs: `donaudampfschifffahrtsgesellschaft@${'a-very-long-label.'.repeat(4)}example`,
    }),
    'switch account, signed out': switchPage(site, request, { returnTo: '/', account: other, signedInAs: undefined }),
    'switch account, unavailable': switchPage(site, request, {
      returnTo,
      account: other,
      signedInAs: email,
      error: failure('provider_unavailable', { retryAfter: 5 }),
    }),
    'sign-out': signOutPage(request, '/auth/logout', '/'),
    'signing-out': signingOutPage(
      request,
      'https://api.workos.com/user_management/sessions/logout?session_id=session_1',
    ),
    error: error('invalid_state'),
    'error, canceled': error('access_denied'),
    'error, in development': error('provider_refused', { isInTerminal: true }),
    'error, no access': error('forbidden', { account: { name: email, otherUrl: '/auth/login?prompt=login' } }),
    'error, not accepted': error('not_accepted', { account: { name: email, otherUrl: '/auth/login?prompt=login' } }),
    'error, no member': error('not_a_member', { account: { name: undefined, otherUrl: '/auth/login?prompt=login' } }),
    'error, invitation used': error('invitation_invalid'),
    'error, way refused': error('sign_in_method_refused'),
    'error, not fresh': error('sign_in_not_fresh'),
    'error, signed out': error('unauthenticated', { hasSession: false }),
    'error, refused': error('provider_refused'),
    'error, unavailable': error('provider_unavailable', {
      error: failure('provider_unavailable', { retryAfter: 5 }),
      canReload: true,
    }),
    chooser: chooserPage(request, organizations(['Acme', 'Globex Corporation', 'Initech & Sons']), '/login'),
    'chooser, by letter': chooserPage(
      request,
      organizations(manyNames).map((choice) => ({ ...choice, isLast: choice.name === 'Meridian Labs' })),
      '/login',
      search,
    ),
    'chooser, searched': chooserPage(request, organizations(manyNames), '/login', { ...search, words: 'labs' }),
    'chooser, nothing found': chooserPage(request, organizations(manyNames), '/login', { ...search, words: 'xyz' }),
    'chooser, sixty': chooserPage(
      request,
      organizations(Array.from({ length: 60 }, (_, index) => `Organization number ${index + 1}`)),
      '/login',
    ),
    'chooser, five hundred': chooserPage(
      request,
      organizations(Array.from({ length: 500 }, (_, index) => `${manyNames[index % manyNames.length]} ${index + 1}`)),
      '/login',
      search,
    ),
  };
}
