import type { SupabaseClient } from '@supabase/supabase-js';
import type { Router } from 'express';
import { backendAuth, getSession, getSupabaseClient, requireSession } from '../../../lib/backend/index.ts';
import type { BackendAuthOptions, RequireBackendSessionOptions } from '../../../lib/backend/index.ts';
import type { AuthEvent } from '../../../lib/types.ts';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { createApplication } from '../../support/application.ts';
import { sendJson, sendText } from '../../support/hosts.ts';
import type { Host } from '../../support/hosts.ts';
import { serve } from '../../support/servers.ts';
import { createVisitor } from '../../support/visitor.ts';
import type { Visitor } from '../../support/visitor.ts';
import type { GoTrueSetup } from './gotrue.ts';
import { startProject } from './project.ts';
import type { Project, User } from './project.ts';

export const cookieName = 'sb-127-auth-token';

export type RealApp = Awaited<ReturnType<typeof startRealApp>>;

/**
 * An application in front of a real project. `/account` is in `protectedRoutes`, `/api/me` stands behind `requireSession`,
 * `/secure` wants a second factor, `/client` runs what `asVisitor` is given with the request's own client.
 *
 * @param guarded further paths, and what their guards ask for
 * @param mount adds routes of the test's own
 */
export async function startRealApp(
  project: Project,
  options?: BackendAuthOptions,
  guarded: Readonly<Record<string, RequireBackendSessionOptions>> = {},
  mount?: (host: Host, auth: Router) => void,
) {
  const events: AuthEvent[] = [];
  const { host, listener } = createApplication();
  let work: (client: SupabaseClient) => Promise<unknown> = async () => undefined;
  const auth = backendAuth({
    url: project.url,
    anonKey: project.publishableKey,
    protectedRoutes: '/account(.*)',
    throttle: false,
    onEvent: (event) => events.push(event),
    ...options,
  });
  host.use(auth);
  mount?.(host, auth);
  host.get('/', (_req, res) => sendText(res, 'home'));
  host.get('/account', (_req, res) => sendText(res, 'account'));
  host.all('/api/me', requireSession(), (req, res, next) => {
    getSession(req).then((session) => sendJson(res, { user: session?.user }), next);
  });
  host.all('/secure', requireSession({ adapter: 'backend', aal: 'aal2' }), (_req, res) => sendText(res, 'secret'));
  for (const [path, wanted] of Object.entries(guarded)) {
    host.all(path, requireSession(wanted), (req, res, next) => {
      getSession(req).then((session) => sendJson(res, { user: session?.user, credential: session?.credential }), next);
    });
  }
  host.all('/client', (req, res, next) => {
    getSupabaseClient(req)
      .then((client) => work(client))
      .then((result) => sendJson(res, result ?? null))
      .catch(next);
  });
  host.onError((error, _req, res) => sendJson(res, { thrown: String(error) }, 500));
  const server = await serve(listener);
  const visitor = (): Visitor => createVisitor(server.origin);

  return {
    ...server,
    events,
    eventTypes: () => events.map(({ type }) => type),
    visitor,
    async signedIn({ email, password }: Pick<User, 'email' | 'password'>): Promise<Visitor> {
      const browser = visitor();
      const answer = await browser.postJson('/auth/login', { email, password });
      if (answer.status !== 200) throw new Error(`Sign-in ended with ${answer.status}: ${answer.text}`);
      return browser;
    },
    /** What the request's own Supabase client answers to a visitor's request. */
    async asVisitor(browser: Visitor, doIt: (client: SupabaseClient) => Promise<unknown>): Promise<any> {
      work = doIt;
      const answer = await browser.getJson('/client');
      if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
      return answer.json;
    },
  };
}

export interface Setup {
  /** With it, the suite has a GoTrue process of its own. */
  readonly gotrue?: GoTrueSetup;
  readonly options?: BackendAuthOptions;
  readonly guarded?: Readonly<Record<string, RequireBackendSessionOptions>>;
  readonly mount?: (host: Host, auth: Router) => void;
}

/** One project and one application for all tests of a suite; every test starts with whole connections and no events. */
export function useRealApp({ gotrue, options, guarded, mount }: Setup = {}): {
  readonly project: Project;
  readonly app: RealApp;
} {
  const real = {} as { project: Project; app: RealApp };
  beforeAll(async () => {
    real.project = await startProject(gotrue);
    real.app = await startRealApp(real.project, options, guarded, mount);
  });
  beforeEach(() => {
    real.app.events.splice(0);
    real.project.proxy.passed.splice(0);
    real.project.proxy.heal();
  });
  afterAll(async () => {
    try {
      await real.app.close();
    } finally {
      // Also where the application did not start: the next suite needs the ports.
      await real.project.close();
    }
  });
  return real;
}

/** The session in a visitor's cookies, as GoTrue answered it. */
export function sessionOf(visitor: Visitor): any {
  const parts = [...visitor.cookies].filter(([name]) => new RegExp(`^${cookieName}(\\.\\d+)?$`).test(name));
  const value = parts
    .sort(([one], [other]) => one.localeCompare(other, 'en', { numeric: true }))
    .map(([, part]) => part)
    .join('');
  if (value === '') return undefined;
  return JSON.parse(Buffer.from(value.replace(/^base64-/, ''), 'base64url').toString());
}

/** Resolves when the access token in a visitor's cookies has been expired for so many milliseconds. */
export async function expiry(visitor: Visitor, afterMs = 300): Promise<void> {
  const { expires_at: expiresAt } = sessionOf(visitor);
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, expiresAt * 1000 + afterMs - Date.now())));
}

/** A link's path and query, to be opened in the application under test. */
export function pathOf(link: string): string {
  const { pathname, search } = new URL(link);
  return pathname + search;
}

/** Follows redirects of other servers until one leads back to the application, and resolves to where it leads. */
export async function followTo(app: RealApp, url: string): Promise<string> {
  let at = url;
  for (let hops = 0; hops < 10 && !at.startsWith(app.origin); hops += 1) {
    const answer = await fetch(at, { redirect: 'manual' });
    const next = answer.headers.get('location');
    if (next === null) throw new Error(`${at} answers ${answer.status}: ${await answer.text()}`);
    at = new URL(next, at).href;
  }
  return at;
}

/** Puts tokens into a visitor's cookies, as another application with @supabase/ssr does. */
export function setSession(visitor: Visitor, session: unknown): void {
  for (const name of visitor.cookies.keys()) if (name.startsWith(cookieName)) visitor.cookies.delete(name);
  visitor.cookies.set(cookieName, `base64-${Buffer.from(JSON.stringify(session)).toString('base64url')}`);
}

/**
 * Turns on two-step sign-in, with the code of half a minute ago: the present one remains for a sign-in.
 *
 * @returns the secret of the authenticator app
 */
export async function enrollApp(visitor: Visitor): Promise<string> {
  const { json } = await visitor.postJson('/auth/enroll', {});
  const confirm = () =>
    visitor.postJson('/auth/enroll', { factorId: json.factorId, code: totp(json.secret, Date.now() - 30_000) });
  // Where the half minute ended on the way, the code was too old.
  const isOn = (await confirm()).status === 200 || (await confirm()).status === 200;
  if (!isOn) throw new Error('GoTrue refused the codes of the authenticator app');
  return json.secret;
}
