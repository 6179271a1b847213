import { appsPage, consentPage, disconnectPage, startAgainPage, toAppPage } from '../../lib/backend/consent/page.ts';
import { codePage } from '../../lib/backend/email-code/page.ts';
import { factorsPage, rejectedPage, unavailablePage, verifyPage } from '../../lib/backend/factors/page.ts';
import { signedInPage, signInPage } from '../../lib/backend/pages/sign-in.ts';
import { linkExpiredPage, mailPage, pleaseSignInPage } from '../../lib/backend/pages/notice.ts';
import { isVisible, passkeysPage } from '../../lib/backend/passkeys/page.ts';
import { resendAfter } from '../../lib/backend/pages/resend.ts';
import { passwordPage } from '../../lib/backend/reset/page.ts';
import { mailSent, signUpPage } from '../../lib/backend/sign-up/page.ts';
import { ssoPage } from '../../lib/backend/sso/page.ts';
import { asksAgain } from '../../lib/backend/webauthn/page.ts';
import { FormProblem } from '../../lib/backend/forms/fields.ts';
import type { Factor } from '../../lib/backend/factors/factors.ts';
import { stylesheet } from '../../lib/pages/style.ts';
import { render } from '../../lib/tools/html.ts';
import type { AuthErrorCode } from '../../lib/errors.ts';
import { AuthError } from '../../lib/errors.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { failure, requestOf, siteOf } from '../support/built-in-pages.ts';
import { outlineOf } from '../support/page-outline.ts';

const email = 'ada@example.com';
const returnTo = '/account';
const state = { returnTo };
const site = siteOf();
const request = requestOf();

function markupOf({ body }: Reply): string {
  if (body?.kind !== 'page') throw new Error('not a page');
  return render(body.markup);
}

function policyOf({ body }: Reply): string {
  return body?.kind === 'page' ? body.policy : '';
}

function viewOf({ body }: Reply) {
  if (body?.kind !== 'page') throw new Error('not a page');
  return body.view;
}

describe('every page', () => {
  it.each([
    [undefined, undefined],
    [0, '1'],
    [0.2, '1'],
    [59.1, '60'],
    [700, '700'],
  ])('has the time to wait of %p seconds as Retry-After: %p', (retryAfter, header) => {
    const error = new AuthError('rate_limited', retryAfter === undefined ? {} : { retryAfter });
    expect(signInPage(site, request, { ...state, error }).headers?.['Retry-After']).toBe(header);
  });

  it('tells as data which field an error concerns, and those of a sign-up hook', () => {
    const errorsOf = (error: AuthError) =>
      viewOf(signUpPage(site, request, { ...state, error })).fields.flatMap(({ name, error }) =>
        error === undefined ? [] : [{ name, error }],
      );
    expect(errorsOf(failure('email_in_use'))).toEqual([{ name: 'email', error: expect.stringMatching(/./) }]);
    expect(errorsOf(failure('forbidden'))).toEqual([]);
    const fields = { name: 'Tell us your name.', password: 'Too short.' };
    expect(errorsOf(failure('form_refused', { fields }))).toEqual([
      { name: 'password', error: 'Too short.' },
      { name: 'name', error: 'Tell us your name.' },
    ]);
  });

  it('shows the messages of a sign-up hook at their fields, and above the form where it has no such field', () => {
    const pageWith = (fields: Readonly<Record<string, string>>) =>
      signUpPage(site, request, { ...state, email, error: failure('form_refused', { fields }) });
    const page = pageWith({ name: 'Tell us <your> name.', email: 'Use your work address.', company: 'Which one?' });
    expect(markupOf(page)).toMatch(/role="alert">[^<]+<br>Tell us &lt;your&gt; name\.<br>Which one\?<\/p>/);
    const lines = outlineOf(page);
    expect(lines).toContain(
      '  email: text email email form-error email-error autofocus aria-invalid = ada@example.com',
    );
    expect(lines).toContain('field-message: Use your work address.');
    const other = outlineOf(pageWith({ password: 'Too short.' }));
    expect(other).toContain('  password: password new-password form-error password-error autofocus aria-invalid');
    expect(other).toContain('field-message: Too short.');
  });

  it.each<[AuthErrorCode, string, string]>([
    ['email_not_confirmed', 'next', 'status'],
    ['fresh_sign_in_required', 'next', 'status'],
    ['second_factor_required', 'next', 'status'],
    ['sign_in_incomplete', 'next', 'status'],
    ['forbidden', 'bad', 'alert'],
  ])('shows %s in the tone %s, with the role %s', (code, tone, role) => {
    const markup = markupOf(signInPage(site, request, { ...state, error: failure(code) }));
    expect(markup).toContain(`<div class="message ${tone}">\n<p id="form-error" role="${role}">`);
  });
});

describe('the sign-in page', () => {
  const headingOf = (pages: Parameters<typeof requestOf>[0], text: object = {}): string | undefined =>
    /<h1>(.*)<\/h1>/.exec(markupOf(signInPage(siteOf({ pages: { text } }), requestOf(pages), state)))?.[1];

  it('names the application in its heading, unless the application writes another heading', () => {
    const title = 'Northwind';
    expect(headingOf({ title })).toBe('Sign in to <bdi>Northwind</bdi>');
    expect(headingOf({})).toBe('Sign in');
    expect(headingOf({ title }, { signInHeading: 'Welcome' })).toBe('Welcome');
    expect(headingOf({ title }, { signInToHeading: 'Enter {title}' })).toBe('Enter <bdi>Northwind</bdi>');
    expect(headingOf({ title }, { signInHeading: 'Welcome', signInToHeading: 'Enter {title}' })).toBe(
      'Enter <bdi>Northwind</bdi>',
    );
  });

  it('names the application below a heading that lacks it', () => {
    const own = siteOf({ pages: { text: { signInHeading: 'Welcome' } } });
    expect(outlineOf(signInPage(own, request, state))).toContain('app: to continue to Northwind');
  });

  it('leads to a sign-up page that is there: the application’s own, or none', () => {
    const linesOf = (options: Parameters<typeof siteOf>[0]) => outlineOf(signInPage(siteOf(options), request, state));
    expect(linesOf({ pages: { signUp: '/join?plan=free' } })).toContain(
      'Create an account → /join?plan=free&returnTo=%2Faccount',
    );
    expect(linesOf({ signUp: false }).join()).not.toContain('Create an account');
    expect(linesOf({ signInMethods: ['code'] }).join()).not.toContain('Create an account');
  });

  it('asks the providers for another account where one is meant', () => {
    const other = { returnTo: '/', isOtherAccount: true };
    const lines = outlineOf(signInPage(siteOf({ providers: ['github'] }), request, other));
    expect(lines).toContain('Continue with GitHub → /auth/login?provider=github&prompt=login');
    expect(lines).toContain('  prompt=login');
    expect(lines).toContain('Forgot password? → /auth/forgot?prompt=login');
  });

  it('offers the default provider, too, once', () => {
    const linesOf = (providers: string[]) =>
      outlineOf(signInPage(siteOf({ providers, defaultProvider: 'google' }), request, state)).filter((line) =>
        line.startsWith('Continue with'),
      );
    expect(linesOf(['github'])).toEqual([
      'Continue with GitHub → /auth/login?provider=github&returnTo=%2Faccount',
      'Continue with Google → /auth/login?provider=google&returnTo=%2Faccount',
    ]);
    expect(linesOf(['google'])).toHaveLength(1);
    expect(linesOf(['github', 'google'])).toHaveLength(2);
  });

  it('shows icons in a row from four providers on, and the name where there is no icon', () => {
    const markupWith = (providers: string[], lang?: string): string =>
      markupOf(signInPage(siteOf({ providers, pages: lang === undefined ? {} : { lang } }), request, state));
    const three = ['google', 'slack_oidc', 'custom:acme-sso'];
    expect(markupWith(three)).toContain('<ul class="providers">');
    expect(markupWith(three)).toMatch(
      /<a class="button quiet" href="[^"]*slack_oidc[^"]*"><svg[^>]*>.*<\/svg>Continue with Slack/,
    );
    expect(markupWith(three)).toMatch(/<a class="button quiet" href="[^"]*acme[^"]*">Continue with Acme Sso/);
    const four = markupWith([...three, 'x']);
    expect(four).toContain('<ul class="providers row">');
    expect(four).toMatch(
      /aria-label="Continue with X" title="Continue with X"><svg viewBox="0 0 24 24" aria-hidden="true">/,
    );
    expect(four).toMatch(/aria-label="Continue with Acme Sso" title="Continue with Acme Sso">Acme Sso<\/a>/);
    expect(four).not.toContain(' lang="en">');
    expect(markupWith([...three, 'x'], 'de')).toContain('title="Continue with X" lang="en"><svg');
  });
});

describe('a sign-in to an account without an address', () => {
  it('has one main button: the only OAuth provider, or the passkey', () => {
    const buttonsOf = (options: Parameters<typeof siteOf>[0], known = ['github']) =>
      [
        ...markupOf(signInPage(siteOf(options), request, { ...state, hasNoAddress: true, providers: known })).matchAll(
          /<(?:a|button) class="button[^>]*>|<button>/g,
        ),
      ].map(([tag]) => tag.replace(/ href.*/, ''));
    const main = '<a class="button"';
    const quiet = '<a class="button quiet"';
    const providers = ['github', 'google'];
    expect(buttonsOf({ providers })).toEqual([main]);
    expect(buttonsOf({ providers }, providers)).toEqual([quiet, quiet]);
    expect(buttonsOf({ providers, signInMethods: ['passkey'] })).toEqual([quiet, '<button>']);
  });

  it('leaves the one provider beside a form as it is', () => {
    const markup = markupOf(signInPage(siteOf({ providers: ['github'] }), request, state));
    expect(markup).toContain('<a class="button quiet" href="/auth/login?provider=github');
  });
});

describe('the page of a signed-in visitor', () => {
  it('names the account where it has a name', () => {
    const linesOf = (account: string | undefined) => outlineOf(signedInPage(site, request, { returnTo, account }));
    expect(linesOf(email)).toContain('lead: Signed in as ada@example.com');
    expect(linesOf(undefined).join()).not.toContain('Signed in as');
  });
});

describe('the page for a new password', () => {
  it('names no account where it knows none', () => {
    const lines = outlineOf(passwordPage(site, request, { ...state, asksCurrent: false }));
    expect(lines.filter((line) => line.startsWith('lead'))).toEqual([]);
    expect(lines).toContain('  username: text username hidden');
  });

  it('offers a sign-in where the password may have been saved', () => {
    const error = new FormProblem('password', 'passwordMaybeSaved', 'It may have been saved.');
    const page = passwordPage(site, request, { ...state, email, asksCurrent: true, error });
    const signIn = '/auth/login?returnTo=%2Faccount&prompt=login';
    expect(outlineOf(page)).toContain(`Back to sign-in → ${signIn}`);
    expect(viewOf(page).links).toMatchObject({ forgot: '/auth/forgot?returnTo=%2Faccount', signIn });
    const other = new FormProblem('password', 'passwordMissing', 'The password is missing.');
    expect(
      outlineOf(passwordPage(site, request, { ...state, email, asksCurrent: true, error: other })).join(),
    ).not.toContain('Back to sign-in');
  });

  it('can be left for where a signed-in user was, and not after a link', () => {
    const linksOf = (asksCurrent: boolean) =>
      viewOf(passwordPage(site, request, { ...state, email, asksCurrent })).links;
    expect(linksOf(true)['cancel']).toBe(state.returnTo);
    expect(linksOf(false)['cancel']).toBeUndefined();
  });

  it('focuses the new password where it is refused, else the current one', () => {
    const focusedWith = (error?: AuthError) =>
      /id="(\w+)"[^>]* autofocus/.exec(
        markupOf(passwordPage(site, request, { ...state, email, asksCurrent: true, ...(error && { error }) })),
      )?.[1];
    expect(focusedWith(failure('weak_password'))).toBe('password');
    expect(focusedWith(failure('provider_unavailable'))).toBe('currentPassword');
    expect(focusedWith()).toBe('currentPassword');
  });
});

it('a guest signs up by email first, which keeps the data, and by a provider below', () => {
  const orderFor = (isGuest: boolean) =>
    outlineOf(signUpPage(siteOf({ providers: ['github'] }), request, { ...state, isGuest })).filter((line) =>
      /GitHub|\[Create|^or/.test(line),
    );
  const [toGitHub, button] = [expect.stringContaining('GitHub'), '  [Create account]'];
  expect(orderFor(false)).toEqual([toGitHub, 'or: or', button]);
  expect(orderFor(true)).toEqual([button, 'or: or', toGitHub]);
});

describe('single sign-on', () => {
  it('may lead to http only where the project itself is a stand-in without https', () => {
    expect(policyOf(ssoPage(site, request, state))).toContain("form-action 'self' https:;");
    const standIn = siteOf({ url: 'http://127.0.0.1:54321' });
    expect(policyOf(ssoPage(standIn, request, state))).toContain("form-action 'self' https: http:;");
  });

  it('shows at the field that its domain is unknown, and other errors above the form', () => {
    const linesWith = (code: AuthErrorCode) =>
      outlineOf(ssoPage(site, request, { ...state, email, error: failure(code) }));
    expect(linesWith('sso_unavailable').join()).toContain('field-message: ');
    expect(linesWith('access_denied').join()).toContain('alert: ');
  });
});

describe('a code that was emailed', () => {
  it('may be asked for without the address', () => {
    const lines = outlineOf(codePage(site, request, { ...state, step: 'code' }));
    expect(lines).toContain(
      'status: If you can sign in with , enter the code from our newest email, or open its link.',
    );
    expect(lines).toContain('  email=');
  });
});

describe('a second factor', () => {
  const app: Factor = { id: 'a', type: 'totp', name: '', isVerified: true, digits: '', createdAt: '' };
  const phone: Factor = { ...app, id: 'b', type: 'phone', digits: '123' };
  const key: Factor = { ...app, id: 'k', type: 'webauthn' };

  it.each<[Partial<Factor>, string]>([
    [{ type: 'phone', name: 'Work', digits: '123' }, 'Phone ending in 123'],
    [{ type: 'totp', name: 'Work' }, 'Work'],
    [{ type: 'totp' }, 'Authenticator app'],
    [{ type: 'webauthn' }, 'Security key'],
    [{ type: 'webauthn', name: 'Blue one' }, 'Blue one'],
    [{ type: 'recovery_code' }, 'Recovery codes'],
    [{ type: 'pigeon' }, 'Another way (pigeon)'],
  ])('%j is called %j', (given, name) => {
    const { choices } = viewOf(factorsPage(site, request, { ...state, factors: [{ ...app, ...given }] }));
    expect(choices.map((choice) => choice.name)).toEqual([name]);
  });

  it('has the date on which it was added, in the language of the page, where there is one', () => {
    const rowOf = (createdAt: string, lang = 'en'): string | undefined =>
      outlineOf(factorsPage(site, requestOf({ lang }), { ...state, factors: [{ ...app, createdAt }] })).find((line) =>
        line.startsWith('name: '),
      );
    expect(rowOf('2026-11-22T23:30:00Z')).toBe('name: Authenticator app Added Nov 22, 2026');
    expect(rowOf('2026-11-22T23:30:00Z', 'de')).toBe('name: Authenticator app Added 22.11.2026');
    expect(rowOf('soon')).toBe('name: Authenticator app');
  });

  it('that cannot be changed shows why', () => {
    const error = failure('provider_unavailable', { retryAfter: 5 });
    expect(outlineOf(factorsPage(site, request, { ...state, factors: [app], error }))).toContain(
      'alert: We can’t reach the sign-in service right now. Try again in 5 seconds.',
    );
    expect(outlineOf(factorsPage(site, request, { ...state, factors: [app] })).join()).not.toContain('alert');
  });

  it('without an id can be named, but not removed', () => {
    const lines = outlineOf(factorsPage(site, request, { ...state, factors: [{ ...app, id: '' }] }));
    expect(lines).toContain('name: Authenticator app');
    expect(lines.join()).not.toContain('Remove');
  });

  it('that is required and cannot be added leaves another account, and a visit of one’s own does not ask', () => {
    const asksFor = (page: Reply): boolean => outlineOf(page).includes('  [Use another account]');
    expect(asksFor(factorsPage(site, request, { returnTo, factors: [] }))).toBe(true);
    expect(asksFor(factorsPage(site, request, { returnTo: '/', factors: [] }))).toBe(false);
    expect(asksFor(factorsPage(site, request, { returnTo, factors: [app] }))).toBe(false);
  });

  it('is shown by a picture of what it is', () => {
    const rowIn = (factors: readonly Factor[], factor: Factor): string =>
      /<ul class="choices">[^]*<\/ul>/.exec(
        markupOf(verifyPage(site, request, { ...state, factors, factor, isSent: false })),
      )?.[0] ?? '';
    expect(rowIn([app, phone], app)).toContain('<rect x="7"');
    expect(rowIn([app, phone], phone)).toContain('<rect x="4"');
  });

  it('stands apart from each other way by "or"', () => {
    const page = verifyPage(site, request, { ...state, factors: [key, app, phone], factor: app, isSent: false });
    expect(outlineOf(page).filter((line) => line === 'or: or')).toHaveLength(2);
  });

  it('is asked for at once by the script where the answer came too late', () => {
    const verify = { ...state, factors: [key, app], factor: app, isSent: false };
    const formWith = (isAgain: boolean) =>
      outlineOf(verifyPage(site, request, { ...verify, isAgain })).find((line) => line.includes('script:'));
    expect(formWith(false)).toBe('form to /auth/verify, script: get {"challenge":"k"} data-focus');
    expect(formWith(true)).toBe('form to /auth/verify, script: get {"challenge":"k"} data-again data-focus');
    const keys = siteOf({ signInMethods: ['password', 'passkey'] });
    const addingWith = (isAgain: boolean) =>
      outlineOf(factorsPage(keys, request, { ...state, factors: [], isAgain })).find((line) =>
        line.includes('script:'),
      );
    expect(addingWith(false)).toBe('form to /auth/enroll, script: create {"type":"webauthn"}');
    expect(addingWith(true)).toBe('form to /auth/enroll, script: create {"type":"webauthn"} data-again');
  });

  it('of a phone whose codes are refused has no button for another code', () => {
    const closed = { ...state, factors: [phone], factor: phone, isSent: true, isClosed: true };
    const lines = outlineOf(verifyPage(site, request, closed));
    expect(lines).toContain('Reload this page → /auth/verify?factorId=b&returnTo=%2Faccount');
    expect(lines.join()).not.toContain('Send a new code');
  });

  it('that cannot be asked for here is named once, each in its own direction, with a way to support', () => {
    const help = 'https://northwind.example/help';
    const page = unavailablePage(site, requestOf({ title: 'Northwind', links: { help } }), {
      ...state,
      factors: [key, { ...key, id: 'l' }, { ...key, name: 'Ada’s' }, { ...key, type: 'recovery_code' }],
      isPending: true,
    });
    const name = (text: string): string => `<strong dir="auto">${text}</strong>`;
    expect(markupOf(page)).toContain(
      `: ${name('Security key')}, ${name('Ada’s')}, and ${name('Recovery codes')}. Contact`,
    );
    expect(outlineOf(page)).toContain(`Contact support → ${help}`);
    expect(viewOf(page).links).toEqual({ help, signOut: '/auth/logout' });
  });

  it('whose code a hook has refused for good leads to support where there is a page for it', () => {
    const help = 'https://northwind.example/help';
    const linesOf = (links: { readonly help?: string }) =>
      outlineOf(rejectedPage(site, requestOf({ title: 'Northwind', links }), state));
    expect(linesOf({ help })).toContain(`Contact support → ${help}`);
    expect(linesOf({}).join()).not.toContain('Contact support →');
  });
});

describe('the page that asks for a sign-in after a link', () => {
  it('offers a new password only where there are passwords', () => {
    const linesOf = (options: Parameters<typeof siteOf>[0]) =>
      outlineOf(pleaseSignInPage(siteOf(options), request, returnTo));
    expect(linesOf({})).toContain('Forgot password? → /auth/forgot?returnTo=%2Faccount');
    expect(linesOf({ signInMethods: ['code'] }).join()).not.toContain('Forgot');
    const { links } = viewOf(pleaseSignInPage(siteOf({ signInMethods: ['code'] }), request, returnTo));
    expect(links).toEqual({ signIn: '/auth/login?returnTo=%2Faccount' });
  });
});

describe('an app that asks for access', () => {
  const asked = {
    client: { id: 'd', name: 'Cursor' },
    scopes: [],
    authorizationId: 'abc',
    returnTo: '/oauth/consent?authorization_id=abc',
    account: email,
    redirectUri: 'https://cursor.example/callback',
  };

  it('acts in the application that the pages name, else "here"', () => {
    const actOf = (pages: Parameters<typeof requestOf>[0]) =>
      outlineOf(consentPage(site, requestOf(pages), asked)).find((line) => line.startsWith('text: Use'));
    expect(actOf({ title: 'Northwind' })).toBe('text: Use Northwind as you, with your permissions');
    expect(actOf({})).toBe('text: Use your account here, with your permissions');
  });

  it('is told apart from the account, which may have no name', () => {
    const lines = outlineOf(consentPage(site, request, { ...asked, account: undefined }));
    expect(lines.filter((line) => line.startsWith('lead'))).toEqual([]);
  });

  it('with an unsafe address has no page', () => {
    expect(() => consentPage(site, request, { ...asked, redirectUri: 'javascript:alert(1)' })).toThrow('unsafe');
  });

  it('tells its origin in the form, because the page sends no referrer', () => {
    for (const page of [consentPage(site, request, asked), disconnectPage(site, request, asked)]) {
      expect(markupOf(page)).toContain('<meta name="referrer" content="same-origin">');
    }
  });

  it('starts again where it cannot go on, with what went wrong', () => {
    const page = (code: AuthErrorCode, account?: string) =>
      outlineOf(startAgainPage(site, request, { error: failure(code), account, returnTo }));
    expect(page('authorization_expired', email)).toContain('emblem: ');
    const refused = page('redirect_refused');
    expect(refused).toContain('emblem bad: ');
    expect(refused.join()).not.toContain('Signed in as');
  });

  it('gets its code by a Refresh to its own address, and to no unsafe one', () => {
    const to = (address: string) => {
      const page = toAppPage(site, request, { redirectTo: address });
      return [page.headers?.['Refresh'], outlineOf(page).at(-1)];
    };
    const address = 'https://cursor.example/callback?code=1';
    expect(to(address)).toEqual([`0; url=${address}`, `Continue → ${address}`]);
    expect(to('javascript:alert(1)')).toEqual(['0; url=#', 'Continue → #']);
  });

  it('may be another account’s, unless this one has allowed it', () => {
    const leadsToOther = (allowed?: typeof asked.client) => {
      const error = failure('authorization_expired');
      const page = startAgainPage(site, request, { error, account: email, returnTo, allowed });
      return [viewOf(page).links['signOut'], markupOf(page).includes('<meta name="referrer" content="same-origin">')];
    };
    expect(leadsToOther()).toEqual(['/auth/logout', true]);
    expect(leadsToOther(asked.client)[0]).toBeUndefined();
  });

  it('is listed with a picture of what it is', () => {
    const apps = [{ client: asked.client, scopes: [], grantedAt: '' }];
    expect(markupOf(appsPage(site, request, { returnTo, apps }))).toContain('<li class="row"><svg class="start"');
  });

  it('is listed with what it may do over the whole width, and says where it can’t be disconnected', () => {
    const rowOf = (id: string, scopes: readonly string[]): string => {
      const apps = [{ client: { id, name: 'Cursor' }, scopes, grantedAt: '' }];
      return (
        /<li class="row">.*<\/svg>([^]*)<\/li>/.exec(markupOf(appsPage(site, request, { returnTo, apps })))?.[1] ?? ''
      );
    };
    const about = '<p class="about">Know who you are · See your email address</p>';
    expect(rowOf('d', ['openid', 'email'])).toContain(`Disconnect</a>\n</div>${about}`);
    expect(rowOf('d', [])).not.toContain('about');
    const stays = '<span class="name"><bdi>Cursor</bdi> <small>Can’t be disconnected here</small></span>';
    expect(rowOf('', [])).toBe(stays);
    expect(rowOf('d', [])).not.toContain('Can’t');
  });

  it('is listed with the day in the language of the page', () => {
    const apps = [{ client: asked.client, scopes: ['email'], grantedAt: '2026-11-22T23:30:00Z' }];
    expect(outlineOf(appsPage(site, requestOf({ lang: 'de' }), { returnTo, apps })).join()).toContain(
      'Since 22.11.2026',
    );
  });
});

describe('a passkey', () => {
  const passkey = { id: 'p', name: 'Phone', createdAt: '2026-11-22T23:30:00Z', lastUsedAt: '' };
  const rowOf = (given: Partial<typeof passkey>, lang = 'en'): string | undefined =>
    outlineOf(passkeysPage(site, requestOf({ lang }), { ...state, passkeys: [{ ...passkey, ...given }] })).find(
      (line) => line.startsWith('name: '),
    );

  it('has the days on which it was added and used, in the language of the page', () => {
    expect(rowOf({})).toBe('name: Phone Added Nov 22, 2026');
    expect(rowOf({ createdAt: 'soon', lastUsedAt: '2026-11-23T00:00:00Z' })).toBe('name: Phone Last used Nov 23, 2026');
    expect(rowOf({}, 'de')).toBe('name: Phone Added 22.11.2026');
  });

  it('has each day in one line, as browsers read it, too', () => {
    expect(markupOf(passkeysPage(site, request, { ...state, passkeys: [passkey] }))).toContain(
      '<small>Added <time datetime="2026-11-22">Nov 22, 2026</time></small>',
    );
    expect(stylesheet).toMatch(/^\.choices time \{ white-space: nowrap; \}$/m);
  });

  it.each(['', ' ', '\u200b\u202e', '\u0301', '\u115f', '\u1160\u3164', '\uffa0', '\u2800'])(
    'without a visible name (%j) is called a passkey',
    (name) => {
      expect(isVisible(name)).toBe(false);
      expect(rowOf({ name })).toBe('name: Passkey Added Nov 22, 2026');
    },
  );

  it.each(['a', '\u200bé', '1', '-', '钥'])('has the visible name %j', (name) => expect(isVisible(name)).toBe(true));

  it('is asked for once more where the answer came too late, and not a third time', () => {
    const late = failure('challenge_expired');
    expect([asksAgain({ error: late }, false), asksAgain({ error: late }, true)]).toEqual([true, false]);
    expect([asksAgain({ error: failure('code_wrong') }, false), asksAgain({}, false)]).toEqual([false, false]);
  });

  it('is asked for at once by the script where the answer came too late', () => {
    const formWith = (isAgain: boolean) =>
      outlineOf(passkeysPage(site, request, { ...state, passkeys: [], isAgain })).filter((line) =>
        /script:|again=/.test(line),
      );
    expect(formWith(false)).toEqual(['form to /auth/passkeys, script: create {}']);
    expect(formWith(true)).toEqual(['form to /auth/passkeys, script: create {} data-again', '  again=yes']);
  });
});

describe('a link that is not valid anymore', () => {
  it('leads to a new one, and to sign-in, with what the visitor wanted', () => {
    const page = linkExpiredPage(site, request, { ...state, isOtherAccount: true, error: failure('link_expired') });
    expect(viewOf(page).values).toEqual({ returnTo, prompt: 'login' });
    expect(outlineOf(page).slice(-2)).toEqual([
      'Request a new link → /auth/forgot?returnTo=%2Faccount&prompt=login',
      'Back to sign-in → /auth/login?returnTo=%2Faccount',
    ]);
  });
});

describe('an email that can be sent again', () => {
  it.each([
    [60, true],
    [61, false],
  ])('in %i seconds has a form on this page: %p', (seconds, hasForm) => {
    const notice = { ...mailSent(site.settings), email, returnTo, resend: resendAfter(seconds, 0) };
    const page = mailPage(site, request, notice);
    expect(outlineOf(page).includes('form to /auth/resend')).toBe(hasForm);
    expect(policyOf(page).includes("form-action 'self'")).toBe(hasForm);
  });
});
