import {
  confirmPage,
  formErrorOf,
  mergeText,
  noticePage,
  signInPage,
  signOutPage,
  signUpPage,
} from '../../lib/backend/pages/index.ts';
import type { PageView } from '../../lib/backend/pages/index.ts';
import { AuthError } from '../../lib/errors.ts';
import type { AuthErrorCode, AuthErrorOptions } from '../../lib/errors.ts';
import { errorPage } from '../../lib/http/error-page.ts';
import type { Reply } from '../../lib/http/reply.ts';

const text = mergeText();
const email = 'ada@example.com';

export const pageView: PageView = {
  status: 200,
  stylesheet: '/auth/pages.css',
  brand: { title: 'Northwind', logo: '/logo.svg' },
  text,
};

export const signInView = {
  ...pageView,
  action: '/auth/login',
  signUpHref: '/auth/signup',
  resendAction: '/auth/resend',
  returnTo: '/account?tab=1',
  providers: [
    { name: 'github', label: 'GitHub', href: '/auth/login?provider=github' },
    { name: 'google', label: 'Google', href: '/auth/login?provider=google' },
  ],
};

export const signUpView = { ...signInView, action: '/auth/signup', signInHref: '/auth/login' };

function failure(code: AuthErrorCode, options?: AuthErrorOptions) {
  return formErrorOf(new AuthError(code, options), text);
}

/** Every built-in page in every state that a visitor can meet. */
export function everyPageState(): Readonly<Record<string, Reply>> {
  const rejected = { ...signInView, status: 401, email };
  const notice = { ...pageView, signInHref: '/auth/login' };
  return {
    'sign-in': signInPage(signInView),
    'sign-in, plain': signInPage({ ...signInView, providers: [], brand: {} }),
    'sign-in, wrong password': signInPage({ ...rejected, error: failure('invalid_credentials') }),
    'sign-in, throttled': signInPage({ ...rejected, status: 429, error: failure('rate_limited', { retryAfter: 700 }) }),
    'sign-in, email missing': signInPage({
      ...rejected,
      email: '',
      error: { message: text.emailMissing, field: 'email' },
    }),
    'sign-in, unconfirmed': signInPage({ ...rejected, error: failure('email_not_confirmed'), offerResend: true }),
    'sign-in, after sign-out': signInPage({ ...signInView, notice: 'signed_out' }),
    'sign-up': signUpPage(signUpView),
    'sign-up, email malformed': signUpPage({
      ...signUpView,
      email: 'ada@',
      error: { message: text.emailInvalid, field: 'email' },
    }),
    'sign-up, weak password': signUpPage({ ...signUpView, email, error: failure('weak_password') }),
    'sign-up, throttled': signUpPage({ ...signUpView, email, error: failure('rate_limited', { retryAfter: 30 }) }),
    'confirmation sent': noticePage({ ...notice, kind: 'confirmation_sent', email, resendAction: '/auth/resend' }),
    'mail sent again': noticePage({ ...notice, kind: 'mail_sent', email }),
    'please sign in': noticePage({ ...notice, kind: 'please_sign_in' }),
    'one more link': noticePage({ ...notice, kind: 'other_link' }),
    'signed out': noticePage({ ...notice, kind: 'signed_out' }),
    confirm: confirmPage({ ...pageView, action: '/auth/confirm', tokenHash: 'pkce_abc', type: 'email', returnTo: '/' }),
    'confirm, unavailable': confirmPage({
      ...pageView,
      status: 503,
      action: '/auth/confirm',
      tokenHash: 'pkce_abc',
      type: 'email',
      error: failure('provider_unavailable'),
    }),
    'sign-out': signOutPage({ ...pageView, action: '/auth/logout', returnTo: '/', stayHref: '/' }),
    error: errorPage({
      error: new AuthError('invalid_state'),
      signInUrl: '/auth/login',
      canReload: false,
      home: '/',
      stylesheet: '/auth/pages.css',
      brand: pageView.brand,
    }),
    'error, unavailable': errorPage({
      error: new AuthError('provider_unavailable'),
      signInUrl: '/auth/login',
      canReload: true,
      home: '/',
      stylesheet: '/auth/pages.css',
      brand: {},
    }),
  };
}
