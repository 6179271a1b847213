import type { Router } from 'express';
import { endSession, requireSession } from '../../lib/index.ts';
import type { BackendAuthOptions, B2bAuthOptions } from '../../lib/index.ts';
import { ada, startBackendApp } from './backend-app.ts';
import type { BackendApp } from './backend-app.ts';
import { demoUsers, startB2bApp } from './b2b-app.ts';
import { sendText } from './hosts.ts';
import type { Host } from './hosts.ts';
import { createPageBrowser } from './page-browser.ts';
import type { PageBrowser } from './page-browser.ts';

/** A person in a browser without script, and an application in which they are on a page. */
export interface Way {
  readonly origin: string;
  /** `''` at the root. */
  readonly root: string;
  readonly browser: PageBrowser;
  /** Signs in on the page where the browser is, as this person or as another one. */
  readonly signIn: (as?: 'another') => Promise<unknown>;
  wait(ms: number): void;
  /** From now on `accept` refuses this person; a session that they have gets new tokens with its next request. */
  refuse(): void;
  readonly auth: Router;
  readonly userId: string;
  /** The backend's, for what only Supabase knows. */
  readonly backend?: BackendApp;
  close(): Promise<void>;
}

export const grace = { email: 'grace@example.com', password: ada.password };

export interface WaySetup {
  readonly prefix?: string;
  readonly options?: Partial<Pick<B2bAuthOptions & BackendAuthOptions, 'frontendOrigin'>>;
  readonly backend?: BackendAuthOptions;
  readonly standIn?: NonNullable<Parameters<typeof startBackendApp>[0]>['standIn'];
  readonly after?: (host: Host, auth: Router) => void;
}

/** `/app` for pages and forms, in which people are, `/data` for scripts; the other paths ask for more than a session. */
function guarded(host: Host, root: string, adapter: 'b2b' | 'backend'): void {
  const guards = {
    '/app': requireSession(),
    '/fresh': requireSession({ maxAge: 60 }),
    ...(adapter === 'backend' && { '/second': requireSession({ aal: 'aal2' }) }),
  };
  for (const [path, guard] of Object.entries(guards)) {
    host.all(`${root}${path}/page`, guard, (_req, res) => sendText(res, 'page'));
    host.all(`${root}${path}/save`, guard, (_req, res) => sendText(res, 'saved'));
    host.all(`${root}${path}/data`, guard, (_req, res) => sendText(res, 'data'));
  }
}

export type StartWay = (setup?: WaySetup) => Promise<Way>;

export const ways: Readonly<Record<'b2bAuth' | 'backendAuth with a password', StartWay>> = {
  async b2bAuth({ prefix = '/', options, after } = {}) {
    const root = prefix === '/' ? '' : prefix;
    const refused = new Set<string>();
    const app = await startB2bApp({
      prefix,
      options: { ...options, accept: ({ user }) => !refused.has(user.id) },
      after(host, auth) {
        guarded(host, root, 'b2b');
        after?.(host, auth);
      },
    });
    const browser = createPageBrowser(app.origin);
    const { personal, oneOrganization } = demoUsers;
    return {
      ...wayOf(app, browser, personal.id, refused),
      root,
      async signIn(as) {
        const user = as === 'another' ? oneOrganization : personal;
        return browser.open((await app.workos.authorize(browser.at.url, { user })).href);
      },
    };
  },
  async 'backendAuth with a password'({ prefix = '/', options, backend, standIn, after } = {}) {
    const root = prefix === '/' ? '' : prefix;
    const refused = new Set<string>();
    const app = await startBackendApp({
      prefix,
      ...(standIn && { standIn }),
      options: { ...options, ...backend, accept: ({ user }) => !refused.has(user.id) },
      after(host, auth) {
        guarded(host, root, 'backend');
        after?.(host, auth);
      },
    });
    const browser = createPageBrowser(app.origin);
    const { id } = app.supabase.addUser(grace);
    return {
      ...wayOf(app, browser, id, refused),
      root,
      backend: app,
      signIn: (as) => browser.submit(as === 'another' ? ada : grace),
    };
  },
};

function wayOf(
  app: Pick<BackendApp, 'auth' | 'origin' | 'clock' | 'close'>,
  browser: PageBrowser,
  userId: string,
  refused: Set<string>,
): Omit<Way, 'signIn' | 'root'> {
  const { auth, origin, clock } = app;
  return {
    origin,
    browser,
    auth,
    userId,
    wait: (ms) => clock.advance(ms),
    refuse() {
      refused.add(userId);
      clock.advance(2 * 3_600_000);
    },
    close: () => app.close(),
  };
}

/** What a person's session lacks. */
export interface Lack {
  /** The part of the application whose guard asks for it. */
  readonly place: string;
  /** Brings the person into the state before they act. */
  become(way: Way): Promise<void>;
  /** What they do on the page to which they are led. */
  goOn(way: Way): Promise<unknown>;
  /** Whether the answer to a script leads on. Otherwise it leaves the person on their page. */
  readonly leadsScripts: boolean;
  readonly backendOnly?: true;
}

async function signInBefore({ browser, root, signIn }: Pick<Way, 'browser' | 'root' | 'signIn'>): Promise<void> {
  await browser.open(`${root}/app/page`);
  await signIn();
  expect(browser.at.answer.text).toBe('page');
}

const signInAgain = { leadsScripts: true, goOn: (way: Way) => way.signIn() } as const;

/** The person's own factor. */
export async function giveCode({ browser, backend }: Way): Promise<unknown> {
  const [factor] = backend!.supabase.factorsOf(grace.email);
  return browser.submit({ code: backend!.supabase.codeOf(factor!) });
}

export const lacks: Readonly<Record<string, Lack>> = {
  'never had a session': { ...signInAgain, place: '/app', become: () => Promise.resolve() },
  'lost the session by endSession': {
    ...signInAgain,
    place: '/app',
    async become(way) {
      await signInBefore(way);
      way.wait(2_000);
      await endSession(way.auth, { userId: way.userId });
      way.wait(2_000);
    },
  },
  'signed in too long ago': {
    ...signInAgain,
    place: '/fresh',
    async become(way) {
      await signInBefore(way);
      way.wait(120_000);
    },
  },
  'has not given the second factor': {
    backendOnly: true,
    leadsScripts: true,
    place: '/second',
    async become(way) {
      await signInBefore(way);
      way.backend!.supabase.addFactor(grace.email);
    },
    goOn: giveCode,
  },
  'has no second factor': {
    backendOnly: true,
    leadsScripts: true,
    place: '/second',
    become: signInBefore,
    async goOn(way) {
      await way.browser.submit({});
      await giveCode(way);
      // The list says once why another one helps.
      const done = way.browser.links().find(({ label }) => label === 'Done');
      return way.browser.open(done!.href);
    },
  },
  'is refused by accept': {
    leadsScripts: false,
    place: '/app',
    async become(way) {
      await signInBefore(way);
      way.refuse();
    },
    goOn: asAnother,
  },
};

/** Before the person signs in at all. */
export function refusing(way: Way): Promise<void> {
  way.refuse();
  return Promise.resolve();
}

/** By the page's link to a sign-in as another person. */
export async function asAnother({ browser, signIn }: Pick<Way, 'browser' | 'signIn'>): Promise<unknown> {
  const link = browser.links().find(({ href }) => href.includes('prompt=login'));
  if (link === undefined) throw new Error(`No other account is offered: ${browser.at.answer.text}`);
  await browser.open(link.href);
  return signIn('another');
}

/** The person is back on the page, at this place. */
export function expectBack({ browser, origin, root }: Way, place: string, at = origin): void {
  expect([browser.at.url, browser.at.answer.text]).toEqual([`${at}${root}${place}/page?tab=2`, 'page']);
}
