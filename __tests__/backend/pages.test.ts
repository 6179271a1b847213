import { globSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { FormProblem } from '../../lib/backend/forms/fields.ts';
import { confirmPage, switchPage } from '../../lib/backend/confirm/page.ts';
import { codePage } from '../../lib/backend/email-code/page.ts';
import { signedInPage, signInPage } from '../../lib/backend/pages/sign-in.ts';
import { confirmationSent, mailSent, signUpPage } from '../../lib/backend/sign-up/page.ts';
import { verifyPage } from '../../lib/backend/factors/page.ts';
import { addressChangedPage, mailPage, otherLinkPage, pleaseSignInPage } from '../../lib/backend/pages/notice.ts';
import { formErrorOf, withReturnTo } from '../../lib/backend/pages/parts.ts';
import type { FormState, PageRequest } from '../../lib/backend/slots.ts';
import { resendAfter } from '../../lib/backend/pages/resend.ts';
import { englishText } from '../../lib/backend/pages/text.ts';
import type { PagesTextKey } from '../../lib/backend/pages/text.ts';
import { render } from '../../lib/tools/html.ts';
import { errorTable } from '../../lib/error-table.ts';
import { AuthError } from '../../lib/errors.ts';
import { emblemOf } from '../../lib/pages/icons.ts';
import type { Emblem } from '../../lib/pages/icons.ts';
import { createBrands } from '../../lib/pages/options.ts';
import type { PagesOptions } from '../../lib/pages/options.ts';
import { createTexts, sharedText } from '../../lib/pages/texts.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { signOutPage } from '../../lib/pages/document.ts';
import { emailProblem, everyPageState, failure, requestOf, siteOf } from '../support/built-in-pages.ts';

function markupOf(reply: Reply): string {
  if (reply.body?.kind !== 'page') throw new Error('not a page');
  return render(reply.body.markup);
}

function policyOf(reply: Reply): string {
  return reply.body?.kind === 'page' ? reply.body.policy : '';
}

/** The opening tag of the element with that id. */
function tag(markup: string, id: string): string {
  return new RegExp(`<[a-z]+ [^>]*\\bid="${id}"[^>]*>`).exec(markup)?.[0] ?? '';
}

const wordsOf = (given: Partial<Record<PagesTextKey, string>> = {}, lang?: string) =>
  createTexts(englishText, given, lang);
const text = wordsOf();
const site = siteOf({ providers: ['github', 'google'] });
const request = requestOf();
const state = { returnTo: '/account?tab=1' };
const email = 'ada@example.com';
const resend = resendAfter(60, 0);
const markupOfSignIn = (more: Partial<FormState> = {}): string =>
  markupOf(signInPage(site, request, { ...state, ...more }));
const markupOfSignUp = (more: Partial<FormState> = {}): string =>
  markupOf(signUpPage(site, request, { ...state, ...more }));

/** The only script, of pages that ask for a passkey or a password; without it they work, too. */
const pageScript = /\n<script src="\/auth\/pages\.js\?v=[\w-]{16}" defer><\/script>/;

/** Single sign-on leads on to an identity provider, and a decision to the app. */
function leadsTo(name: string): string {
  if (name === 'consent, on this device') return "'self' https: http:";
  if (name === 'consent, custom scheme' || name === 'consent, expired') return "'self'";
  return /^(?:sso|consent)\b/.test(name) ? "'self' https:" : "'self'";
}

/** Checks each state of each page; a failure names the state. */
function inEveryState(check: (markup: string, name: string, reply: Reply) => void): void {
  for (const [name, reply] of Object.entries(everyPageState())) {
    try {
      check(markupOf(reply), name, reply);
    } catch (cause) {
      throw new Error(`The page "${name}" is wrong`, { cause });
    }
  }
}

describe('every built-in page in every state', () => {
  it('needs no script and carries no inline style', () => {
    inEveryState((whole) => {
      const markup = whole.replace(pageScript, '');
      expect(markup !== whole).toBe(/ data-passkey=| class="reveal"/.test(whole));
      expect(markup).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=|javascript:/i);
      expect(markup).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/);
      expect(markup).toContain('<link rel="stylesheet" href="/auth/pages.css">');
    });
  });

  it('allows nothing but its stylesheet, its images and its own forms', () => {
    inEveryState((markup, name, reply) => {
      const target = markup.includes('<form') ? leadsTo(name) : "'none'";
      const [, path] = /<form method="post" action="([^"]+)" data-passkey/.exec(markup) ?? [];
      const origin = 'https://northwind.example';
      const script = pageScript.test(markup) ? ` script-src ${origin}/auth/pages.js;` : '';
      const calls = path === undefined ? '' : ` connect-src ${origin}${path};`;
      expect(policyOf(reply)).toBe(
        `default-src 'none';${script}${calls} style-src 'self'; img-src 'self'; form-action ${target}; base-uri 'none'; frame-ancestors 'none'`,
      );
    });
  });

  it('shows the brand, and the application’s name in its heading or below it', () => {
    inEveryState((markup, name) => {
      if (name === 'sign-in, plain') return;
      expect(markup).toContain('<div class="brand"><img src="/logo.svg" alt="Northwind"></div>');
      const [, heading = '', below = ''] = /<h1>(.*)<\/h1>\n(.*)\n/.exec(markup) ?? [];
      const line = /^<p class="app">(?:to continue to )?<strong dir="auto">Northwind<\/strong><\/p>$/;
      expect(heading.includes('Northwind') ? below === '' : line.test(below)).toBe(true);
    });
  });

  it('has at most one emblem, of one stroke width', () => {
    inEveryState((markup) => {
      expect(markup.split('class="emblem').length).toBeLessThanOrEqual(2);
      expect(markup).not.toContain('<p class="emblem" aria-hidden="true"></p>');
      const [emblem = ''] = /<p class="emblem[^>]*><svg viewBox="0 0 24 24">[^]*?<\/p>/.exec(markup) ?? [];
      expect(emblem).not.toContain('stroke');
    });
  });

  it('shows how something ended by a picture, and no other page has one', () => {
    const emblems: Readonly<Record<string, Emblem>> = {
      'sign-in, signed in': 'check',
      'sign-up, account exists': 'notice',
      'code sent': 'envelope',
      'code sent, Gmail': 'envelope',
      'code sent, eight digits': 'envelope',
      'code sent, ten digits': 'envelope',
      'code, wrong': 'envelope',
      'code, another email too soon': 'envelope',
      'code, closed': 'envelope',
      'confirmation sent': 'envelope',
      'confirmation sent, Gmail': 'envelope',
      'mail sent again': 'envelope',
      'recovery mail sent': 'envelope',
      'one more link': 'envelope',
      'address changed': 'check',
      'address changed, signed in': 'check',
      'mail, too soon': 'clock',
      'link expired': 'clock',
      'link expired, of a sign-up': 'clock',
      'link expired, of a code': 'clock',
      'link expired, of a changed address': 'clock',
      'link expired, of a guest': 'clock',
      'forgot, no address': 'notice',
      'account, others signed out': 'check',
      'email, change sent': 'envelope',
      'email, change sent, none before': 'envelope',
      'please sign in': 'clock',
      'passkeys, off': 'notice',
      'consent, expired': 'clock',
      'consent, answered before': 'clock',
      'factor, unavailable': 'lock',
      'factor, unavailable for a session': 'lock',
      'factor, rejected': 'warning',
    };
    inEveryState((markup, name) => {
      if (name.startsWith('error')) return;
      const emblem = emblems[name];
      if (emblem === undefined) expect(markup).not.toContain('class="emblem');
      else expect(markup).toContain(render(emblemOf(emblem)));
    });
  });

  it('has no empty list, and no empty paragraph', () => {
    inEveryState((markup) => expect(markup).not.toMatch(/<(ul|ol|p)\b[^>]*>\s*<\/\1>/));
  });

  it('marks each form that was sent, but for those that the script sends', () => {
    inEveryState((markup) => {
      for (const [form, opening = ''] of markup.matchAll(/(<form\b[^>]*>)[^]*?<\/form>/g)) {
        expect(form.includes('<input type="checkbox" class="sent" hidden>')).toBe(!opening.includes('data-passkey'));
      }
    });
  });

  it('ties each description to an element that is there, and gives focus at most once', () => {
    inEveryState((markup) => {
      const ids = [...markup.matchAll(/\bid="([^"]*)"/g)].map(([, id]) => id);
      const described = [...markup.matchAll(/aria-describedby="([^"]*)"/g)].flatMap(([, list]) =>
        (list ?? '').split(' '),
      );
      expect(new Set(ids).size).toBe(ids.length);
      for (const id of described) expect(ids).toContain(id);
      expect(markup.split(' autofocus').length).toBeLessThanOrEqual(2);
      expect(markup.split('<h1>')).toHaveLength(2);
    });
  });
});

describe('a hostile value', () => {
  const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>{email}\``;

  it('is text wherever it is shown', () => {
    const words = wordsOf(Object.fromEntries(Object.keys(englishText).map((key) => [key, hostile])));
    const { settings } = siteOf();
    const providers = [{ name: hostile, label: hostile }];
    const paths = {
      loginPath: hostile,
      signupPath: hostile,
      logoutPath: hostile,
      paths: { ...settings.paths, resend: hostile, confirm: hostile },
    };
    const odd = { ...siteOf(), settings: { ...settings, ...paths, providers }, text: words };
    const from: PageRequest = {
      home: '/',
      localPath: (path) => path,
      publicUrl: (path) => `https://northwind.example${path}`,
      signInUrl: () => hostile,
      urlOf: (path) => path,
      stylesheetUrl: `/${hostile}`,
      brand: {
        ...createBrands(sharedText, {}).of({ headers: {} }),
        title: hostile,
        lang: 'en',
        logo: `/${hostile}`,
        logoDark: hostile,
        links: { terms: hostile, privacy: `/${hostile}`, help: hostile },
        text: words,
      },
    };
    const form = { returnTo: `/${hostile}`, email: hostile };
    const refused = new AuthError('invalid_request', { message: hostile, retryAfter: 5 });
    const misspelled = new FormProblem('email', 'emailInvalid', hostile);
    const pages = [
      signInPage(odd, from, { ...form, error: new AuthError('email_not_confirmed', { message: hostile }) }),
      signInPage(odd, from, { ...form, error: refused }),
      signInPage(odd, from, { ...form, error: misspelled }),
      signUpPage(odd, from, { ...form, error: new FormProblem('password', 'passwordMissing', hostile) }),
      confirmPage(odd, from, { ...form, tokenHash: hostile, type: hostile, error: refused }),
      signOutPage(from, hostile, form.returnTo),
      signedInPage(odd, from, { ...form, account: hostile }),
      mailPage(odd, from, { ...form, resend, ...confirmationSent(odd.settings) }),
      mailPage(odd, from, { ...form, resend, ...mailSent(odd.settings) }),
      pleaseSignInPage(odd, from, hostile),
      otherLinkPage(odd, from, hostile),
      switchPage(odd, from, { ...form, account: { id: hostile, name: hostile }, signedInAs: hostile, error: refused }),
      addressChangedPage(odd, from, { returnTo: hostile, isSignedIn: true }),
    ];
    for (const page of pages) {
      const markup = markupOf(page).replace(pageScript, '');
      expect(markup).toContain('&lt;script&gt;');
      expect(markup).not.toMatch(/<script|<img src=x|javascript:/);
      // No attribute was added: outside of quoted values no tag speaks of an event handler.
      for (const [opening] of markup.matchAll(/<[a-z][^>]*>/g)) {
        expect(opening.replace(/"[^"]*"/g, '')).not.toMatch(/onerror|alert/);
      }
    }
  });

  it('cannot break out of a field, whatever its characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (typed, message) => {
        const shape = (markup: string): string => markup.replace(/"[^"]*"/g, '""').replace(/>[^<]*</g, '><');
        const shown = (value: string, words: string): string => {
          const error = new AuthError('email_in_use', { message: words });
          return shape(markupOfSignIn({ returnTo: `/a${value}`, email: `a${value}`, error }));
        };
        expect(shown(typed, message)).toBe(shown('a', 'a'));
      }),
    );
  });

  it('cannot make a form post elsewhere', () => {
    for (const action of ['//evil.example', 'javascript:alert(1)', '/\\evil.example', 'data:text/html,x']) {
      const odd = { ...request, localPath: () => action };
      expect(markupOf(signInPage(site, odd, state))).toContain('<form method="post" action="#">');
    }
  });

  it('cannot add a directive to the policy through the logo, and a logo elsewhere is allowed by its origin', () => {
    const withLogo = (logo: string) => policyOf(signInPage(site, requestOf({ logo }), state));
    expect(withLogo('https://cdn.example.com/a/logo.svg?x')).toContain(
      "img-src 'self' https://cdn.example.com; form-action",
    );
    for (const logo of ["https://a.example'; script-src *", 'javascript:alert(1)', '//evil.example', 'https://', '']) {
      expect(withLogo(logo)).toMatch(/img-src 'self'(?: https:\/\/[a-z.]+)?; form-action 'self'; base-uri/);
      expect(withLogo(logo)).not.toMatch(/script-src (?!https:\/\/northwind\.example\/auth\/pages\.js;)|evil/);
    }
  });
});

describe('the sign-in form', () => {
  let empty = '';
  beforeAll(() => {
    empty = markupOfSignIn();
  });

  it('names its fields for people and for password managers', () => {
    expect(empty).toContain('<label for="email">Email</label>');
    expect(empty).toContain('<label for="password">Password</label>');
    expect(tag(empty, 'email')).toMatch(
      /type="text" dir="ltr" autocomplete="username".* inputmode="email" enterkeyhint="next" required autofocus>$/,
    );
    expect(tag(empty, 'password')).toMatch(/type="password" autocomplete="current-password".* required>$/);
    expect(empty).not.toMatch(/aria-invalid|aria-describedby|role="alert"/);
  });

  it('posts to its action and carries returnTo, also to sign-up', () => {
    expect(empty).toContain('<form method="post" action="/auth/login">');
    expect(empty).toContain('<input type="hidden" name="returnTo" value="/account?tab=1">');
    expect(empty).toContain('href="/auth/signup?returnTo=%2Faccount%3Ftab%3D1">Create an account</a>');
    const without = markupOfSignIn({ returnTo: '/' });
    expect(without).not.toContain('returnTo');
  });

  it('offers each provider as a link, and no divider if there is none', () => {
    expect(empty).toContain(
      '<a class="button quiet" href="/auth/login?provider=github&amp;returnTo=%2Faccount%3Ftab%3D1"><svg',
    );
    expect(empty).toContain('</svg>Continue with GitHub</a>');
    expect(empty.indexOf('GitHub')).toBeLessThan(empty.indexOf('Google'));
    expect(markupOf(signInPage(siteOf(), request, state))).not.toMatch(/class="or"|class="providers/);
  });

  it('shows a wrong password at the password, keeps the email and focuses the password', () => {
    const markup = markupOfSignIn({ email, error: failure('invalid_credentials') });
    expect(markup).toContain(
      `<p class="field-message" id="password-error">${errorTable.invalid_credentials.message}</p>`,
    );
    expect(markup).not.toContain('form-error');
    expect(tag(markup, 'email')).toContain('value="ada@example.com"');
    expect(tag(markup, 'password')).toMatch(/aria-invalid="true" aria-describedby="password-error" autofocus>$/);
    expect(tag(markup, 'password')).not.toContain('value=');
    expect(markup).toContain('<title>Error: Sign in to Northwind</title>');
  });

  it.each(['email', 'password'] as const)('marks the invalid field and focuses it: %s', (name) => {
    const code = name === 'email' ? 'email_in_use' : 'weak_password';
    const markup = markupOfSignIn({ email, error: failure(code, { message: 'This needs a look.' }) });
    const other = name === 'email' ? 'password' : 'email';
    expect(tag(markup, name)).toContain(`aria-invalid="true" aria-describedby="${name}-error" autofocus>`);
    expect(markup).toContain(`id="${name}-error">This needs a look.</p>`);
    expect(tag(markup, other)).not.toMatch(/aria-|autofocus/);
  });

  it('focuses the email while it is empty, also after a failure of the whole form', () => {
    expect(tag(markupOfSignIn({ email: '', error: failure('forbidden') }), 'email')).toContain('autofocus');
    expect(tag(markupOfSignIn({ email: 'a@b.c' }), 'password')).toContain('autofocus');
  });

  it('offers to send the confirmation email again, for the typed address', () => {
    const error = failure('email_not_confirmed');
    const markup = markupOfSignIn({ email, error });
    expect(markup).toContain(`<form method="post" action="/auth/resend">
<input type="hidden" name="email" value="ada@example.com">
<input type="hidden" name="returnTo" value="/account?tab=1">
<button class="quiet" aria-describedby="form-error" autofocus>Resend email</button>`);
    expect(markup.split('autofocus')).toHaveLength(2);
    for (const missing of ['', undefined]) {
      expect(markupOfSignIn({ email: missing, error })).not.toContain('/auth/resend');
    }
    expect(markupOfSignIn({ email, error: failure('invalid_credentials') })).not.toContain('/auth/resend');
  });

  it('takes a missing confirmation for a next step, and other failures for errors', () => {
    const next = markupOfSignIn({ email, error: failure('email_not_confirmed') });
    expect(next).toContain('<div class="message next">\n<p id="form-error" role="status">Please confirm');
    const refused = markupOfSignIn({ email, error: failure('user_banned') });
    expect(refused).toContain('<div class="message bad">\n<p id="form-error" role="alert">');
  });

  it('shows a wrong password above the form where it has no field for one', () => {
    const page = signInPage(siteOf({ signInMethods: ['code'] }), request, {
      ...state,
      email,
      error: failure('invalid_credentials'),
    });
    expect(markupOf(page)).toContain(`<p id="form-error" role="alert">${errorTable.invalid_credentials.message}</p>`);
  });

  it('offers single sign-on as a second button, and sign-up as a link', () => {
    const markup = markupOf(signInPage(siteOf({ sso: true }), request, state));
    expect(markup).toMatch(
      /<p class="or">or<\/p>\n<p><a class="button quiet" href="\/auth\/sso\?returnTo=%2Faccount%3Ftab%3D1"><svg class="icon".*<\/svg>Single sign-on<\/a>/,
    );
    expect(markup).toMatch(/New here\? <a href="\/auth\/signup/);
  });

  it('shows how long to wait, in the language of the page', () => {
    const error = failure('rate_limited', { retryAfter: 700 });
    expect(markupOfSignIn({ error })).toContain('Too many attempts. Try again in 12 minutes.</p>');
    const pages = { lang: 'de', text: { retryIn: 'Wieder in {time}.' } };
    const page = signInPage(siteOf({ pages }), requestOf(pages), { ...state, error });
    expect(markupOf(page)).toContain('Wieder in 12 Minuten.</p>');
    expect([page.status, page.headers]).toEqual([429, { 'Retry-After': '700' }]);
  });
});

describe('the sign-up form', () => {
  it('asks for a new password and ties the hint to it', () => {
    const markup = markupOfSignUp();
    expect(tag(markup, 'email')).toContain('autocomplete="email"');
    expect(tag(markup, 'password')).toContain('autocomplete="new-password"');
    expect(tag(markup, 'password')).toContain('aria-describedby="password-hint"');
    expect(markup).toContain('href="/auth/login?returnTo=%2Faccount%3Ftab%3D1">Sign in</a>');
  });

  it('puts the message about a refused password in place of the hint', () => {
    const markup = markupOfSignUp({ email, error: failure('weak_password') });
    expect(tag(markup, 'password')).toContain('aria-invalid="true" aria-describedby="password-error" autofocus');
    expect(markup).not.toContain('class="hint"');
  });

  it('says to password managers how long a password must be', () => {
    expect(tag(markupOfSignUp(), 'password')).toContain(' passwordrules="minlength: 8;"');
    expect(tag(markupOf(signInPage(site, request, state)), 'password')).not.toContain('passwordrules');
  });

  it('names the terms and the privacy policy where the application links both', () => {
    const line = (links: PagesOptions['links']): string | undefined =>
      /<p class="hint">By creating.*<\/p>/.exec(markupOf(signUpPage(site, requestOf({ links }), state)))?.[0];
    expect(line({ terms: '/terms', privacy: 'https://x.example/p' })).toBe(
      '<p class="hint">By creating an account you agree to our <a href="/terms">Terms</a> and <a href="https://x.example/p">Privacy Policy</a>.</p>',
    );
    expect([line({ terms: '/terms' }), line({ privacy: '/p' }), line({})]).toEqual([undefined, undefined, undefined]);
  });

  it('does not repeat them below the page that names them', () => {
    const footerOf = (markup: string): string[] =>
      [...(/<footer>[^]*<\/footer>/.exec(markup)?.[0].matchAll(/href="([^"]+)"/g) ?? [])].map(([, href = '']) => href);
    const shownWith = (links: PagesOptions['links']) => [
      footerOf(markupOf(signUpPage(site, requestOf({ links }), state))),
      footerOf(markupOf(signInPage(site, requestOf({ links }), state))),
    ];
    const all = { terms: '/terms', privacy: '/privacy', help: '/help' };
    expect(shownWith(all)).toEqual([['/help'], ['/terms', '/privacy', '/help']]);
    expect(shownWith({ terms: '/terms' })).toEqual([['/terms'], ['/terms']]);
    expect(shownWith({ terms: '/terms', privacy: '/privacy' })[0]).toEqual([]);
  });

  it('omits the hint if its text is empty', () => {
    const markup = markupOf(signUpPage(siteOf({ pages: { text: { newPasswordHint: '' } } }), request, state));
    expect(markup).not.toContain('password-hint');
  });
});

describe('the other pages', () => {
  it('confirms by a POST that carries the token', () => {
    const markup = markupOf(confirmPage(site, request, { tokenHash: 'pkce_1', type: 'signup', returnTo: '/a' }));
    expect(markup).toContain(`<form method="post" action="/auth/confirm">
<input type="hidden" name="token_hash" value="pkce_1">
<input type="hidden" name="type" value="signup">
<input type="hidden" name="returnTo" value="/a">
<button>`);
  });

  it('asks before signing out, and links back otherwise', () => {
    const markup = markupOf(signOutPage(request, '/app/auth/logout', '/app'));
    expect(markup).toContain('<form method="post" action="/app/auth/logout">');
    expect(markup).toContain('href="/app">Stay signed in</a>');
  });

  it.each([
    ['email', 'Confirm your email', 'Confirm and continue'],
    ['signup', 'Confirm your email', 'Confirm and continue'],
    ['magiclink', 'Sign in', 'Sign in'],
    ['invite', 'Accept your invitation', 'Accept and continue'],
    ['email_change', 'Confirm the change of your email', 'Confirm the change'],
  ])('explain the purpose of a link of the type %s', (type, heading, label) => {
    const markup = markupOf(confirmPage(site, request, { tokenHash: 'pkce_1', type, returnTo: '/' }));
    expect(markup).toContain(`<h1>${heading}</h1>`);
    expect(markup).toContain(`<button>${label}</button>`);
    expect(markup).not.toContain('account is ready');
  });

  it('lead on after the first of two links, for a user who may be signed in', () => {
    const markup = markupOf(otherLinkPage(site, request, '/account'));
    expect(markup).toContain('<a class="button" href="/account">Continue</a>');
    expect(markup).not.toContain('confirmed');
  });

  it('report that an email is on its way, and offer another', () => {
    const sent = markupOf(
      mailPage(site, request, { ...confirmationSent(site.settings), email, returnTo: '/a', resend }),
    );
    expect(sent).toContain('role="status">If <strong dir="auto">ada@example.com</strong> has no account yet');
    expect(sent).toContain('action="/auth/resend"');
    expect(sent).toContain('href="/auth/login?returnTo=%2Fa"');
    const again = markupOf(mailPage(site, request, { ...mailSent(site.settings), email, returnTo: '/a', resend }));
    expect(again).toContain('If <strong dir="auto">ada@example.com</strong> still needs');
  });

  it('lead from an unusable link to sign-in, and show no check mark', () => {
    const markup = markupOf(pleaseSignInPage(site, request, '/a'));
    expect(markup).not.toMatch(/emblem good|m5 12\.5/);
    expect(markup).toContain('<h1>Sign in to continue</h1>');
    expect(markup).toContain('<a class="button" href="/auth/login?returnTo=%2Fa">Sign in</a>');
  });
});

describe('a code', () => {
  const factor = { id: 'a', type: 'totp', name: '', isVerified: true, digits: '', createdAt: '' } as const;
  const verify = { ...state, factors: [factor], factor, isSent: false };

  it('of six digits has a place for each, and room for a blank between them', () => {
    const input =
      '<input id="code" name="code" type="text" class="digits places of-6" dir="ltr" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" inputmode="numeric" enterkeyhint="go" maxlength="14" required';
    expect(tag(markupOf(verifyPage(site, request, verify)), 'code')).toBe(`${input} autofocus>`);
    // The page opens at its heading, not below the picture.
    expect(tag(markupOf(everyPageState()['enroll']!), 'code')).toBe(`${input}>`);
  });

  it('of an email has room for ten digits, because projects differ', () => {
    const input = tag(markupOf(codePage(site, request, { ...state, email, step: 'code' })), 'code');
    expect(input).toMatch(/class="digits" .* maxlength="24"/);
  });

  it('of another factor is offered in a row with an icon and a chevron', () => {
    const phone = { ...factor, id: 'b', type: 'phone', digits: '123' } as const;
    const markup = markupOf(verifyPage(site, request, { ...verify, factors: [factor, phone] }));
    expect(markup).toMatch(
      /<li><a [^>]*><svg class="start".*<span class="name"><bdi>Phone ending in 123<\/bdi><\/span><svg class="on"/,
    );
  });
});

describe('texts', () => {
  it('can be replaced one by one', () => {
    const replaced = createTexts(englishText, { signInHeading: 'Anmelden', or: undefined });
    expect(replaced.signInHeading.plain).toBe('Anmelden');
    expect(replaced.or.plain).toBe('or');
    expect(markupOf(signInPage({ ...site, text: replaced }, request, state))).toContain('<h1>Anmelden</h1>');
  });

  it('are not replaced inside values that are filled in', () => {
    const odd = siteOf({ providers: [{ name: 'x', label: '{provider}{constructor}' }] });
    expect(markupOf(signInPage(odd, request, state))).toContain('Continue with {provider}{constructor}<');
    const words = wordsOf({ continueWith: '{constructor} {provider}' });
    const markup = markupOf(signInPage({ ...site, text: words }, request, state));
    expect(markup).toContain('>{constructor} GitHub<');
  });
});

describe('formErrorOf', () => {
  it.each([
    ['invalid_credentials', 'form'],
    ['weak_password', 'password'],
    ['email_in_use', 'email'],
    ['forbidden', 'form'],
  ] as const)('places %s at %s', (code, field) => {
    const { message, ...rest } = formErrorOf(new AuthError(code), text);
    expect([message.plain, rest]).toEqual([errorTable[code].message, { field }]);
  });

  it('uses the texts of the page, unless the options have a text for this failure', () => {
    const german = wordsOf({ invalid_credentials: 'Stimmt nicht.' });
    expect(formErrorOf(new AuthError('invalid_credentials'), german).message.plain).toBe('Stimmt nicht.');
    const special = new AuthError('weak_password', { message: 'At least 12 characters.' });
    expect(formErrorOf(special, german).message.plain).toBe('At least 12 characters.');
  });

  it('places the error of a field there, in the texts of the page', () => {
    expect(formErrorOf(emailProblem('ada@'), text)).toEqual({ message: text.emailInvalid, field: 'email' });
  });

  it('passes on how long to wait', () => {
    expect(formErrorOf(new AuthError('rate_limited', { retryAfter: 5 }), text).retryAfter).toBe(5);
  });
});

describe('withReturnTo', () => {
  it('keeps the query of the URL', () => {
    expect(withReturnTo('/in?a=1', { returnTo: '/b&c=d#e' })).toBe('/in?a=1&returnTo=%2Fb%26c%3Dd%23e');
    expect(withReturnTo('/in#a?b#c', { returnTo: '/d' })).toBe('/in?returnTo=%2Fd#a?b#c');
    expect(withReturnTo('/in', { returnTo: '/' })).toBe('/in');
  });
});

it('the list of pages that suites read in a browser has each page of the rooms', () => {
  const sources = globSync('lib/backend/**/*.ts').map((path) => readFileSync(path, 'utf8'));
  const pages = sources.flatMap((source) =>
    [...source.matchAll(/^export function (\w+Page)\(/gm)].map(([, name]) => name),
  );
  const listed = readFileSync('__tests__/support/built-in-pages.ts', 'utf8');
  const isMissing = (name = ''): boolean => !new RegExp(`: ${name}\\(`).test(listed);
  expect([pages.length > 20, pages.filter(isMissing)]).toEqual([true, ['showPage']]);
});
