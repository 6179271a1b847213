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

/** The `Cookie` header that brings these cookies back. */
export function cookieHeader(writes: readonly CookieWrite[]): string {
  return writes.map(({ name, value = '' }) => `${name}=${encodeCookieValue(value)}`).join('; ');
}
