// Each route of the adapter meets each error code of GoTrue, those of tomorrow included.
import { englishText } from '../../lib/backend/pages/text.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { canMeet, gotrueCodes } from '../support/gotrue-codes.ts';
import type { GoTrueCode } from '../support/gotrue-codes.ts';
import { everyRoute, startEveryRoute } from '../support/gotrue-routes.ts';
import type { Route } from '../support/gotrue-routes.ts';
import { claims, claimsIn, holds, labels, names, own, untrueOf, wordsIn } from '../support/sentences.ts';
import type { Seen } from '../support/sentences.ts';
import { createPageBrowser } from '../support/page-browser.ts';
import type { PageBrowser } from '../support/page-browser.ts';

const codes: readonly GoTrueCode[] = [
  ...gotrueCodes,
  { status: 422, code: 'a_code_of_tomorrow' },
  { status: 404, code: 'a_code_of_tomorrow' },
];

let app: BackendApp;
const { routes, signIn, fromGithub } = everyRoute(() => app);

beforeAll(async () => {
  app = await startEveryRoute();
});
afterAll(() => app.close());

/** All words, also those of links and buttons. What is hidden, the page's script shows when it is known. */
const whole = ({ at }: PageBrowser): string =>
  at.answer.text
    .replaceAll(/<(?:head|script|style|svg)\b[\s\S]*?<\/(?:head|script|style|svg)>/g, ' ')
    .replaceAll(/<p class="hint"[^>]* hidden>[\s\S]*?<\/p>|<p class="(?:reference|secret)"[\s\S]*?<\/p>/g, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&#39;', "'");

const wordsOf = ({ at }: PageBrowser): string =>
  at.answer.text
    .replaceAll(/<(?:head|script|style)\b[\s\S]*?<\/(?:head|script|style)>/g, ' ')
    .replaceAll(/<a\b[\s\S]*?<\/a>|<button\b[\s\S]*?<\/button>|<p class="reference"[\s\S]*?<\/p>/g, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

const known = new Map<string, readonly string[]>();
/** The claims of the page. Most codes lead to one of a few pages. */
function claimsOn(browser: PageBrowser): readonly string[] {
  const words = whole(browser);
  const claims = known.get(words) ?? claimsIn(words);
  known.set(words, claims);
  return claims;
}

/** Pages with the same words and the same links are one, whatever ids they hold. */
const pageOf = (browser: PageBrowser): string =>
  [whole(browser), ...browser.links().map(({ href }) => href)].join('\n').replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, '');

const clicked = new Map<string, Promise<PageBrowser>>();
/** Where a link leads a browser with the same cookies. */
function click(browser: PageBrowser, href: string): Promise<PageBrowser> {
  const url = new URL(href, browser.at.url).href;
  const key = [url, ...browser.jar.cookies.keys()].join(' ').replaceAll(/[\da-f]{8}-?[\da-f-]{24,}/g, '');
  const known = clicked.get(key);
  if (known !== undefined) return known;
  const fork = browser.fork();
  const led = fork.open(url).then(() => fork);
  clicked.set(key, led);
  return led;
}

const isElsewhere = ({ at }: PageBrowser): boolean => !at.url.startsWith(app.origin);

/** The links of a page that lead to no page, and the page where nothing leads on. A page of the application is a way on, too. */
async function deadEnds(browser: PageBrowser): Promise<readonly string[]> {
  const here = pathOf(browser);
  if (browser.at.answer.status === 200 && !browser.at.answer.text.includes('<h1>')) return [];
  const led = await Promise.all(browser.links().map(({ href }) => click(browser, href)));
  const isOn = (page: PageBrowser): boolean => isElsewhere(page) || page.at.answer.status === 200;
  const lost = led.filter((page) => !isOn(page)).map(({ at }) => `${here} leads to ${at.answer.status} ${at.url}`);
  if (led.some((page) => isOn(page) && (isElsewhere(page) || whole(page) !== whole(browser)))) return lost;
  for (const { action, fields } of browser.forms()) {
    const fork = browser.fork();
    await fork.post(action, { ...fields, code: '123456' });
    if (![404, 405, 500].includes(fork.at.answer.status) && whole(fork) !== whole(browser)) return lost;
  }
  return [...lost, `${here} leads nowhere: ${whole(browser)}`];
}

interface Met {
  readonly refusal: GoTrueCode;
  readonly browser: PageBrowser;
}

/** The page after each code. */
async function meet(route: Route): Promise<readonly Met[]> {
  const all: Met[] = [];
  for (const refusal of codes) {
    // Each with a session of its own: some codes end it.
    const browser = createPageBrowser(app.origin);
    await route.prepare(browser);
    if (route.endpoint !== undefined) app.supabase.fail(route.endpoint, refusal);
    await route.send(browser, refusal.code);
    app.supabase.heal();
    all.push({ refusal, browser });
  }
  return all;
}

const pathOf = ({ at }: PageBrowser): string => new URL(at.url).pathname.slice(new URL(app.origin).pathname.length - 1);

/** Codes that say no more than that something did not work there. */
const unknownHere = ['unknown', 'a_code_of_tomorrow', 'mfa_factor_name_conflict', 'mfa_verified_factor_exists'];
/** Only their message, which no page shows, says what is wrong. */
const saysNoMore = ['validation_failed', 'bad_json'];
const overCodes = ['session_not_found', 'session_expired', 'no_authorization', 'user_not_found'];
/** Where Supabase may have done what it was asked for, although its answer was lost. */
const outages = ['request_timeout', 'conflict', 'sms_send_failed', 'hook_timeout', 'hook_timeout_after_retry'];

describe.each(Object.entries(routes))('the codes of GoTrue: %s', (_, route) => {
  const { signsIn, memberOf } = route;
  let met: readonly Met[] = [];
  beforeAll(async () => {
    met = await meet(route);
  }, 300_000);

  /** The codes after which a page is wrong. */
  const codesWhere = (isWrong: (one: Met) => boolean): readonly string[] =>
    met.filter(isWrong).map(({ refusal }) => refusal.code);

  const seenOf = ({ refusal: { code } }: Met): Seen => {
    const { endpoint, person = memberOf === undefined ? 'no one' : 'member' } = route;
    return { code, endpoint, signsIn, person };
  };

  const isMet = ({ refusal: { code } }: Met): boolean => canMeet(route.endpoint, code);

  it('says only what its facts allow', () => {
    const untrue = met.filter(isMet).flatMap((one) => {
      return untrueOf(claimsOn(one.browser), seenOf(one)).map((key) => `${key} after ${one.refusal.code}`);
    });
    expect(untrue).toEqual([]);
  });

  it('names the cause where it is known', () => {
    const isUnnamed = (one: Met): boolean => {
      const { code } = one.refusal;
      const isKnown = Object.keys(claims).some((key) => names(key, code) && holds(key, seenOf(one)));
      const isFailure = one.browser.at.answer.status >= 400;
      const isSaid = route.endpoint !== undefined && ![...saysNoMore, ...(route.saysNoMore ?? [])].includes(code);
      return isMet(one) && isSaid && isFailure && isKnown && !claimsOn(one.browser).some((key) => names(key, code));
    };
    expect(codesWhere(isUnnamed)).toEqual([]);
  });

  it('has a way on from every page, and each of its links leads somewhere', async () => {
    const pages = new Map(met.map(({ browser }) => [pageOf(browser), browser]));
    const wrong: string[] = [];
    for (const browser of pages.values()) wrong.push(...(await deadEnds(browser)));
    expect(wrong).toEqual([]);
  }, 60_000);

  it('says something after every failure', () => {
    expect(codesWhere(({ browser }) => browser.at.answer.status >= 400 && claimsOn(browser).length === 0)).toEqual([]);
  });

  it('never calls a refusal of the project a cancellation', () => {
    const isCancellation = ({ browser }: Met): boolean =>
      wordsOf(browser).includes(englishText.canceledHeading) || browser.at.answer.text.includes('access_denied');
    expect([met.length, codesWhere(isCancellation)]).toEqual([codes.length, []]);
  });

  it('answers every code with a page, and with no error of the application', () => {
    const isWrong = ({ browser: { at } }: Met): boolean =>
      at.answer.status === 500 || !/<h1>|^account$|^home$/.test(at.answer.text);
    expect(codesWhere(isWrong)).toEqual([]);
  });

  if (!signsIn) {
    it('says nothing of a sign-in after codes that say no more, because no one signs in there', () => {
      const speaks = ({ refusal, browser: { at } }: Met): boolean => {
        const alert = /role="alert">([\s\S]*?)<\/p>/.exec(at.answer.text)?.[1] ?? '';
        return unknownHere.includes(refusal.code) && /sign(?:ed)?[- ](?:in|out)|sign_in/i.test(alert);
      };
      expect(codesWhere(speaks)).toEqual([]);
    });
  }

  // Whose user it is, GoTrue tells at any level.
  if (memberOf !== undefined && route.endpoint !== 'user') {
    it('leads to sign-in and back after a code that ends the session', () => {
      const staysHere = ({ refusal, browser }: Met): boolean => {
        const back = browser.forms().find(({ fields }) => 'password' in fields)?.fields['returnTo'] ?? '';
        const isThere = pathOf(browser) === '/auth/login' && back.startsWith(memberOf);
        return overCodes.includes(refusal.code) && !(isThere && !browser.jar.cookies.has(app.cookieName));
      };
      expect(codesWhere(staysHere)).toEqual([]);
    });

    it('leads to the page of the second factor after insufficient_aal', () => {
      // From there on to its enrollment where the account has none.
      const staysHere = ({ refusal, browser }: Met): boolean =>
        refusal.code === 'insufficient_aal' &&
        (browser.at.answer.status >= 400 || !/^\/auth\/(?:verify|enroll)$/.test(pathOf(browser)));
      expect(codesWhere(staysHere)).toEqual([]);
    });
  }

  it('says that a password may have been saved only after an outage', () => {
    const mayBe = codesWhere(({ browser }) => wordsOf(browser).includes(englishText.passwordMaybeSaved));
    expect(mayBe.filter((code) => !outages.includes(code))).toEqual(mayBe.length > 0 ? ['unexpected_failure'] : []);
  });
});

describe('the codes of GoTrue: a callback', () => {
  const query = '/auth/callback?error=server_error&error_code=insufficient_aal';

  it('with insufficient_aal leads someone who is signed in to the second factor', async () => {
    const browser = createPageBrowser(app.origin);
    await signIn(browser);
    await fromGithub(browser);
    await browser.open(app.origin + query);
    expect(browser.at.url).toContain(`/auth/enroll?returnTo=${encodeURIComponent('/account')}`);
  });

  it('with insufficient_aal is a failed sign-in for anyone else', async () => {
    const browser = createPageBrowser(app.origin);
    await browser.open(query);
    expect([browser.at.answer.status, browser.at.answer.text]).toEqual([
      400,
      expect.stringContaining('sign_in_failed'),
    ]);
  });
});

it('the list of sentences has each text of the pages once', () => {
  const listed = [...Object.keys(claims), ...wordsIn(own), ...wordsIn(labels)];
  expect(listed.toSorted()).toEqual(Object.keys(englishText).toSorted());
});
