import { closeAfterEach } from '../support/close-after-each.ts';
import { describeAtRoot } from '../support/only.ts';
import { expectBack, lacks, ways } from '../support/way-back.ts';
import type { Way } from '../support/way-back.ts';

/**
 * People end on the page where they were: whatever their request was, and whatever their session lacks. A browser without script follows
 * the redirects, links and forms that it is given. The suites beside this one do the same for links by email, OAuth callbacks, front ends
 * on another origin and gateways. These cases do not exist:
 *
 * | Request            | What the session lacks      | Why                                                                     |
 * | ------------------ | --------------------------- | ----------------------------------------------------------------------- |
 * | any, with b2bAuth  | a second factor             | AuthKit asks for it, and no guard of ours                               |
 * | a script, htmx     | `accept` refuses the person | the 403 leads nowhere: the person is still on the page                  |
 * | a link by email    | with b2bAuth                | AuthKit sends its own, and they end at the callback                     |
 * | a link by email    | not given, signed in        | a guard leads to the factor, which asks for no mail                     |
 * | an OAuth callback  | with b2bAuth                | every sign-in of it is one                                              |
 * | an OAuth callback  | no second factor            | after the callback the same as for a password                           |
 * | a gateway          | fresh sign-in, factor       | `forwardAuth` asks for a session, and `check` for the rest              |
 * | a front end's form | any                         | a page elsewhere posts by script; its forms lead to its own origin      |
 */
const closing = closeAfterEach();

interface Act {
  readonly isScript: boolean;
  /** The browser is then where the answer leads. */
  run(way: Way, place: string): Promise<unknown>;
}

const acts: Readonly<Record<string, Act>> = {
  'opens the page': { isScript: false, run: ({ browser }, place) => browser.open(`${place}/page?tab=2`) },
  'sends a form of the page': {
    isScript: false,
    run: ({ browser, origin }, place) =>
      browser.post(`${place}/save`, { a: '1' }, { referer: `${origin}${place}/page?tab=2` }),
  },
  'runs a script of the page': {
    isScript: true,
    async run({ browser, origin }, place) {
      const headers = { accept: 'application/json', referer: `${origin}${place}/page?tab=2` };
      return browser.open((await browser.jar.get(`${place}/data`, { headers })).json.redirectTo);
    },
  },
  'uses htmx on the page': {
    isScript: true,
    async run({ browser, origin }, place) {
      const headers = { accept: '*/*', 'hx-request': 'true', referer: `${origin}${place}/page?tab=2` };
      return browser.open(String((await browser.jar.get(`${place}/data`, { headers })).headers['hx-redirect']));
    },
  },
};

const cases = Object.keys(ways).flatMap((adapter) =>
  ['/', '/below'].flatMap((prefix) =>
    Object.entries(lacks)
      .filter(([, { backendOnly }]) => backendOnly !== true || adapter.startsWith('backendAuth'))
      .flatMap(([lack, { leadsScripts }]) =>
        Object.entries(acts)
          .filter(([, { isScript }]) => leadsScripts || !isScript)
          .map(([act]) => [adapter as keyof typeof ways, prefix, lack, act] as const),
      ),
  ),
);

describeAtRoot('a person', () => {
  it.each(cases)('of %s mounted at %s who %s and %s ends on that page', async (adapter, prefix, lackName, act) => {
    const lack = lacks[lackName]!;
    const way = await closing(ways[adapter]({ prefix }));
    await lack.become(way);
    await acts[act]!.run(way, way.root + lack.place);
    expect(way.browser.at.answer.text).not.toBe('page');
    await lack.goOn(way);
    expectBack(way, lack.place);
  });
});
