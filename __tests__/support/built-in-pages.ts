import { withQuery } from '../../lib/core/url.ts';
import { AuthError } from '../../lib/errors.ts';
import type { AuthErrorCode, AuthErrorOptions } from '../../lib/errors.ts';
import { readEmail } from '../../lib/backend/form-fields.ts';
import { readBackendOptions } from '../../lib/backend/options.ts';
import type { BackendAuthOptions } from '../../lib/backend/options.ts';
import { confirmPage } from '../../lib/backend/pages/confirm-page.ts';
import { forgotPage } from '../../lib/backend/pages/forgot-page.ts';
import { mailPage, otherLinkPage, pleaseSignInPage } from '../../lib/backend/pages/notice-page.ts';
import { linkExpiredPage, passwordPage } from '../../lib/backend/pages/password-page.ts';
import type { PageRequest, Site } from '../../lib/backend/pages/parts.ts';
import { signInPage } from '../../lib/backend/pages/sign-in-page.ts';
import { signOutPage } from '../../lib/backend/pages/sign-out-page.ts';
import { signUpPage } from '../../lib/backend/pages/sign-up-page.ts';
import { mergeText } from '../../lib/backend/pages/text.ts';
import { errorPage } from '../../lib/http/error-page.ts';
import type { Brand } from '../../lib/http/page.ts';
import type { Reply } from '../../lib/http/reply.ts';

const email = 'ada@example.com';
const returnTo = '/account?tab=1';

/** What pages show of an adapter with these options. */
export function siteOf(options: BackendAuthOptions = {}): Site {
  const required = { url: 'https://abcdefghijklmnopqrst.supabase.co', anonKey: 'sb_publishable_abc_def' };
  const settings = readBackendOptions({ ...required, ...options }, {});
  return { settings, text: mergeText(settings.pages.text) };
}

/** A request at the root of an application. */
export function requestOf(brand: Brand = { title: 'Northwind', logo: '/logo.svg' }): PageRequest {
  return {
    home: '/',
    localPath: (path) => path,
    signInUrl: (to) => withQuery('/auth/login', to === '/' ? {} : { returnTo: to }),
    stylesheetUrl: '/auth/pages.css',
    definition: { brand },
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
export function everyPageState(): Readonly<Record<string, Reply>> {
  const site = siteOf({ providers: ['github', 'google'] });
  const request = requestOf();
  const state = { returnTo };
  const again = { returnTo, email };
  const link = { tokenHash: 'pkce_abc', type: 'email', returnTo: '/' };
  const error = {
    signInUrl: '/auth/login',
    home: '/',
    stylesheet: '/auth/pages.css',
    brand: request.definition.brand,
  };
  return {
    'sign-in': signInPage(site, request, state),
    'sign-in, plain': signInPage(siteOf(), requestOf({}), state),
    'sign-in, wrong password': signInPage(site, request, { ...again, error: failure('invalid_credentials') }),
    'sign-in, throttled': signInPage(site, request, { ...again, error: failure('rate_limited', { retryAfter: 700 }) }),
    'sign-in, email missing': signInPage(site, request, { ...state, email: '', error: emailProblem('') }),
    'sign-in, unconfirmed': signInPage(site, request, { ...again, error: failure('email_not_confirmed') }),
    'sign-up': signUpPage(site, request, state),
    'sign-up, email malformed': signUpPage(site, request, { ...state, email: 'ada@', error: emailProblem('ada@') }),
    'sign-up, weak password': signUpPage(site, request, { ...again, error: failure('weak_password') }),
    'sign-up, throttled': signUpPage(site, request, { ...again, error: failure('rate_limited', { retryAfter: 30 }) }),
    'confirmation sent': mailPage(site, request, { kind: 'confirmation_sent', email, returnTo: '/' }),
    'mail sent again': mailPage(site, request, { kind: 'mail_sent', email, returnTo: '/' }),
    forgot: forgotPage(site, request, state),
    'forgot, email malformed': forgotPage(site, request, { ...state, email: 'ada@', error: emailProblem('ada@') }),
    'forgot, throttled': forgotPage(site, request, { ...again, error: failure('rate_limited', { retryAfter: 700 }) }),
    'recovery mail sent': mailPage(site, request, { kind: 'forgot_sent', email, returnTo: '/' }),
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
    'link expired': linkExpiredPage(site, request, { ...state, error: failure('link_expired') }),
    'confirm, for a new password': confirmPage(site, request, { ...link, type: 'recovery' }),
    'please sign in': pleaseSignInPage(site, request, '/'),
    'one more link': otherLinkPage(site, request, '/'),
    confirm: confirmPage(site, request, link),
    'confirm, unavailable': confirmPage(site, request, { ...link, error: failure('provider_unavailable') }),
    'sign-out': signOutPage(site, request, { returnTo: '/' }),
    error: errorPage({ ...error, error: failure('invalid_state'), canReload: false }),
    'error, unavailable': errorPage({ ...error, error: failure('provider_unavailable'), canReload: true, brand: {} }),
  };
}
