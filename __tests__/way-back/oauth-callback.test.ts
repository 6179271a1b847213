import { closeAfterEach } from '../support/close-after-each.ts';
import { describeAtRoot } from '../support/only.ts';
import { ada } from '../support/backend-app.ts';
import { asAnother, expectBack, giveCode, grace, lacks, refusing, ways } from '../support/way-back.ts';
import type { Way } from '../support/way-back.ts';

/** A guard leads to the sign-in page, its button to the OAuth provider, and the callback to the page where the person was. */
const closing = closeAfterEach();

const startWay = (prefix = '/'): Promise<Way> =>
  closing(
    ways['backendAuth with a password']({
      prefix,
      standIn: { oauthSessions: true },
      backend: { providers: ['github'] },
    }),
  );

/** From the sign-in page through the provider. */
async function byProvider({ browser }: Way, email: string = grace.email): Promise<void> {
  const link = browser.links().find(({ href }) => href.includes('provider=github'));
  await browser.open(link!.href);
  await browser.post(browser.at.url, { decision: 'approve', email });
}

interface State {
  readonly place: string;
  readonly become: (way: Way) => Promise<unknown>;
  /** What the callback asks for. */
  readonly afterwards?: (way: Way) => Promise<unknown>;
}

const states: Readonly<Record<string, State>> = {
  'never had a session': lacks['never had a session']!,
  'lost the session by endSession': lacks['lost the session by endSession']!,
  'signed in too long ago': lacks['signed in too long ago']!,
  'has a second factor': {
    place: '/second',
    become: ({ backend }) => Promise.resolve(backend!.supabase.addFactor(grace.email)),
    afterwards: giveCode,
  },
  'is refused by accept': {
    place: '/app',
    become: refusing,
    // The other account signs in by the provider, too.
    async afterwards(way) {
      const link = way.browser.links().find(({ href }) => href.includes('prompt=login'));
      await way.browser.open(link!.href);
      await byProvider(way, ada.email);
    },
  },
  'has canceled once': {
    place: '/app',
    async become({ browser, root }) {
      await browser.open(`${root}/app/page?tab=2`);
      await browser.open(browser.links().find(({ href }) => href.includes('provider=github'))!.href);
      await browser.post(browser.at.url, { decision: 'deny' });
      await browser.open(browser.links().find(({ href }) => href.includes('/auth/login'))!.href);
    },
  },
  'met an outage in the callback': {
    place: '/app',
    async become({ browser, root, backend }) {
      await browser.open(`${root}/app/page?tab=2`);
      backend!.supabase.fail('pkce', 503, 1);
      await browser.open(browser.links().find(({ href }) => href.includes('provider=github'))!.href);
      await browser.post(browser.at.url, { decision: 'approve', email: grace.email });
      expect(browser.at.answer.status).toBe(503);
      await browser.open(browser.at.url);
    },
  },
};

/** These have left the page on their own before. */
const areOnTheirWay = ['has canceled once', 'met an outage in the callback'];

const cases = ['/', '/below'].flatMap((prefix) => Object.keys(states).map((state) => [prefix, state] as const));

describeAtRoot('a person who signs in by OAuth', () => {
  it.each(cases)('at an application mounted at %s, and %s, ends on the page', async (prefix, name) => {
    const way = await startWay(prefix);
    const { place, become, afterwards } = states[name]!;
    await become(way);
    if (!areOnTheirWay.includes(name)) await way.browser.open(`${way.root}${place}/page?tab=2`);
    await byProvider(way);
    if (afterwards !== undefined) {
      expect(way.browser.at.answer.text).not.toBe('page');
      await afterwards(way);
    }
    expectBack(way, place);
  });

  it('and is refused by accept may also sign in as another one with a password', async () => {
    const way = await startWay();
    way.refuse();
    await way.browser.open('/app/page?tab=2');
    await byProvider(way);
    await asAnother(way);
    expectBack(way, '/app');
  });
});

describeAtRoot('the callback of b2bAuth', () => {
  it.each(['/', '/below'])('mounted at %s leads a person whom accept refuses there on to the page', async (prefix) => {
    const way = await closing(ways.b2bAuth({ prefix }));
    way.refuse();
    await way.browser.open(`${way.root}/app/page?tab=2`);
    await way.signIn();
    expect(way.browser.at.answer.status).toBe(403);
    await asAnother(way);
    expectBack(way, '/app');
  });

  it('leads a person who has canceled on to the page', async () => {
    const way = await closing(ways.b2bAuth());
    await way.browser.open('/app/page?tab=2');
    await way.browser.post(way.browser.at.url, { decision: 'cancel' });
    expect(way.browser.at.answer.status).toBe(403);
    await way.browser.open(way.browser.links().find(({ href }) => href.includes('/login'))!.href);
    await way.signIn();
    expectBack(way, '/app');
  });
});
