import { endSession, requireSession } from '../lib/index.ts';
import { ada, startBackendApp } from './support/backend-app.ts';
import type { BackendApp } from './support/backend-app.ts';
import { demoUsers, startB2bApp } from './support/b2b-app.ts';
import { closeAfterEach } from './support/close-after-each.ts';
import { sendText } from './support/hosts.ts';
import type { Host } from './support/hosts.ts';
import { describeAtRoot } from './support/only.ts';
import { createPageBrowser } from './support/page-browser.ts';
import type { PageBrowser } from './support/page-browser.ts';

/**
 * People end on the page where they were: whatever their request was, and whatever their session lacks. A browser without script follows
 * the redirects, links and forms that it is given.
 */
const closing = closeAfterEach();

/** Where the guard asks for a session, and where for one of the last minute. */
const lacks = {
  'never had a session': '/app',
  'has a session that was ended': '/app',
  'signed in too long ago': '/fresh',
} as const;
type Lack = keyof typeof lacks;

/** `/app` for pages and forms, in which people are, and `/data` for scripts. */
const pagesBelow =
  (prefix: string) =>
  (host: Host): void => {
    const root = prefix === '/' ? '' : prefix;
    const guards = { [`${root}/app`]: requireSession(), [`${root}/fresh`]: requireSession({ maxAge: 60 }) };
    for (const [path, guard] of Object.entries(guards)) {
      host.all(`${path}/page`, guard, (_req, res) => sendText(res, 'page'));
      host.all(`${path}/save`, guard, (_req, res) => sendText(res, 'saved'));
      host.all(`${path}/data`, guard, (_req, res) => sendText(res, 'data'));
    }
  };

interface Way {
  readonly origin: string;
  readonly browser: PageBrowser;
  /** Signs in on the page where the browser is. */
  signIn(): Promise<unknown>;
  /** Lets the session end by `endSession`. */
  end(): Promise<void>;
  wait(ms: number): void;
}

const adapters: Readonly<Record<string, (prefix: string) => Promise<Way>>> = {
  async b2bAuth(prefix) {
    const app = await closing(startB2bApp({ prefix, after: pagesBelow(prefix) }));
    const browser = createPageBrowser(app.origin);
    const user = demoUsers.personal;
    return {
      ...wayOf(app, browser, user.id),
      signIn: async () => browser.open((await app.workos.authorize(browser.at.url, { user })).href),
    };
  },
  async backendAuth(prefix) {
    const app = await closing(startBackendApp({ prefix, after: pagesBelow(prefix) }));
    const browser = createPageBrowser(app.origin);
    const { id } = app.supabase.addUser({ email: 'grace@example.com', password: ada.password });
    return {
      ...wayOf(app, browser, id),
      signIn: () => browser.submit({ email: 'grace@example.com', password: ada.password }),
    };
  },
};

function wayOf(
  { auth, origin, clock }: Pick<BackendApp, 'auth' | 'origin' | 'clock'>,
  browser: PageBrowser,
  userId: string,
): Omit<Way, 'signIn'> {
  const end = async (): Promise<void> => {
    clock.advance(2_000);
    await endSession(auth, { userId });
    clock.advance(2_000);
  };
  return { origin, browser, end, wait: (ms) => clock.advance(ms) };
}

/** What the person does on the page; the browser is then where the answer leads. */
const acts: Readonly<Record<string, (way: Way, place: string) => Promise<unknown>>> = {
  'opens the page': ({ browser }, place) => browser.open(`${place}/page?tab=2`),
  async 'sends a form of the page'({ browser, origin }, place) {
    const headers = { ...form, referer: `${origin}${place}/page?tab=2` };
    return browser.open((await browser.jar.post(`${place}/save`, { headers, body: 'a=1' })).location);
  },
  async 'runs a script of the page'({ browser, origin }, place) {
    const headers = { accept: 'application/json', referer: `${origin}${place}/page?tab=2` };
    return browser.open((await browser.jar.get(`${place}/data`, { headers })).json.redirectTo);
  },
  async 'uses htmx on the page'({ browser, origin }, place) {
    const headers = { accept: '*/*', 'hx-request': 'true', referer: `${origin}${place}/page?tab=2` };
    return browser.open(String((await browser.jar.get(`${place}/data`, { headers })).headers['hx-redirect']));
  },
};

const form = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' };

/** Brings the person into the state before they act. */
async function become(way: Way, lack: Lack, root: string): Promise<void> {
  if (lack === 'never had a session') return;
  await way.browser.open(`${root}/app/page`);
  await way.signIn();
  expect(way.browser.at.answer.text).toBe('page');
  if (lack === 'signed in too long ago') way.wait(120_000);
  else await way.end();
}

const cases = Object.keys(adapters).flatMap((adapter) =>
  ['/', '/below'].flatMap((prefix) =>
    Object.keys(lacks).flatMap((lack) => Object.keys(acts).map((act) => [adapter, prefix, lack, act] as const)),
  ),
);

describeAtRoot('a person', () => {
  it.each(cases)('of %s mounted at %s who %s and %s ends on that page', async (adapter, prefix, lack, act) => {
    const way = await adapters[adapter]!(prefix);
    const root = prefix === '/' ? '' : prefix;
    const place = root + lacks[lack as Lack];
    await become(way, lack as Lack, root);
    await acts[act]!(way, place);
    expect(way.browser.at.answer.text).not.toBe('page');
    await way.signIn();
    expect([way.browser.at.url, way.browser.at.answer.text]).toEqual([`${way.origin}${place}/page?tab=2`, 'page']);
  });
});
