import type { Router } from 'express';
import { getSession, getSupabaseClient, requireSession } from '../../lib/backend/index.ts';
import type { AuthEvent } from '../../lib/types.ts';
import { buildBackend } from './build-adapter.ts';
import type { BackendSuiteOptions } from './build-adapter.ts';
import { createClock } from './b2b-app.ts';
import type { Clock } from './b2b-app.ts';
import { sendJson, sendText } from './hosts.ts';
import type { Host } from './hosts.ts';
import { serve } from './servers.ts';
import type { RunningServer } from './servers.ts';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SessionOptions, SupabaseStandIn, SupabaseStandInOptions } from '../../stand-ins/supabase/stand-in.ts';
import { createApplication, publicOrigin, variantOptions } from './application.ts';
import { createVisitor } from './visitor.ts';
import type { Answer, Visitor } from './visitor.ts';

export const ada = { email: 'ada@example.com', password: 'correct horse battery' } as const;

export interface BackendApp extends RunningServer {
  readonly auth: Router;
  readonly supabase: SupabaseStandIn;
  readonly clock: Clock;
  readonly events: AuthEvent[];
  /** The name of the session cookie. */
  readonly cookieName: string;
  visitor(): Visitor;
  /** A visitor who signed in with a password; `session` makes the cookie of a session that came about elsewhere. */
  signedIn(session?: SessionOptions): Promise<Visitor>;
  eventTypes(): string[];
}

export interface BackendAppSetup {
  readonly options?: BackendSuiteOptions;
  readonly standIn?: SupabaseStandInOptions;
  readonly prefix?: string;
  /** Before the adapter. */
  readonly before?: (host: Host) => unknown;
  /** After the adapter and before the standard pages. */
  readonly after?: (host: Host, auth: Router) => unknown;
}

/**
 * An application with the backend adapter and a Supabase stand-in of its own. Pages: `/` is public, `/account` is in
 * `protectedRoutes`, `/api/me` stands behind `requireSession`, `/whoami` asks `getSession`, `/notes` reads through
 * `getSupabaseClient`.
 */
export async function startBackendApp(setup: BackendAppSetup = {}): Promise<BackendApp> {
  const { options, standIn, prefix = '/', before, after } = setup;
  const clock = createClock();
  const supabase = await startSupabaseStandIn({ now: clock.now, autoconfirm: true, ...standIn });
  supabase.addUser(ada);
  const events: AuthEvent[] = [];
  const { host, listener } = createApplication();
  before?.(host);
  const root = prefix === '/' ? '' : prefix;
  const auth = buildBackend(
    variantOptions<BackendSuiteOptions>({
      url: supabase.url,
      anonKey: supabase.publishableKey,
      protectedRoutes: [`${root}/account(.*)`],
      now: clock.now,
      mailAnswerMs: 0,
      onEvent: (event) => events.push(event),
      ...options,
    }),
  );
  host.use(prefix, auth);
  after?.(host, auth);
  host.get('/', (_req, res) => sendText(res, 'home'));
  host.get(/\/account/, (_req, res) => sendText(res, 'account'));
  host.all('/api/me', requireSession(), (req, res, next) => {
    getSession(req).then((session) => sendJson(res, { user: session?.user }), next);
  });
  host.get('/whoami', (req, res, next) => {
    getSession(req).then((session) => sendJson(res, { user: session?.user ?? null }), next);
  });
  host.get('/notes', (req, res, next) => {
    getSupabaseClient(req)
      .then((client) => client.from('notes').select())
      .then(({ data, error }) => sendJson(res, { data, error }))
      .catch(next);
  });
  host.onError((error, _req, res, next) => {
    if (res.headersSent) next(error);
    else sendJson(res, { thrown: String(error) }, errorStatus(error));
  });
  const server = await serve(listener);
  const origin = publicOrigin(server.origin);
  const visitor = (): Visitor => createVisitor(origin);

  return {
    ...server,
    auth,
    origin,
    supabase,
    clock,
    events,
    cookieName: 'sb-127-auth-token',
    visitor,
    async signedIn(session) {
      const browser = visitor();
      if (session === undefined) {
        const answer = await browser.postJson(`${root}/auth/login`, ada);
        if (answer.status === 200) return browser;
        // A tree without the room of passwords has no such form: the project issues the session.
        if (answer.status !== 405) throw new Error(`Sign-in ended with ${answer.status}: ${answer.text}`);
      }
      setSession(browser, await supabase.issueSession(ada.email, session));
      return browser;
    },
    eventTypes: () => events.map(({ type }) => type),
    async close() {
      await server.close();
      await supabase.close();
    },
  };
}

function errorStatus(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : 500;
  return typeof status === 'number' ? status : 500;
}

/** Puts a session into a visitor's cookies, encoded as @supabase/ssr does. */
export function setSession(visitor: Visitor, session: unknown, name = 'sb-127-auth-token'): void {
  visitor.cookies.set(name, encodeSession(session));
}

export function encodeSession(session: unknown): string {
  return `base64-${Buffer.from(JSON.stringify(session)).toString('base64url')}`;
}

/** Posts a form as a browser does from the application's own page. */
export function postForm(
  visitor: Visitor,
  url: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return visitor.post(url, {
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  });
}

/** Presses "Continue as …" on the page that asks before an email's link replaces another user's session. */
export async function continueAsOther(visitor: Visitor, page = '/auth/confirm'): Promise<Answer> {
  const { json } = await visitor.getJson(page);
  return postForm(visitor, page, { account: json.account.id });
}
