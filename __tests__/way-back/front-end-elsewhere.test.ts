import { closeAfterEach } from '../support/close-after-each.ts';
import { describeAtRoot } from '../support/only.ts';
import { serve } from '../support/servers.ts';
import { lacks, ways } from '../support/way-back.ts';
import type { Way } from '../support/way-back.ts';

/**
 * The pages are on the front end's origin, and its scripts ask the API. Browsers send other origins no path of a page in `Referer`
 * unless its policy allows it, so a front end may also link to sign-in with a `returnTo` of its own.
 */
const closing = closeAfterEach();

interface Act {
  readonly isScript: boolean;
  run(way: Way, place: string, front: string): Promise<unknown>;
}

const asking = (front: string, place: string) => ({
  accept: 'application/json',
  origin: front,
  referer: `${front}${place}/page?tab=2`,
});

const acts: Readonly<Record<string, Act>> = {
  'runs a script of the page': {
    isScript: true,
    async run({ browser, root, origin }, place, front) {
      const answer = await browser.jar.get(`${root}${place}/data`, { headers: asking(front, root + place) });
      return browser.open(new URL(String(answer.json.redirectTo), origin).href);
    },
  },
  'posts by a script of the page': {
    isScript: true,
    async run({ browser, root, origin }, place, front) {
      const headers = { ...asking(front, root + place), 'content-type': 'application/json' };
      const answer = await browser.jar.post(`${root}${place}/save`, { headers, body: '{}' });
      return browser.open(new URL(String(answer.json.redirectTo), origin).href);
    },
  },
  'follows a link of the page to sign-in': {
    isScript: false,
    run({ browser, root, backend, origin }, place) {
      const login = backend === undefined ? '/login' : '/auth/login';
      const returnTo = encodeURIComponent(`${root}${place}/page?tab=2`);
      return browser.open(`${origin}${root}${login}?prompt=login&returnTo=${returnTo}`);
    },
  },
};

/** A link asks for a sign-in, whatever the session lacks; a guard's other answers are those to scripts. */
const linkedFrom = ['never had a session', 'lost the session by endSession', 'signed in too long ago'];

const cases = Object.keys(ways).flatMap((adapter) =>
  ['/', '/below'].flatMap((prefix) =>
    Object.entries(lacks)
      .filter(
        ([, { backendOnly, leadsScripts }]) => leadsScripts && (!backendOnly || adapter.startsWith('backendAuth')),
      )
      .flatMap(([lack]) =>
        Object.entries(acts)
          .filter(([, { isScript }]) => isScript || linkedFrom.includes(lack))
          .map(([act]) => [adapter as keyof typeof ways, prefix, lack, act] as const),
      ),
  ),
);

describeAtRoot('a person on a front end elsewhere', () => {
  it.each(cases)('with %s mounted at %s who %s and %s ends on that page', async (adapter, prefix, lackName, act) => {
    const front = await closing(serve((_req, res) => void res.end('page')));
    const frontendOrigin = front.origin;
    const way = await closing(ways[adapter]({ prefix, options: { frontendOrigin } }));
    const lack = lacks[lackName]!;
    await lack.become(way);
    await acts[act]!.run(way, lack.place, frontendOrigin);
    expect(way.browser.at.answer.text).not.toBe('page');
    await lack.goOn(way);
    const { url, answer } = way.browser.at;
    expect([url, answer.text]).toEqual([`${frontendOrigin}${way.root}${lack.place}/page?tab=2`, 'page']);
  });
});
