import { b2bAuth, ConfigurationError } from '../../lib/b2b/index.ts';
import { backendAuth } from '../../lib/backend/index.ts';
import { faviconFor, faviconPath, faviconUrl } from '../../lib/pages/favicon.ts';
import { createBrands } from '../../lib/pages/options.ts';
import type { PagesOptions } from '../../lib/pages/options.ts';
import { sharedText } from '../../lib/pages/texts.ts';

const urlWith = (pages: PagesOptions): string | undefined =>
  faviconUrl('/app/auth/pages.css?v=x', createBrands(sharedText, pages).of({ headers: {} }));

it.each([
  [{ title: 'Northwind', logo: '/logo.svg' }, '/logo.svg'],
  [{ logo: '/logo.svg' }, '/logo.svg'],
  [{ title: 'northwind Traders' }, '/app/auth/pages.svg?letter=N'],
  [{ title: '“Éclair” & Co', accent: '#635BFF' }, '/app/auth/pages.svg?letter=%C3%89&accent=635bff'],
  [{ title: 'ßtraße' }, '/app/auth/pages.svg?letter=SS'],
  [{ title: '…' }, undefined],
  [{}, undefined],
] as const)('the icon of %j is the logo, else the initial, else none', (pages, url) => {
  expect(urlWith(pages)).toBe(url);
});

it('every initial of a name has a picture, in both color schemes', () => {
  for (const title of ['Northwind', 'ßtraße', 'نورثويند', '東京', '\u{1E900}', '8ball', 'ΐota']) {
    const [, query] = urlWith({ title })?.split('?') ?? [];
    const picture = faviconFor(new URLSearchParams(query));
    expect(picture).toMatch(
      /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"[^]*<text [^<]*>[^<]{1,6}<\/text><\/svg>\n$/,
    );
    expect(picture).toMatch(/--accent: #1d1f26;[^]*prefers-color-scheme: dark[^]*--accent: #/);
  }
});

it.each([
  ['/auth/pages.css', '/auth/pages.svg'],
  ['/assets/v1.2/auth', '/assets/v1.2/auth.svg'],
])('stands beside the stylesheet: %s', (stylesheet, icon) => {
  expect(faviconPath(stylesheet)).toBe(icon);
});

const connection = {
  b2bAuth: { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) },
  backendAuth: { url: 'https://project.supabase.co', anonKey: 'sb_publishable_1' },
};

describe.each([
  ['b2bAuth', (options: object) => b2bAuth({ ...connection.b2bAuth, ...options })],
  ['backendAuth', (options: object) => backendAuth({ ...connection.backendAuth, ...options })],
] as const)('the path of the icon in %s', (_name, start) => {
  it.each<[object, string]>([
    [{ loginPath: '/auth/pages.svg' }, '/auth/pages.svg'],
    [{ logoutPath: '/Auth/Pages.svg' }, '/auth/pages.svg'],
    [{ pathPrefix: '/v1/auth', loginPath: '/v1/auth/pages.svg' }, '/v1/auth/pages.svg'],
  ])('is no other route: %j', (options, path) => {
    expect(() => start(options)).toThrow(ConfigurationError);
    expect(() => start(options)).toThrow(new RegExp(`the icon of the built-in pages.* are both '${path}'`, 'i'));
  });

  it('moves with the other files', () => {
    expect(() => start({ pathPrefix: '/v1/auth', loginPath: '/auth/pages.svg' })).not.toThrow();
  });
});
