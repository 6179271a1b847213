import { encodeCookieValue } from '../core/cookies.ts';
import type { CookieWrite } from '../core/cookies.ts';

/** What is needed of `request.agent(app)`; supertest's and superagent's agents have it. */
export interface CookieAgent {
  readonly jar: { setCookie(cookie: string, domain: string, path: string): unknown };
}

/** Where agents find an application that runs in the test's own process. */
const hosts = ['127.0.0.1', 'localhost'];

/** More chunks than a session may have. */
const maxChunks = 8;

/**
 * Puts a session's cookies where the agent keeps those that servers send it, so that the application can renew and delete them, and
 * takes away what an earlier session left there.
 */
export function putCookies(agent: CookieAgent, cookieName: string, writes: readonly CookieWrite[]): void {
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

/** A cookie as Playwright's `storageState` holds it. */
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

/** What Playwright's `browser.newContext({ storageState })` takes: https://playwright.dev/docs/api/class-browser */
export interface StorageState {
  cookies: StoredCookie[];
  origins: never[];
}

/**
 * These cookies, as a browser keeps them for an origin.
 *
 * @throws {TypeError} for an origin that is not an http or https URL
 */
export function storageState(origin: string, writes: readonly CookieWrite[]): StorageState {
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

/** The `Cookie` header that brings these cookies back. */
export function cookieHeader(writes: readonly CookieWrite[]): string {
  return writes.map(({ name, value = '' }) => `${name}=${encodeCookieValue(value)}`).join('; ');
}
