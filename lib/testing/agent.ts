import { encodeCookieValue } from '../tools/cookies.ts';
import type { CookieWrite } from '../tools/cookies.ts';
import { refuseInProduction } from './provider.ts';

/** The used part of `request.agent(app)`; supertest's and superagent's agents have it. */
export interface CookieAgent {
  readonly jar: { setCookie(cookie: string, domain: string, path: string): unknown };
}

/** How `signIn` signs in. */
export interface TestSignInOptions {
  /**
   * Signs in through the application's own routes, as a browser does, so that `accept` and `onSignIn` run and `signed_in` is emitted.
   * The agent must be one of supertest: `request.agent(app)`. Default `false`: neither runs.
   */
  readonly hooks?: boolean;
  /**
   * Where the sign-in starts, with `hooks`: the path of `/login` (B2B, default) or of `/auth/confirm` (backend, default). The kit's
   * `pathPrefix` moves the default.
   */
  readonly path?: string;
}

/** Of an answer to a supertest agent. */
interface AgentAnswer {
  readonly status: number;
  readonly headers: { readonly location?: string; readonly 'set-cookie'?: string | readonly string[] };
  readonly body?: { readonly redirectTo?: string; readonly error?: { readonly code?: unknown } };
}

interface AgentRequest extends PromiseLike<AgentAnswer> {
  set(name: string, value: string): this;
  send(body: object): this;
}

/** A supertest agent, which sends requests to an application. */
export interface RequestAgent extends CookieAgent {
  get(path: string): AgentRequest;
  post(path: string): AgentRequest;
}

/** Signs in through the application's own routes. @returns its last answer */
export type Enter<TestSession> = (
  agent: RequestAgent,
  session: TestSession | undefined,
  path: string | undefined,
) => Promise<AgentAnswer>;

/** An OAuth client that acts for the user. */
export interface TestBearerOptions {
  /** The client's id. */
  readonly client?: string;
  /** The token's `aud`: what `protectResource` requires. */
  readonly audience?: string;
  readonly scopes?: readonly string[];
}

/** Sign-in helpers for tests, for several clients. */
export interface SignIns<TestSession> {
  /**
   * Signs an agent in, in place of any session that it had. **It does not run `onSignIn`**: it puts the cookie of a session into the
   * agent. With `{ hooks: true }` the agent signs in through the application's routes instead, and `accept` and `onSignIn` run.
   *
   * @throws {Error} with `hooks`, where the application refuses the sign-in: status and code are in the message
   * @throws {TypeError} with `hooks`, for an unknown option, an agent that is none of supertest, a `path` that starts no sign-in, or an `expired` session
   * @example const agent = await kit.signIn(request.agent(app), { user: { email: 'ada@example.com' } });
   * @example const agent = await kit.signIn(request.agent(app), { user: { email: 'ada@example.com' } }, { hooks: true });
   */
  signIn<Agent extends CookieAgent>(agent: Agent, session?: TestSession, options?: TestSignInOptions): Promise<Agent>;
  /** The `Cookie` header of a signed-in user, for any HTTP client. */
  cookie(session?: TestSession): Promise<string>;
  /**
   * The `Authorization` header of a signed-in user: `Bearer …`, with the access token of a session of your app. With options it is
   * the token of an OAuth client that acts for the user.
   *
   * @example await request(app).get('/api/items').set('Authorization', await kit.bearer({ user: { email: 'ada@example.com' } }));
   */
  bearer(session?: TestSession, options?: TestBearerOptions): Promise<string>;
  /**
   * The cookies of a signed-in user for Playwright.
   *
   * @param origin the application's origin in the browser, such as `http://localhost:3000`
   * @throws {TypeError} for an origin that is not an http or https URL
   * @example const context = await browser.newContext({ storageState: await kit.storageState(origin, { user }) });
   */
  storageState(origin: string, session?: TestSession): Promise<StorageState>;
}

/** A session's cookie name, and the cookies that it is written to. */
export interface SessionCookie {
  readonly cookieName: string;
  readonly writes: readonly CookieWrite[];
}

interface Issuers<TestSession> {
  /** Of the adapter's session. */
  readonly cookieName: string;
  readonly cookieOf: (session?: TestSession) => Promise<SessionCookie>;
  readonly tokenOf: (session?: TestSession, options?: TestBearerOptions) => Promise<string>;
  readonly enter: Enter<TestSession>;
}

export function createSignIns<TestSession extends { readonly expired?: boolean }>({
  cookieName,
  cookieOf,
  tokenOf,
  enter,
}: Issuers<TestSession>): SignIns<TestSession> {
  return {
    async signIn(agent, session, { hooks = false, path, ...others } = {}) {
      refuseInProduction();
      const [unknown] = Object.keys(others);
      if (unknown !== undefined) throw new TypeError(`kit.signIn has no option ${unknown}, only hooks and path`);
      if (!hooks) {
        putCookies(agent, await cookieOf(session));
        return agent;
      }
      if (!isRequestAgent(agent))
        throw new TypeError('kit.signIn with hooks needs an agent of supertest: request.agent(app)');
      if (session?.expired === true)
        throw new TypeError('kit.signIn with hooks starts a session now; leave `expired` out');
      const answer = await enter(agent, session, path);
      refuseFailure(answer, cookieName);
      keepCookies(agent, answer);
      return agent;
    },
    async cookie(session) {
      refuseInProduction();
      const { writes } = await cookieOf(session);
      return writes.map(({ name, value = '' }) => `${name}=${encodeCookieValue(value)}`).join('; ');
    },
    async bearer(session, options) {
      refuseInProduction();
      return `Bearer ${await tokenOf(session, options)}`;
    },
    async storageState(origin, session) {
      refuseInProduction();
      return storageState(origin, await cookieOf(session));
    },
  };
}

function isRequestAgent(agent: object): agent is RequestAgent {
  return 'jar' in agent && ['get', 'post'].every((method) => typeof Reflect.get(agent, method) === 'function');
}

/** @throws {Error} where the application did not sign in, whatever its `onError` answered */
function refuseFailure(answer: AgentAnswer, cookieName: string): void {
  const { status, body } = answer;
  const names = [cookieName, `${cookieName}-pending`];
  const isStored = cookiesOf(answer).some((line) =>
    names.some((name) => new RegExp(`^(?:__Host-)?${name}(?:\\.\\d)?=[^;]`).test(line)),
  );
  if (status < 400 && isStored) return;
  const code = body?.error?.code;
  throw new Error(`The application refused the sign-in: ${status}${typeof code === 'string' ? ` ${code}` : ''}`);
}

function cookiesOf({ headers }: AgentAnswer): readonly string[] {
  return [headers['set-cookie'] ?? []].flat();
}

/** An agent speaks http to its own host. It would not send back what is for https or for another host, as where `appBaseUrl` names both. */
export function keepCookies({ jar }: CookieAgent, answer: AgentAnswer): void {
  for (const line of cookiesOf(answer)) {
    for (const host of hosts) jar.setCookie(line.replaceAll(/; (?:Secure|Domain=[^;]*)/gi, ''), host, '/');
  }
}

/** The hosts under which agents reach an application in the test's own process. */
const hosts = ['127.0.0.1', 'localhost'];

/** More chunks than a session can have. */
const maxChunks = 8;

/**
 * Stores a session's cookies where the agent keeps those from servers, so that the application can
 * renew and delete them. Cookies of an earlier session are removed.
 */
function putCookies(agent: CookieAgent, { cookieName, writes }: SessionCookie): void {
  const chunks = Array.from({ length: maxChunks }, (_, index) => `${cookieName}.${index}`);
  for (const host of hosts) {
    for (const name of [cookieName, ...chunks]) {
      agent.jar.setCookie(`${name}=; Path=/; Expires=${new Date(0).toUTCString()}`, host, '/');
    }
    for (const { name, value = '' } of writes) {
      agent.jar.setCookie(`${name}=${encodeCookieValue(value)}; Path=/; HttpOnly`, host, '/');
    }
  }
}

/** A cookie in the format of Playwright's `storageState`. */
export interface StoredCookie {
  readonly name: string;
  readonly value: string;
  readonly domain: string;
  readonly path: string;
  /** -1: until the browser closes. */
  readonly expires: number;
  readonly httpOnly: boolean;
  readonly secure: boolean;
  readonly sameSite: 'Strict' | 'Lax' | 'None';
}

/** The type of Playwright's `browser.newContext({ storageState })`: https://playwright.dev/docs/api/class-browser */
export interface StorageState {
  cookies: StoredCookie[];
  origins: never[];
}

function storageState(origin: string, { writes }: SessionCookie): StorageState {
  const { protocol = '', hostname = '' } = URL.parse(origin) ?? {};
  if (!/^https?:$/.test(protocol)) throw new TypeError('origin must start with http:// or https://');
  const shared = { domain: hostname, path: '/', expires: -1, httpOnly: true, sameSite: 'Lax' } as const;
  const cookies = writes.map(({ name, value = '' }) => ({
    name,
    value: encodeCookieValue(value),
    ...shared,
    secure: protocol === 'https:',
  }));
  return { cookies, origins: [] };
}
