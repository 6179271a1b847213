import { encodeCookieValue } from '../core/cookies.ts';
import type { CookieWrite } from '../core/cookies.ts';
import { refuseInProduction } from './provider.ts';

/** The used part of `request.agent(app)`; supertest's and superagent's agents have it. */
export interface CookieAgent {
  readonly jar: { setCookie(cookie: string, domain: string, path: string): unknown };
}

/** An answer that the agent got. */
interface AgentAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text?: string;
}

/** An agent that can also send requests, for `hooks: true`. */
export interface WalkingAgent extends CookieAgent {
  get(path: string): PromiseLike<AgentAnswer>;
  post(path: string): { send(body: object): PromiseLike<AgentAnswer> };
}

export interface TestSignInOptions {
  /** Signs in by requests to the application, so that `accept` and `onSignIn` run. Default false: the session is only put into the agent. */
  readonly hooks?: boolean;
  /** The adapter's `loginPath`, below its mount path, where that is not the default; for `hooks: true`. */
  readonly loginPath?: string;
}

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
   * Signs an agent in, in place of any session that it had. It does not run `onSignIn`, unless `hooks` is true.
   *
   * @throws {Error} with `hooks: true`, where the application refused the sign-in
   * @example const agent = await kit.signIn(request.agent(app), { user: { email: 'ada@example.com' } });
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

export function createSignIns<TestSession>(
  cookieOf: (session?: TestSession) => Promise<SessionCookie>,
  tokenOf: (session?: TestSession, options?: TestBearerOptions) => Promise<string>,
  walk: (agent: WalkingAgent, session?: TestSession, loginPath?: string) => PromiseLike<AgentAnswer>,
): SignIns<TestSession> {
  return {
    async signIn(agent, session, { hooks = false, loginPath } = {}) {
      refuseInProduction();
      if (hooks) {
        refuseFailure(await walk(asWalking(agent), session, loginPath));
        return agent;
      }
      putCookies(agent, await cookieOf(session));
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

/** @throws {TypeError} where the agent sends no requests */
function asWalking(agent: CookieAgent & Partial<WalkingAgent>): WalkingAgent {
  if (typeof agent.get === 'function' && typeof agent.post === 'function') return agent as WalkingAgent;
  throw new TypeError('hooks: true needs an agent that sends requests, such as request.agent(app) of supertest');
}

function refuseFailure({ status, text = '' }: AgentAnswer): void {
  if (status < 400) return;
  const [, code = ''] = /(?:"code":"|class="reference">)([a-z_]+)/.exec(text) ?? [];
  throw new Error(`The application answered the sign-in with ${status}${code === '' ? '' : ` ${code}`}`);
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
