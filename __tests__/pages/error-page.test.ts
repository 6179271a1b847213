import { render } from '../../lib/tools/html.ts';
import { errorTable } from '../../lib/error-table.ts';
import { AuthError } from '../../lib/errors.ts';
import type { AuthErrorCode, AuthErrorOptions } from '../../lib/errors.ts';
import { errorPage } from '../../lib/pages/error-page.ts';
import type { ErrorPageParts } from '../../lib/pages/error-page.ts';
import { createBrands } from '../../lib/pages/options.ts';
import type { PagesOptions } from '../../lib/pages/options.ts';
import { sharedText } from '../../lib/pages/texts.ts';

function pageFor(
  code: AuthErrorCode,
  pages: PagesOptions = {},
  { options, ...parts }: Partial<ErrorPageParts> & { readonly options?: AuthErrorOptions } = {},
) {
  const reply = errorPage({
    error: new AuthError(code, options),
    signInUrl: '/login?returnTo=%2Fa',
    isSignedIn: false,
    canReload: false,
    retryUrl: undefined,
    hasSession: true,
    home: '/',
    now: Date.UTC(2026, 0, 31, 9, 5, 59),
    isInTerminal: false,
    stylesheet: '/auth/pages.css',
    brand: createBrands(sharedText, pages).of({ headers: {} }),
    ...parts,
  });
  if (reply.body?.kind !== 'page') throw new Error('no page');
  const { markup, policy, view } = reply.body;
  return { status: reply.status, markup: render(markup), policy, view };
}

it.each<[AuthErrorCode, number, string, string]>([
  ['access_denied', 403, 'Sign-in was canceled', 'Sign in'],
  ['invalid_state', 400, 'Your sign-in expired', 'Sign in'],
  ['code_rejected', 400, 'Your sign-in expired', 'Sign in'],
  ['provider_unavailable', 503, 'Sign-in is unavailable', 'Try again'],
  ['provider_refused', 502, 'Sign-in is unavailable', 'Try again'],
  ['unauthenticated', 401, 'Sign in to continue', 'Sign in'],
  ['forbidden', 403, 'You don’t have access', 'Sign in'],
  ['rate_limited', 429, 'Please wait', 'Sign in'],
  ['invalid_request', 400, 'Something went wrong', 'Sign in'],
  ['sign_in_refused', 403, 'Something went wrong', 'Sign in'],
  ['sign_in_method_refused', 403, 'Sign in to continue', 'Sign in'],
  ['sign_in_not_fresh', 403, 'Sign in to continue', 'Sign in'],
  ['invitation_invalid', 403, 'This link doesn’t work anymore', 'Sign in'],
  ['invitation_for_another_address', 403, 'You don’t have access', 'Sign in'],
  ['not_a_member', 403, 'You don’t have access', 'Sign in'],
])('for %s (%i) shows "%s" and a link to continue', (code, status, heading, way) => {
  const page = pageFor(code);
  expect(page.status).toBe(status);
  expect(page.markup).toContain(`<h1>${heading}</h1>`);
  expect(page.markup).toMatch(/<p class="lead" role="alert">[A-Z][^<]+\.<\/p>/);
  expect(page.markup).toContain(`<a class="button" href="/login?returnTo=%2Fa">${way}</a>`);
  expect(page.markup).toContain('<a href="/">Back to home</a>');
  // For support: what to look for in the log.
  expect(page.markup).toContain(
    `<p class="reference">For support: <span dir="ltr">${code} <time datetime="2026-01-31T09:05:59.000Z">2026-01-31 09:05 UTC</time></span></p>`,
  );
});

it.each(['action_failed', 'authorization_expired', 'redirect_refused'] as const)(
  'for %s, which no sign-in mends, leads to the start page alone, without a word about a sign-in',
  (code) => {
    const { status, markup } = pageFor(code);
    expect(status).toBe(400);
    expect(markup).toContain('<p><a class="button" href="/">Back to home</a></p>');
    expect(markup.replace(/<p class="reference".*/, '')).not.toMatch(/sign/i);
  },
);

it('repeats nothing: the heading and the message use different words', () => {
  for (const code of [
    'access_denied',
    'invalid_state',
    'unauthenticated',
    'provider_refused',
    'rate_limited',
  ] as const) {
    const { markup } = pageFor(code);
    const [, heading = ''] = /<h1>([^<]+)</.exec(markup) ?? [];
    const [, message = ''] = /role="alert">([^<]+)</.exec(markup) ?? [];
    expect(message).not.toContain(heading);
  }
});

it('tells a visitor without a session nothing of one', () => {
  expect(pageFor('provider_unavailable', {}, { hasSession: false }).markup).not.toContain('sign you out');
});

it('says how long an outage may last, and that it ends no session', () => {
  expect(pageFor('provider_unavailable', {}, { options: { retryAfter: 5 } }).markup).toContain(
    'We can’t reach the sign-in service right now. This won’t sign you out. Try again in 5 seconds.</p>',
  );
  expect(pageFor('provider_unavailable').markup).toContain(
    'This won’t sign you out. Please try again in a moment.</p>',
  );
  expect(
    pageFor('rate_limited', { lang: 'de', text: { retryIn: 'In {time} wieder.' } }, { options: { retryAfter: 700 } })
      .markup,
  ).toContain('In 12 Minuten wieder.');
});

it('reloads the page if that may help, and links to the start page if there is one', () => {
  const { markup } = pageFor('provider_unavailable', {}, { canReload: true, home: '/base/' });
  expect(markup).toContain(
    '<p><a class="button" href="">Try again</a></p>\n<p class="actions"><a href="/base/">Back to home</a></p>',
  );
});

it('links to help if only the operators can fix it', () => {
  const { markup } = pageFor('provider_refused', { links: { help: 'https://help.example/' } });
  expect(markup).toContain('<a class="button" href="https://help.example/">Contact support</a>');
});

it.each<AuthErrorCode>(['provider_unavailable', 'sign_in_refused', 'unauthenticated'])(
  'does not send visitors to help for %s, where they can go on by themselves',
  (code) => {
    const { markup } = pageFor(code, { links: { help: 'https://help.example/' } });
    expect(markup).not.toContain('Contact support');
    expect(markup).toContain('<a class="button" href="/login?returnTo=%2Fa">');
  },
);

it('names as data where it leads', () => {
  const otherUrl = '/login?returnTo=%2Fa&prompt=login';
  const help = 'https://help.example/';
  expect(pageFor('forbidden', { links: { help } }, { account: { name: undefined, otherUrl } }).view.links).toEqual({
    signIn: '/login?returnTo=%2Fa',
    otherAccount: otherUrl,
    home: '/',
    help,
  });
  expect(pageFor('unauthenticated').view.links).toEqual({ signIn: '/login?returnTo=%2Fa', home: '/' });
});

it('shows who is signed in, and offers another account', () => {
  const account = { name: 'ada@example.com', otherUrl: '/login?returnTo=%2Fa&prompt=login' };
  const { markup } = pageFor('forbidden', {}, { account });
  expect(markup).toContain('Signed in as <strong dir="auto">ada@example.com</strong>');
  expect(markup).toContain('<a class="button" href="/login?returnTo=%2Fa&amp;prompt=login">Use another account</a>');
  expect(pageFor('forbidden', {}, { account: { ...account, name: undefined } }).markup).not.toContain('Signed in as');
});

it('shows no brand if there is none, and has an English title', () => {
  const { markup, policy } = pageFor('forbidden');
  expect(markup).toContain('<html lang="en" dir="ltr">');
  expect(markup).toContain('<title>You don’t have access</title>');
  expect(markup).not.toMatch(/class="brand"|class="app"|<img|<footer/);
  expect(policy).toBe(
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  );
});

it('shows the application’s name, its logos by their URLs, and its links', () => {
  const { markup, policy } = pageFor('forbidden', {
    title: 'A & B',
    logo: 'https://cdn.example/logo.svg?x',
    logoDark: 'https://dark.example/logo.svg',
    links: { terms: '/terms', privacy: '/privacy', help: 'https://help.example/' },
  });
  expect(markup).toContain('<title>You don’t have access · A &amp; B</title>');
  expect(markup).toContain(
    '<div class="brand"><picture><source srcset="https://dark.example/logo.svg" media="(prefers-color-scheme: dark)"><img src="https://cdn.example/logo.svg?x" alt="A &amp; B"></picture></div>',
  );
  expect(policy).toContain("; img-src 'self' https://cdn.example https://dark.example; ");
  expect(markup).toContain(
    '<a href="/terms">Terms</a>\n<a href="/privacy">Privacy</a>\n<a href="https://help.example/">Help</a>',
  );
});

it.each([
  [{ title: 'only a name' }, '<strong dir="auto">only a name</strong>'],
  [{ logo: '/logo.svg' }, '<div class="brand"><img src="/logo.svg" alt=""></div>'],
])('shows a partial brand: %j', (brand, mark) => {
  const { markup, policy } = pageFor('forbidden', brand);
  expect(markup).toContain(mark);
  expect(policy).toContain("; img-src 'self'; ");
});

it('uses the language of the page, and marks English text', () => {
  const { markup } = pageFor('forbidden', {
    title: 'نورثويند',
    lang: 'ar',
    text: { forbiddenHeading: 'لا تملك حق الوصول' },
  });
  expect(markup).toContain('<html lang="ar" dir="rtl">');
  expect(markup).toContain('<h1>لا تملك حق الوصول</h1>');
  expect(markup).toContain('<span lang="en" dir="ltr">Your account doesn’t have permission to view this page.');
  expect(markup).toContain('<a href="/"><span lang="en" dir="ltr">Back to home</span></a>');
  expect(markup).not.toContain('<title lang');
  expect(pageFor('unauthenticated', { lang: 'ar' }).markup).toContain('<title lang="en">');
});

it('shows the message of a specific failure unchanged', () => {
  const { markup } = pageFor('forbidden', { lang: 'de' }, { options: { message: 'Dieser Mandant ist gesperrt.' } });
  expect(markup).toContain('role="alert">Dieser Mandant ist gesperrt.</p>');
});

const emblemIn = (markup: string): string | undefined =>
  /<p class="(emblem[^"]*)" aria-hidden="true">(<svg.*?<\/svg>)/.exec(markup)?.[0];

it('always shows the application’s name, and an emblem for the outcome in place of its first letter', () => {
  const emblems = (['access_denied', 'invalid_state', 'unauthenticated', 'provider_refused'] as const).map((code) => {
    const { markup } = pageFor(code, { title: 'Northwind' });
    expect(markup).not.toContain('class="mark"');
    expect(markup).toContain('</h1>\n<p class="app"><strong dir="auto">Northwind</strong></p>');
    return emblemIn(markup);
  });
  expect(emblems.every((emblem) => emblem !== undefined)).toBe(true);
  expect(new Set(emblems).size).toBe(4);
});

it('marks only what failed as bad', () => {
  for (const code of Object.keys(errorTable) as AuthErrorCode[]) {
    const emblem = emblemIn(pageFor(code).markup) ?? '';
    const isFailure = errorTable[code].status >= 500 || emblem.includes('M12 4 2.8');
    expect([code, emblem.startsWith('<p class="emblem bad"')]).toEqual([code, isFailure]);
    expect(emblem).not.toContain('good');
  }
});

it('says that another step leads into the application', () => {
  const { markup } = pageFor('sign_in_incomplete', { title: 'Northwind' });
  expect(markup).toContain('<p class="app">to continue to <strong dir="auto">Northwind</strong></p>');
});

it.each([
  ['rate_limited', 'Viel los. This won’t sign you out. Try again in 5 seconds.'],
  ['provider_refused', 'Unser Fehler. This won’t sign you out.'],
  ['server_error', 'Nicht erreichbar. This won’t sign you out. Try again in 5 seconds.'],
])('an outage with the reason %s says what is known, in the language of the page', (reason, words) => {
  const text = {
    providerBusy: 'Viel los.',
    provider_refused: 'Unser Fehler.',
    provider_unavailable: 'Nicht erreichbar.',
  };
  const options = { reason, retryAfter: 5, message: 'The words for JSON.' };
  const { message } = reason === 'server_error' ? errorTable.provider_unavailable : options;
  const { markup } = pageFor('provider_unavailable', { text }, { options: { ...options, message } });
  expect(markup).toContain(`role="alert">${words}</p>`);
});
