import express from 'express';
import { backendAuth, getSession, getSupabaseClient, requireSession } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import type { AuthEvent } from '../../lib/types.ts';
import { createClock } from './b2b-app.ts';
import type { Clock } from './b2b-app.ts';
import { serve } from './servers.ts';
import type { RunningServer } from './servers.ts';
import { startSupabaseStandIn } from './supabase-stand-in/index.ts';
import type { SessionOptions, SupabaseStandIn, SupabaseStandInOptions } from './supabase-stand-in/index.ts';
import { createVisitor } from './visitor.ts';
import type { Answer, Visitor } from './visitor.ts';

export const ada = { email: 'ada@example.com', password: 'correct horse battery' } as const;

export interface BackendApp extends RunningServer {
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
  readonly options?: BackendAuthOptions;
  readonly standIn?: SupabaseStandInOptions;
  readonly prefix?: string;
  /** Before the adapter. */
  readonly before?: (app: express.Express) => void;
  /** After the adapter and before the standard pages. */
  readonly after?: (app: express.Express) => void;
}

/**
 * An Express app with the backend adapter and a Supabase stand-in of its own. Pages: `/` is public, `/account` is in
 * `protectedRoutes`, `/api/me` stands behind `requireSession`, `/whoami` asks `getSession`, `/notes` reads through
 * `getSupabaseClient`.
 */
export async function startBackendApp(setup: BackendAppSetup = {}): Promise<BackendApp> {
  const { options, standIn, prefix = '/', before, after } = setup;
  const clock = createClock();
  const supabase = await startSupabaseStandIn({ now: clock.now, autoconfirm: true, ...standIn });
  supabase.addUser(ada);
  const events: AuthEvent[] = [];
  const app = express();
  before?.(app);
  const root = prefix === '/' ? '' : prefix;
  app.use(
    prefix,
    backendAuth({
      url: supabase.url,
      anonKey: supabase.publishableKey,
      protectedRoutes: [`${root}/account(.*)`],
      now: clock.now,
      onEvent: (event) => events.push(event),
      ...options,
    }),
  );
  after?.(app);
  app.get('/', (_req, res) => void res.send('home'));
  app.get(/\/account/, (_req, res) => void res.send('account'));
  app.all('/api/me', requireSession(), (req, res, next) => {
    getSession(req).then((session) => res.json({ user: session?.user }), next);
  });
  app.get('/whoami', (req, res, next) => {
    getSession(req).then((session) => res.json({ user: session?.user ?? null }), next);
  });
  app.get('/notes', (req, res, next) => {
    getSupabaseClient(req)
      .then((client) => client.from('notes').select())
      .then(({ data, error }) => res.json({ data, error }))
      .catch(next);
  });
  app.use((error: unknown, _req: express.Request, res: express.Response, next: express.NextFunction) => {
    if (res.headersSent) next(error);
    else res.status(errorStatus(error)).json({ thrown: String(error) });
  });
  const server = await serve(app);
  const visitor = (): Visitor => createVisitor(server.origin);

  return {
    ...server,
    supabase,
    clock,
    events,
    cookieName: 'sb-127-auth-token',
    visitor,
    async signedIn(session) {
      const browser = visitor();
      if (session === undefined) {
        const answer = await browser.postJson(`${root}/auth/login`, ada);
        if (answer.status !== 200) throw new Error(`Sign-in ended with ${answer.status}: ${answer.text}`);
        return browser;
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
