import { errorTable } from '../../lib/error-table.ts';
import type { AuthError, AuthErrorCode } from '../../lib/errors.ts';
import { confirmPage } from '../../lib/backend/confirm/page.ts';
import { codePage } from '../../lib/backend/email-code/page.ts';
import { factorsPage, verifyPage } from '../../lib/backend/factors/page.ts';
import type { Factor } from '../../lib/backend/factors/factors.ts';
import { signInPage } from '../../lib/backend/pages/sign-in.ts';
import { passkeysPage } from '../../lib/backend/passkeys/page.ts';
import { forgotPage, passwordPage } from '../../lib/backend/reset/page.ts';
import { signUpPage } from '../../lib/backend/sign-up/page.ts';
import { ssoPage } from '../../lib/backend/sso/page.ts';
import { render } from '../../lib/tools/html.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { failure, requestOf, siteOf } from '../support/built-in-pages.ts';

const request = requestOf();
const site = siteOf({ signInMethods: ['password', 'code', 'passkey'], sso: true, providers: ['google'] });
const state = { returnTo: '/a', email: 'ada@example.com' };
const factor: Factor = { id: 'a', type: 'totp', name: '', isVerified: true, digits: '', createdAt: '' };

const pages: Readonly<Record<string, (error: AuthError) => Reply>> = {
  'sign-in': (error) => signInPage(site, request, { ...state, error }),
  'sign-in by code': (error) => signInPage(siteOf({ signInMethods: ['code'] }), request, { ...state, error }),
  'sign-in by passkey': (error) => signInPage(siteOf({ signInMethods: ['passkey'] }), request, { ...state, error }),
  'sign-in without an address': (error) => signInPage(site, request, { returnTo: '/', hasNoAddress: true, error }),
  'sign-up': (error) => signUpPage(site, request, { ...state, error }),
  'code, address': (error) => codePage(site, request, { ...state, step: 'address', error }),
  code: (error) => codePage(site, request, { ...state, step: 'code', error }),
  sso: (error) => ssoPage(site, request, { ...state, error }),
  forgot: (error) => forgotPage(site, request, { ...state, error }),
  password: (error) => passwordPage(site, request, { ...state, asksCurrent: false, error }),
  verify: (error) => verifyPage(site, request, { ...state, factors: [factor], factor, isSent: false, error }),
  factors: (error) => factorsPage(site, request, { ...state, factors: [factor], error }),
  passkeys: (error) => passkeysPage(site, request, { ...state, passkeys: [], error }),
  confirm: (error) => confirmPage(site, request, { ...state, tokenHash: 'x', type: 'email', error }),
};

it.each(Object.entries(pages))(
  'every error is on the page once, also where the page lacks its field: %s',
  (_, show) => {
    const wrong = (Object.keys(errorTable) as AuthErrorCode[]).flatMap((code) => {
      const { body } = show(failure(code, { message: 'MESSAGE', retryAfter: 5 }));
      const markup = body?.kind === 'page' ? render(body.markup) : '';
      const count = markup.split('MESSAGE').length - 1;
      return count === 1 ? [] : [{ code, count }];
    });
    expect(wrong).toEqual([]);
  },
);
