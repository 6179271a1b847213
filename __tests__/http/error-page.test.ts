import { render } from '../../lib/core/html.ts';
import { AuthError } from '../../lib/errors.ts';
import type { AuthErrorCode } from '../../lib/errors.ts';
import { errorPage } from '../../lib/http/error-page.ts';

function pageFor(code: AuthErrorCode, brand = {}, parts: { canReload?: boolean; home?: string } = {}) {
  const error = new AuthError(code);
  const links = { signInUrl: '/login?returnTo=%2Fa', canReload: false, home: '/', ...parts };
  const reply = errorPage({ error, ...links, stylesheet: '/auth/pages.css', brand });
  if (reply.body?.kind !== 'page') throw new Error('no page');
  return { status: reply.status, markup: render(reply.body.markup), policy: reply.body.policy };
}

it.each<[AuthErrorCode, number, string, string]>([
  ['access_denied', 403, 'Sign-in was cancelled', 'Sign in'],
  ['provider_unavailable', 503, 'Sign-in is not available right now', 'Try again'],
  ['provider_refused', 502, 'Sign-in is not available right now', 'Try again'],
  ['unauthenticated', 401, 'Please sign in', 'Sign in'],
  ['forbidden', 403, 'This is not open to you', 'Sign in'],
  ['rate_limited', 429, 'Too many attempts', 'Sign in'],
  ['invalid_request', 400, 'That did not work', 'Sign in'],
])('for %s (%i) says "%s", and shows a way on', (code, status, heading, way) => {
  const page = pageFor(code);
  expect(page.status).toBe(status);
  expect(page.markup).toContain(`<h1>${heading}</h1>`);
  expect(page.markup).toContain(`<a class="button" href="/login?returnTo=%2Fa">${way}</a>`);
  expect(page.markup).toContain('<a href="/">Back to the start page</a>');
  expect(page.markup).toContain(`Code: ${code}`);
  expect(page.markup).toContain(`<p role="alert">${new AuthError(code).message}</p>`);
});

it('loads the page again where that may help, and leads to the start page that there is', () => {
  const { markup } = pageFor('provider_unavailable', {}, { canReload: true, home: '/base/' });
  expect(markup).toContain('<a class="button" href="">Try again</a> <a href="/base/">Back to the start page</a>');
});

it('has nothing of a brand where there is none, and an English tab', () => {
  const { markup, policy } = pageFor('forbidden');
  expect(markup).toContain('<html lang="en">');
  expect(markup).toContain('<title>This is not open to you</title>');
  expect(markup).not.toMatch(/<header|<img|emblem/);
  expect(policy).toBe(
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
  );
});

it('carries the application’s name, and its logo from where it lies', () => {
  const { markup, policy } = pageFor('forbidden', {
    title: 'A & B',
    logo: 'https://cdn.example/logo.svg?x',
    lang: 'de',
  });
  expect(markup).toContain('<html lang="de">');
  expect(markup).toContain('<title>This is not open to you · A &amp; B</title>');
  expect(markup).toContain(
    '<header class="brand"><img src="https://cdn.example/logo.svg?x" alt=""><span>A &amp; B</span></header>',
  );
  expect(policy).toContain("; img-src 'self' https://cdn.example; ");
});

it.each([
  [{ title: 'Only a name' }, '<header class="brand"><span>Only a name</span></header>'],
  [{ logo: '/logo.svg' }, '<header class="brand"><img src="/logo.svg" alt=""></header>'],
])('shows what there is of a brand: %j', (brand, header) => {
  const { markup, policy } = pageFor('forbidden', brand);
  expect(markup).toContain(header);
  expect(policy).toContain("; img-src 'self'; ");
});

it('takes images of its own site alone where the logo is no address', () => {
  expect(pageFor('forbidden', { logo: 'logo.svg/' }).policy).toContain("; img-src 'self'; ");
});
