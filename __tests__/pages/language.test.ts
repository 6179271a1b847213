import fc from 'fast-check';
import { de } from 'express-auth-adapters/texts/de';
import { fr } from 'express-auth-adapters/texts/fr';
import { ar } from 'express-auth-adapters/texts/ar';
import { zh } from 'express-auth-adapters/texts/zh';
import { backendAuth } from '../../lib/backend/index.ts';
import { englishText } from '../../lib/backend/pages/text.ts';
import { b2bAuth, requireSession } from '../../lib/b2b/index.ts';
import type { RenderPage } from '../../lib/every-entry.ts';
import { acceptedLanguages, createLanguageLookup } from '../../lib/pages/language.ts';
import { createBrands } from '../../lib/pages/options.ts';
import type { PagesOptions } from '../../lib/pages/options.ts';
import { sharedText } from '../../lib/pages/texts.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import { startBothApp } from '../support/both-app.ts';
import type { BothApp } from '../support/both-app.ts';
import { sendText } from '../support/hosts.ts';
import { checkInputs } from '../support/inputs.ts';
import { problemsBy } from '../support/problems.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

const text = { de, fr, ar, zh, 'pt-BR': { errorHeading: 'Algo deu errado' } };

let app: BothApp;
beforeAll(async () => {
  app = await startBothApp({
    b2b: { pages: { text } },
    standIn: { phoneFactors: true },
    options: { pages: { text }, signInMethods: ['password', 'code', 'passkey'], sso: true, oauthConsent: true },
    after: (host) => {
      for (const adapter of ['b2b', 'backend'] as const) {
        const guard = requireSession({ adapter, check: () => false });
        host.get(`/closed/${adapter}`, guard, (_req, res) => sendText(res, 'open'));
      }
    },
  });
});
afterAll(() => app.close());

const languageOf = ({ text: page }: Answer): string => /<html lang="([^"]+)"/.exec(page)?.[1] ?? '';
const get = (path: string, language?: string, visitor: Visitor = app.visitor()): Promise<Answer> =>
  visitor.get(path, { headers: language === undefined ? {} : { 'accept-language': language } });
/** One page of each adapter. */
const pages = ['/auth/login', '/callback'] as const;

describe('Accept-Language', () => {
  it.each<[string | undefined, string]>([
    ['de', 'de'],
    ['fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5', 'fr'],
    ['de-AT', 'de'],
    ['DE-at', 'de'],
    ['de-CH-1996-u-co-phonebk', 'de'],
    ['fr;q=0.2, de;q=0.9', 'de'],
    ['fr;q=0, de;q=0.1', 'de'],
    // The first of the same weight, although a later one has the exact tag.
    ['de-AT, fr', 'de'],
    ['nl, it;q=0.9, ar;q=0.1', 'ar'],
    ['pt-PT', 'pt-BR'],
    ['pt', 'pt-BR'],
    ['zh-TW', 'zh'],
    // English is there, because it is the language where nothing else is accepted.
    ['en-US,en;q=0.9,de;q=0.8', 'en'],
    [undefined, 'en'],
    ['', 'en'],
    ['*', 'en'],
    ['*, de;q=0.5', 'de'],
    ['nl', 'en'],
    ['de_AT', 'en'],
    ['d, german, 1, -, --, de-, *-de', 'en'],
    ['de;q=2;q=0', 'de'],
    ['fr;q=x, de;q=0.1', 'de'],
    ['"de", ;q=1, ,,;', 'en'],
    ['constructor, __proto__, toString', 'en'],
  ])('%j picks %s', async (header, expected) => {
    for (const path of pages) {
      const answer = await get(path, header);
      expect([path, languageOf(answer)]).toEqual([path, expected]);
      expect(answer.headers.vary).toBe('Cookie, Accept, Accept-Language');
    }
  });

  it('is read up to a length that no browser needs, so that a long one costs no more', async () => {
    const padding = 'nl,'.repeat(60);
    expect(languageOf(await get('/auth/login', `${padding}de`))).toBe('de');
    expect(languageOf(await get('/auth/login', `${padding.repeat(2)}de`))).toBe('en');
    expect(languageOf(await get('/auth/login', `de${',a-a;q=1'.repeat(1_000)}`))).toBe('de');
  });

  it('never makes an error, and picks a language that there is', async () => {
    const brands = createBrands(sharedText, { text, lang: 'fr' });
    const part = fc.oneof(
      fc.constantFrom('de', 'fr', 'zh-', '*', ';q=', '0.5', ',', '-', '"', ' ', 'u-x'),
      fc.string(),
    );
    const header = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(''));
    await checkInputs(
      fc.property(header, (accepted) => {
        const { lang, dir } = brands.of({ headers: { 'accept-language': accepted } });
        expect(Object.keys(text)).toContain(lang);
        expect(dir).toBe(lang === 'ar' ? 'rtl' : 'ltr');
      }),
      { least: 500, variable: 'ACCEPT_LANGUAGE_INPUTS' },
    );
  });

  it.each([
    '/auth/login',
    '/auth/signup',
    '/auth/forgot',
    '/auth/password',
    '/auth/code',
    '/auth/sso',
    '/auth/confirm?token_hash=x&type=recovery',
    '/auth/logout',
    '/auth/enroll',
    '/auth/passkeys',
    '/oauth/apps',
    '/oauth/consent',
    '/auth/callback?error=access_denied',
    '/closed/backend',
    '/closed/b2b',
    '/logout',
    '/callback?error=access_denied',
  ])('picks the texts, the language and the direction of %s', async (path) => {
    // A callback answers only visitors without a session with an error.
    const visitor = path.includes('callback') ? app.visitor() : await app.signedIn();
    if (!path.includes('callback')) await app.signInB2b(visitor);
    const arabic = await get(path, 'ar-EG', visitor);
    expect(arabic.text).toContain('<html lang="ar" dir="rtl">');
    expect(arabic.text).not.toContain('lang="en"');
    const german = await get(path, 'de', visitor);
    expect(german.text).toContain('<html lang="de" dir="ltr">');
    expect(german.text).not.toContain('lang="en"');
    expect(german.headers.vary).toContain('Accept-Language');
  });

  it('picks the texts of a form that failed, and the time to wait', async () => {
    const wrong = { email: ada.email, password: 'wrong' };
    const failed = await postForm(app.visitor(), '/auth/login', wrong, { 'accept-language': 'de' });
    expect([failed.status, languageOf(failed)]).toEqual([401, 'de']);
    expect(failed.text).toContain(de.invalid_credentials);
    const sent = await postForm(app.visitor(), '/auth/forgot', { email: ada.email }, { 'accept-language': 'fr' });
    expect(sent.text).toContain(fr.forgotSentHeading);
    expect(sent.text).toMatch(/60\s+secondes/);
  });

  it('marks texts as English that the language lacks', async () => {
    const { text: page } = await get('/callback', 'pt-BR');
    expect(page).toContain('<html lang="pt-BR" dir="ltr">');
    expect(page).toContain('<span lang="en" dir="ltr">Back to home</span>');
    expect((await get('/callback', 'en')).text).toContain('<a href="/">Back to home</a>');
  });

  it('picks the message of an answer in JSON that has a text of the pages', async () => {
    const [eve, visitor] = [{ email: 'eve@example.com', password: ada.password }, app.visitor()];
    app.supabase.addUser(eve);
    const phone = app.supabase.addFactor(eve.email, { type: 'phone', phone: '15550123' });
    await visitor.postJson('/auth/login', eve);
    for (const [path, body, message] of [
      ['/auth/forgot', ada, de.forgotSentText.replace('{email}', ada.email)],
      ['/auth/code', ada, de.emailCodeSentText.replace('{email}', ada.email)],
      ['/auth/verify', { send: phone.id }, de.codeSentText.replace('{digits}', '123')],
    ] as const) {
      const headers = { accept: 'application/json', 'content-type': 'application/json', 'accept-language': 'de' };
      const answer = await visitor.post(path, { headers, body: JSON.stringify(body) });
      expect([path, answer.json.message]).toEqual([path, message]);
      expect([path, answer.headers.vary]).toEqual([path, 'Cookie, Accept, Accept-Language']);
    }
  });

  it.each([
    ['a redirect', '/account', 'text/html'],
    ['an error in JSON', '/auth/session', 'application/json'],
    ['the stylesheet', '/auth/pages.css', '*/*'],
  ])('has no part in %s', async (_what, path, accept) => {
    const answers = await Promise.all(
      ['de', 'fr'].map((language) => app.visitor().get(path, { headers: { accept, 'accept-language': language } })),
    );
    const [one, other] = answers.map(({ status, text: body, headers }) => ({ status, body, vary: headers.vary }));
    expect(one).toEqual(other);
    expect(one?.vary ?? '').not.toContain('Language');
  });
});

it('the language of a page is not negotiated where there is one', async () => {
  for (const given of [{ text: de, lang: 'de' }, { text: { de }, lang: 'de' }, {}] satisfies PagesOptions[]) {
    const one = await startBackendApp({ options: { pages: given } });
    const answer = await one.visitor().get('/auth/login', { headers: { 'accept-language': 'fr' } });
    await one.close();
    expect([languageOf(answer), answer.headers.vary]).toEqual([given.lang ?? 'en', 'Cookie, Accept']);
  }
});

it('pages.render gets the title, the message and the language that the request accepts', async () => {
  const render: RenderPage = (_req, res, { title, lang, error }) => {
    res.end(JSON.stringify({ title, lang, message: error?.message }));
    return true;
  };
  const own = await startBackendApp({ options: { pages: { text, render } } });
  const wrong = { email: ada.email, password: 'wrong' };
  const answer = await postForm(own.visitor(), '/auth/login', wrong, { 'accept-language': 'de-DE' });
  await own.close();
  expect(answer.json).toEqual({ title: de.signInHeading, lang: 'de', message: de.invalid_credentials });
  expect(answer.headers.vary).toContain('Accept-Language');
});

describe('the language where none is accepted', () => {
  const brandOf = (given: PagesOptions, header = 'nl') =>
    createBrands(sharedText, given).of({ headers: { 'accept-language': header } });

  it.each<[string, PagesOptions, string]>([
    ['is pages.lang', { lang: 'fr', text: { de, fr } }, 'fr'],
    ['is the language of pages.lang', { lang: 'de-AT', text: { de, fr } }, 'de'],
    ['is the only one of the language of pages.lang', { text: { de, 'en-GB': {} } }, 'en-GB'],
    ['is English without pages.lang', { text: { de, fr } }, 'en'],
    ['is pages.lang without texts', { lang: 'it', text: { de, fr } }, 'it'],
  ])('%s', (_what, given, expected) => expect(brandOf(given).lang).toBe(expected));

  it('is also that of a request for a language whose texts are undefined', () => {
    expect(brandOf({ text: { de, fr: undefined } }, 'fr').lang).toBe('en');
  });

  it('has its texts, or English ones that are marked so', () => {
    expect(brandOf({ lang: 'fr', text: { de, fr } }).text.backHome.plain).toBe(fr.backHome);
    const { text: english } = brandOf({ lang: 'it', text: { de, fr } });
    expect([english.backHome.plain, english.backHome.lang]).toEqual([sharedText.backHome, 'en']);
  });

  it('alone has the direction of pages.dir', () => {
    const given = { lang: 'ar', dir: 'ltr', text: { ar, de, he: {} } } as const;
    const directions = ['nl', 'ar', 'de', 'he'].map((header) => brandOf(given, header).dir);
    expect(directions).toEqual(['ltr', 'ltr', 'ltr', 'rtl']);
  });
});

describe('a language is looked up', () => {
  it.each<[string, readonly string[], string | undefined]>([
    ['zh-TW', ['zh', 'zh-Hant'], 'zh-Hant'],
    ['zh-HK', ['zh-TW', 'zh'], 'zh-TW'],
    ['zh-CN', ['zh-Hant', 'zh'], 'zh'],
    ['zh-Hans-SG', ['zh-Hant', 'zh'], 'zh'],
    ['zh-CN', ['zh-Hant'], undefined],
    ['sr-Latn-RS', ['sr', 'sr-Latn'], 'sr-Latn'],
    ['sr', ['sr-Latn'], undefined],
    ['de-AT', ['de-CH', 'de'], 'de'],
    ['de-AT', ['de-CH'], 'de-CH'],
    ['en', ['de', 'en-GB', 'en-AU'], 'en-GB'],
    ['pt-PT', ['pt-BR', 'pt-PT'], 'pt-PT'],
    ['zh-Hans', ['zh', 'zh-Hans'], 'zh-Hans'],
    ['iw', ['he'], 'he'],
    ['pt-br', ['PT-BR'], 'PT-BR'],
  ])('as %s among %j: %s', (tag, languages, expected) => {
    const lookUp = createLanguageLookup(languages.map((lang) => ({ lang })));
    expect(lookUp([tag])?.lang).toBe(expected);
  });

  it('in the order of the header', () => {
    const accepted = acceptedLanguages({ headers: { 'accept-language': 'it;q=0.1, nl, de;q=0.5' } });
    expect(accepted).toEqual(['nl', 'de', 'it']);
  });
});

describe('pages.text by language', () => {
  it.each<[string, unknown, readonly string[]]>([
    [
      'a misspelled text of the second language',
      { de, fr: { ...fr, signInButon: 'x' } },
      ['pages.text.fr.signInButon is not an option; did you mean signInButton?'],
    ],
    ['an unknown text', { de: { color: 'red' } }, ['pages.text.de.color is not an option; check its spelling']],
    ['a text that is none', { de, fr: { signInButton: 1 } }, ['pages.text.fr.signInButton must be a string']],
    [
      'a language that is none',
      { de, french: fr },
      ['pages.text.french must be a BCP 47 language tag such as de or pt-BR'],
    ],
    [
      'another spelling of a tag',
      { pt_BR: {} },
      ['pages.text.pt_BR must be a BCP 47 language tag such as de or pt-BR'],
    ],
    ['a language without texts', { de, fr: null }, ['pages.text.fr must be an object of texts']],
    [
      'a text beside languages',
      { de, signInButton: 'Go' },
      [
        'pages.text.signInButton must be a BCP 47 language tag such as de or pt-BR',
        'pages.text.signInButton must be an object of texts',
      ],
    ],
    ['no object', 'de', ['pages.text must be an object of texts']],
    ['no languages', { de: undefined }, ['pages.text.de is not an option; check its spelling']],
    [
      'a misspelled text of one language',
      { signInButon: 'x' },
      ['pages.text.signInButon is not an option; did you mean signInButton?'],
    ],
  ])('is one problem for both adapters: %s', (_what, given, expected) => {
    const options = { pages: { text: given } } as object;
    const b2b = { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'p'.repeat(32), ...options };
    const backend = { url: 'https://project.supabase.co', anonKey: 'sb_publishable_abc_def', ...options };
    expect(problemsBy(() => b2bAuth(b2b))).toEqual(expected);
    expect(problemsBy(() => backendAuth(backend))).toEqual(expected);
  });

  it('is told from texts by its values: or is a text, and the tag of a language', async () => {
    const odia = await startBackendApp({ options: { pages: { text: { or: { signInHeading: 'ସାଇନ୍ ଇନ୍' } } } } });
    const page = await odia.visitor().get('/auth/login', { headers: { 'accept-language': 'or' } });
    await odia.close();
    expect([languageOf(page), page.text.includes('<h1>ସାଇନ୍ ଇନ୍</h1>')]).toEqual(['or', true]);
    const one = createBrands(englishText, { text: { or: 'oder' } }).of({ headers: {} });
    expect([one.lang, one.text.or.plain]).toEqual(['en', 'oder']);
  });
});
