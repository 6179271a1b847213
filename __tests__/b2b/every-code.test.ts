// Each way through WorkOS meets each error code of its token endpoint, and those of tomorrow.
import { ownFaults, passing, refusals } from '../../lib/b2b/refusals.ts';
import { sharedText } from '../../lib/pages/texts.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { createPageBrowser } from '../support/page-browser.ts';
import type { PageBrowser } from '../support/page-browser.ts';
import { claimsIn, wordsIn, workosClaims } from '../support/sentences.ts';

const person = demoUsers.oneOrganization;
const codes = [...new Set(Object.values(workosClaims).flatMap((list) => wordsIn(list)))];

let provider: SharedProvider;
let app: B2bApp;
beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({ provider, options: { timeoutMs: 1_000 } });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

function fail(code: string | undefined): void {
  const body = { code, error: code, message: 'Refused.' };
  provider.workos.switches.authenticateError = code === undefined ? null : { status: 403, body };
}

const isElsewhere = ({ at }: PageBrowser): boolean => !at.url.startsWith(app.origin);
const choose = (browser: PageBrowser): Promise<unknown> => browser.post(browser.at.url, { user_id: person.id });
const through = (path: string) => async (browser: PageBrowser, code: string) => {
  await browser.open(path);
  fail(code);
  await choose(browser);
};

interface Way {
  /** Whether the code comes in the query, which anyone can write: it is no answer of WorkOS. */
  readonly isQuery?: true;
  readonly walk: (browser: PageBrowser, code: string) => Promise<unknown>;
}

const ways: Readonly<Record<string, Way>> = {
  'a sign-in': { walk: through('/login?returnTo=/dashboard') },
  'a sign-up': { walk: through('/signup?returnTo=/dashboard') },
  'a sign-in to an organization': { walk: through(`/login?organization_id=${person.organizations[0].id}`) },
  'an invitation': { walk: through('/login?invitation_token=inv_1') },
  'a callback’s query': {
    isQuery: true,
    async walk(browser, code) {
      await browser.open('/login?returnTo=/dashboard');
      const state = new URL(browser.at.url).searchParams.get('state') ?? '';
      await browser.open(`${app.origin}/callback?error=${code}&state=${encodeURIComponent(state)}`);
    },
  },
  'a renewal': {
    async walk(browser, code) {
      await browser.open('/login?returnTo=/dashboard');
      await choose(browser);
      provider.clock.advance(400_000);
      fail(code);
      await browser.open(`${app.origin}/dashboard`);
    },
  },
};

const wordsOn = ({ at }: PageBrowser): string =>
  at.answer.text
    .replaceAll(/<(head|style|svg)\b[\s\S]*?<\/\1>|<p class="reference"[\s\S]*?<\/p>/g, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

/** What a page says beside the message of the error: headings of several of them. */
const headings = new Set([
  'errorHeading',
  'expiredHeading',
  'forbiddenHeading',
  'usedLinkHeading',
  'linkExpiredHeading',
  'unavailableHeading',
  'waitHeading',
  'retrySoon',
  'staySignedIn',
]);

const claimed = (key: string): readonly string[] => wordsIn(workosClaims[key as keyof typeof workosClaims] ?? '');

it('the list of codes has each one that the package knows, once', () => {
  const known = [...refusals.keys(), ...ownFaults, ...passing.keys(), 'a_code_of_tomorrow'];
  expect(codes.toSorted()).toEqual([...new Set(known)].toSorted());
  expect(Object.keys(workosClaims).filter((key) => !(key in sharedText))).toEqual([]);
});

describe.each(Object.entries(ways))('%s', (_, { isQuery, walk }) => {
  const met = new Map<string, PageBrowser>();
  beforeAll(async () => {
    for (const code of codes) {
      const browser = createPageBrowser(app.origin);
      await walk(browser, code);
      fail(undefined);
      met.set(code, browser);
    }
  }, 60_000);

  const codesWhere = (isWrong: (code: string, browser: PageBrowser) => boolean): readonly string[] =>
    [...met].filter(([code, browser]) => isWrong(code, browser)).map(([code]) => code);
  /** A renewal that ends the session leads to WorkOS at once. */
  const isFailure = (browser: PageBrowser): boolean => !isElsewhere(browser) && browser.at.answer.status >= 400;

  it('is a page of this application or of WorkOS after every code, and never an error of the application', () => {
    const isWrong = ({ at }: PageBrowser): boolean => at.answer.status === 500 || at.answer.status === 404;
    expect([met.size, codesWhere((_code, browser) => isWrong(browser))]).toEqual([codes.length, []]);
  });

  it('says only what the code means, and names it where it is known', () => {
    const isTrue = (key: string, code: string): boolean => {
      if (isQuery !== true) return claimed(key).includes(code);
      return key === (code === 'access_denied' ? 'canceledHeading' : 'sign_in_failed');
    };
    const untrue = codesWhere((code, browser) => {
      if (!isFailure(browser)) return false;
      const said = claimsIn(wordsOn(browser)).filter((key) => !headings.has(key) && key !== 'access_denied');
      // A renewal only tells that it cannot be done now, and leaves it to a sign-in to say why.
      const isPassing = (key: string): boolean =>
        key === 'provider_unavailable' && claimed('provider_refused').includes(code);
      return said.length === 0 || !said.every((key) => isTrue(key, code) || isPassing(key));
    });
    expect(untrue).toEqual([]);
  });

  it('has a way on, and each of its links leads to a page', async () => {
    const seen = new Set<string>();
    const lost: string[] = [];
    for (const [code, browser] of met) {
      const links = browser.links();
      const page = [browser.at.answer.status, ...links.map(({ href }) => href)].join(' ');
      if (!isFailure(browser) || seen.has(page)) continue;
      seen.add(page);
      let isOn = false;
      for (const { href } of links) {
        const fork = browser.fork();
        const { status } = await fork.open(href);
        if (status !== 200) lost.push(`${code}: ${href} is ${status}`);
        isOn ||= status === 200 && wordsOn(fork) !== wordsOn(browser);
      }
      if (!isOn) lost.push(`${code} leads nowhere`);
    }
    expect(lost).toEqual([]);
  });
});
