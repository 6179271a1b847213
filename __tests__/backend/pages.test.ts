import fc from 'fast-check';
import {
  confirmPage,
  englishText,
  formErrorOf,
  mergeText,
  noticePage,
  signInPage,
  signOutPage,
  signUpPage,
} from '../../lib/backend/pages/index.ts';
import { duration, withReturnTo } from '../../lib/backend/pages/parts.ts';
import { render } from '../../lib/core/html.ts';
import { AuthError, errorTable } from '../../lib/errors.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { everyPageState, pageView, signInView, signUpView } from '../support/built-in-pages.ts';

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

const states = Object.entries(everyPageState());
const text = mergeText();

describe('every built-in page in every state', () => {
  it.each(states)('needs no script and carries no inline style: %s', (_name, reply) => {
    const markup = markupOf(reply);
    expect(markup).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=|javascript:/i);
    expect(markup).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(markup).toContain('<link rel="stylesheet" href="/auth/pages.css">');
  });

  it.each(states)('allows nothing but its stylesheet, its images and its own forms: %s', (_name, reply) => {
    const target = markupOf(reply).includes('<form') ? "'self'" : "'none'";
    expect(policyOf(reply)).toBe(
      `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${target}; base-uri 'none'; frame-ancestors 'none'`,
    );
  });

  it.each(states)(
    'ties each description to an element that is there, and gives focus at most once: %s',
    (_name, reply) => {
      const markup = markupOf(reply);
      const ids = [...markup.matchAll(/\bid="([^"]*)"/g)].map(([, id]) => id);
      const described = [...markup.matchAll(/aria-describedby="([^"]*)"/g)].flatMap(([, list]) =>
        (list ?? '').split(' '),
      );
      expect(new Set(ids).size).toBe(ids.length);
      for (const id of described) expect(ids).toContain(id);
      expect(markup.split(' autofocus').length).toBeLessThanOrEqual(2);
      expect(markup.split('<h1>')).toHaveLength(2);
    },
  );
});

describe('a hostile value', () => {
  const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>{email}\``;

  it('is text wherever it is shown', () => {
    const provider = { name: hostile, label: hostile, href: `javascript:alert('${hostile}')` };
    const error = { message: hostile, field: 'form' } as const;
    const base = {
      ...pageView,
      text: mergeText(Object.fromEntries(Object.keys(englishText).map((key) => [key, hostile]))),
      brand: { title: hostile, lang: hostile, logo: `/${hostile}` },
      stylesheet: `/${hostile}`,
      returnTo: `/${hostile}`,
      action: hostile,
      email: hostile,
    };
    const signIn = { ...base, signUpHref: hostile, resendAction: hostile, providers: [provider] };
    const signUp = { ...base, signInHref: hostile, providers: [provider] };
    const pages = [
      signInPage({ ...signIn, error, offerResend: true }),
      signInPage({ ...signIn, error: { ...error, field: 'email', retryAfter: 5 }, notice: 'signed_out' }),
      signUpPage({ ...signUp, error: { ...error, field: 'password' } }),
      confirmPage({ ...base, tokenHash: hostile, type: hostile, error: { ...error, retryAfter: 5 } }),
      signOutPage({ ...base, stayHref: hostile }),
      noticePage({ ...base, kind: 'confirmation_sent', signInHref: hostile, resendAction: hostile }),
      noticePage({ ...base, kind: 'mail_sent', signInHref: hostile }),
      noticePage({ ...base, kind: 'please_sign_in', signInHref: hostile }),
      noticePage({ ...base, kind: 'other_link', returnTo: hostile, signInHref: hostile }),
    ];
    for (const page of pages) {
      const markup = markupOf(page);
      expect(markup).toContain('&lt;script&gt;');
      expect(markup).not.toMatch(/<script|<img src=x|javascript:/);
      // No attribute was added: outside of quoted values no tag speaks of an event handler.
      for (const [opening] of markup.matchAll(/<[a-z][^>]*>/g)) {
        expect(opening.replace(/"[^"]*"/g, '')).not.toMatch(/onerror|alert/);
      }
    }
  });

  it('breaks out of no field, whatever its characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (email, message) => {
        const view = { ...signInView, returnTo: email };
        const shape = (markup: string): string => markup.replace(/"[^"]*"/g, '""').replace(/>[^<]*</g, '><');
        const plain = signInPage({ ...view, email: 'a', returnTo: 'a', error: { message: 'a', field: 'email' } });
        const page = signInPage({ ...view, email, error: { message, field: 'email' } });
        expect(shape(markupOf(page))).toBe(shape(markupOf(plain)));
      }),
    );
  });

  it('cannot make a form post elsewhere', () => {
    for (const action of ['//evil.example', 'javascript:alert(1)', '/\\evil.example', 'data:text/html,x']) {
      expect(markupOf(signInPage({ ...signInView, action }))).toContain('<form method="post" action="#">');
    }
  });

  it('cannot add a directive to the policy through the logo, and a logo elsewhere is allowed by its origin', () => {
    const withLogo = (logo: string) => policyOf(signInPage({ ...signInView, brand: { logo } }));
    expect(withLogo('https://cdn.example.com/a/logo.svg?x')).toContain(
      "img-src 'self' https://cdn.example.com; form-action",
    );
    for (const logo of ["https://a.example'; script-src *", 'javascript:alert(1)', '//evil.example', 'https://', '']) {
      expect(withLogo(logo)).toMatch(/img-src 'self'(?: https:\/\/[a-z.]+)?; form-action 'self'; base-uri/);
      expect(withLogo(logo)).not.toMatch(/script-src|evil/);
    }
  });
});

describe('the sign-in form', () => {
  const empty = markupOf(signInPage(signInView));

  it('names its fields for people and for password managers', () => {
    expect(empty).toContain('<label for="email">E-mail address</label>');
    expect(empty).toContain('<label for="password">Password</label>');
    expect(tag(empty, 'email')).toMatch(
      /type="email" autocomplete="username".* inputmode="email" required autofocus>$/,
    );
    expect(tag(empty, 'password')).toMatch(/type="password" autocomplete="current-password".* required>$/);
    expect(empty).not.toMatch(/aria-invalid|aria-describedby|role="alert"/);
  });

  it('posts to its action and takes the way back along, also to sign-up', () => {
    expect(empty).toContain('<form method="post" action="/auth/login">');
    expect(empty).toContain('<input type="hidden" name="returnTo" value="/account?tab=1">');
    expect(empty).toContain('href="/auth/signup?returnTo=%2Faccount%3Ftab%3D1">Create an account</a>');
    const without = markupOf(signInPage({ ...signInView, returnTo: undefined }));
    expect(without).not.toContain('returnTo');
  });

  it('offers each provider as a link, and no divider where there is none', () => {
    expect(empty).toContain('<a class="button quiet" href="/auth/login?provider=github">Continue with GitHub</a>');
    expect(empty.indexOf('GitHub')).toBeLessThan(empty.indexOf('Google'));
    expect(markupOf(signInPage({ ...signInView, providers: [] }))).not.toMatch(/class="or"|class="choices"/);
  });

  it('says a wrong password above the form, ties it to both fields, keeps the email and asks for the password', () => {
    const error = formErrorOf(new AuthError('invalid_credentials'), text);
    const markup = markupOf(signInPage({ ...signInView, email: 'ada@example.com', error }));
    expect(markup).toContain(`<p id="form-error" role="alert">${errorTable.invalid_credentials.message}</p>`);
    expect(tag(markup, 'email')).toContain('value="ada@example.com"');
    expect(tag(markup, 'email')).toContain('aria-describedby="form-error"');
    expect(tag(markup, 'password')).toMatch(/aria-describedby="form-error" autofocus>$/);
    expect(tag(markup, 'password')).not.toContain('value=');
    expect(markup).toContain('<title>Error: Sign in · Northwind</title>');
  });

  it.each(['email', 'password'] as const)('marks the field that is wrong and starts there: %s', (name) => {
    const error = { message: 'This needs a look.', field: name };
    const markup = markupOf(signInPage({ ...signInView, email: 'ada@example.com', error }));
    const other = name === 'email' ? 'password' : 'email';
    expect(tag(markup, name)).toContain(`aria-invalid="true" aria-describedby="${name}-error" autofocus>`);
    expect(markup).toContain(`id="${name}-error">This needs a look.</p>`);
    expect(tag(markup, other)).not.toMatch(/aria-|autofocus/);
  });

  it('starts at the email while it is empty, also after a failure of the whole form', () => {
    const error = { message: 'x', field: 'form' } as const;
    expect(tag(markupOf(signInPage({ ...signInView, email: '', error })), 'email')).toContain('autofocus');
    expect(tag(markupOf(signInPage({ ...signInView, email: 'a@b.c' })), 'password')).toContain('autofocus');
  });

  it('offers to send the confirmation mail again, for the address that was typed', () => {
    const error = formErrorOf(new AuthError('email_not_confirmed'), text);
    const view = { ...signInView, error, offerResend: true };
    const markup = markupOf(signInPage({ ...view, email: 'ada@example.com' }));
    expect(markup).toContain(`<form method="post" action="/auth/resend">
<input type="hidden" name="email" value="ada@example.com">
<input type="hidden" name="returnTo" value="/account?tab=1">
<button class="quiet" aria-describedby="form-error" autofocus>Send the mail again</button>`);
    expect(markup.split('autofocus')).toHaveLength(2);
    expect(markupOf(signInPage({ ...view, email: '' }))).not.toContain('/auth/resend');
    expect(markupOf(signInPage({ ...view, email: 'ada@example.com', offerResend: false }))).not.toContain(
      '/auth/resend',
    );
  });

  it('tells how long to wait, in the language of the page', () => {
    const error = formErrorOf(new AuthError('rate_limited', { retryAfter: 700 }), text);
    expect(markupOf(signInPage({ ...signInView, error }))).toContain('Too many attempts. Try again in 12 minutes.</p>');
    const german = { ...signInView, brand: { lang: 'de' }, text: mergeText({ retryIn: 'Wieder in {time}.' }) };
    expect(markupOf(signInPage({ ...german, error }))).toContain('Wieder in 12 Minuten.</p>');
  });

  it.each([
    ['signed_out', 'You are signed out.'],
    ['mail_sent', englishText.mailSentNotice],
  ] as const)('tells news politely: %s', (notice, words) => {
    expect(markupOf(signInPage({ ...signInView, notice }))).toContain(`role="status">${words}</p>`);
  });
});

describe('the sign-up form', () => {
  it('asks for a new password and ties the hint to it', () => {
    const markup = markupOf(signUpPage(signUpView));
    expect(tag(markup, 'email')).toContain('autocomplete="email"');
    expect(tag(markup, 'password')).toContain('autocomplete="new-password"');
    expect(tag(markup, 'password')).toContain('aria-describedby="password-hint"');
    expect(markup).toContain('href="/auth/login?returnTo=%2Faccount%3Ftab%3D1">Sign in</a>');
  });

  it('puts a refused password’s message before the hint', () => {
    const error = formErrorOf(new AuthError('weak_password'), text);
    const markup = markupOf(signUpPage({ ...signUpView, email: 'ada@example.com', error }));
    expect(tag(markup, 'password')).toContain(
      'aria-invalid="true" aria-describedby="password-error password-hint" autofocus',
    );
  });

  it('goes without the hint where its text is empty', () => {
    const markup = markupOf(signUpPage({ ...signUpView, text: mergeText({ newPasswordHint: '' }) }));
    expect(markup).not.toContain('password-hint');
  });
});

describe('the other pages', () => {
  it('confirms by a post that carries the token', () => {
    const markup = markupOf(
      confirmPage({ ...pageView, action: '/auth/confirm', tokenHash: 'pkce_1', type: 'signup', returnTo: '/a' }),
    );
    expect(markup).toContain(`<form method="post" action="/auth/confirm">
<input type="hidden" name="token_hash" value="pkce_1">
<input type="hidden" name="type" value="signup">
<input type="hidden" name="returnTo" value="/a">
<button>`);
  });

  it('asks before signing out, and leads back otherwise', () => {
    const markup = markupOf(signOutPage({ ...pageView, action: '/app/auth/logout', stayHref: '/app' }));
    expect(markup).toContain('<form method="post" action="/app/auth/logout">');
    expect(markup).toContain('href="/app">Stay signed in</a>');
  });

  it.each([
    ['email', 'Confirm your email address', 'Confirm and continue'],
    ['signup', 'Confirm your email address', 'Confirm and continue'],
    ['magiclink', 'Sign in', 'Sign in'],
    ['invite', 'Accept the invitation', 'Accept and continue'],
    ['email_change', 'Confirm your new email address', 'Confirm the change'],
  ])('says what a link of the type %s is for', (type, heading, label) => {
    const markup = markupOf(confirmPage({ ...pageView, action: '/auth/confirm', tokenHash: 'pkce_1', type }));
    expect(markup).toContain(`<h1>${heading}</h1>`);
    expect(markup).toContain(`<button>${label}</button>`);
    expect(markup).not.toContain('account is ready');
  });

  it('leads on from the first of two links, to a person who may well be signed in', () => {
    const view = { ...pageView, kind: 'other_link', signInHref: '/auth/login' } as const;
    expect(markupOf(noticePage({ ...view, returnTo: '/account' }))).toContain('<a class="button" href="/account">');
    expect(markupOf(noticePage(view))).toContain('<a class="button" href="/">Continue</a>');
    expect(markupOf(noticePage(view))).not.toContain('confirmed');
  });

  it('tells that a mail is on its way, and offers another', () => {
    const view = { ...pageView, signInHref: '/auth/login', returnTo: '/a', email: 'ada@example.com' };
    const sent = markupOf(noticePage({ ...view, kind: 'confirmation_sent', resendAction: '/auth/resend' }));
    expect(sent).toContain('role="status">We have sent a link to ada@example.com.');
    expect(sent).toContain('action="/auth/resend"');
    expect(sent).toContain('href="/auth/login?returnTo=%2Fa"');
    const again = markupOf(noticePage({ ...view, kind: 'mail_sent' }));
    expect(again).toContain('If ada@example.com is still waiting');
    expect(again).not.toContain('<form');
  });

  it.each([
    ['please_sign_in', 'Please sign in', false],
    ['signed_out', 'You are signed out', true],
  ] as const)('leads from news to sign-in, with a tick for what is certain only: %s', (kind, heading, hasTick) => {
    const markup = markupOf(noticePage({ ...pageView, kind, signInHref: '/auth/login' }));
    expect(markup.includes('<svg')).toBe(hasTick);
    expect(markup).toContain(`<h1>${heading}</h1>`);
    expect(markup).toContain('<a class="button" href="/auth/login">Sign in</a>');
  });

  it('keeps the status that it was given', () => {
    expect(signInPage({ ...signInView, status: 429 }).status).toBe(429);
    expect(noticePage({ ...pageView, status: 202, kind: 'signed_out', signInHref: '/' }).status).toBe(202);
  });
});

describe('texts', () => {
  it('can be replaced one by one', () => {
    const replaced = mergeText({ signInHeading: 'Anmelden', or: undefined });
    expect(replaced.signInHeading).toBe('Anmelden');
    expect(replaced.or).toBe('or');
    expect(markupOf(signInPage({ ...signInView, text: replaced }))).toContain('<h1>Anmelden</h1>');
  });

  it('are not looked up in what was filled in', () => {
    const provider = { name: 'x', label: '{provider}{constructor}', href: '/' };
    expect(markupOf(signInPage({ ...signInView, providers: [provider] }))).toContain(
      'Continue with {provider}{constructor}<',
    );
    const markup = markupOf(
      signInPage({ ...signInView, text: mergeText({ continueWith: '{constructor} {provider}' }) }),
    );
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
    expect(formErrorOf(new AuthError(code), text)).toEqual({ message: errorTable[code].message, field });
  });

  it('speaks the words of the page, unless the options have words for this failure', () => {
    const german = mergeText({ invalid_credentials: 'Stimmt nicht.' });
    expect(formErrorOf(new AuthError('invalid_credentials'), german).message).toBe('Stimmt nicht.');
    const special = new AuthError('weak_password', { message: 'At least 12 characters.' });
    expect(formErrorOf(special, german).message).toBe('At least 12 characters.');
  });

  it('passes on how long to wait', () => {
    expect(formErrorOf(new AuthError('rate_limited', { retryAfter: 5 }), text).retryAfter).toBe(5);
  });
});

describe('withReturnTo', () => {
  it('adds to a query that is there', () => {
    expect(withReturnTo('/in?a=1', '/b&c=d#e')).toBe('/in?a=1&returnTo=%2Fb%26c%3Dd%23e');
    expect(withReturnTo('/in#a?b#c', '/d')).toBe('/in?returnTo=%2Fd#a?b#c');
    expect(withReturnTo('/in', undefined)).toBe('/in');
  });
});

describe('duration', () => {
  it.each([
    [0, '1 second'],
    [1, '1 second'],
    [29.2, '30 seconds'],
    [90, '90 seconds'],
    [91, '2 minutes'],
    [899, '15 minutes'],
  ])('says %d as %s', (seconds, words) => expect(duration(seconds)).toBe(words));

  it('falls back to English where the language tag is none', () => {
    for (const lang of ['de_DE', '', '<b>', 'x']) expect(duration(2, lang)).toBe('2 seconds');
  });
});
