import type { IncomingMessage } from 'node:http';
import { AuthError } from '../errors.ts';
import { header, isPrefetch, isSubresource } from './message.ts';

/**
 * Refuses a state-changing request from another site. `Sec-Fetch-Site` decides where the browser sends it,
 * else `Origin`. A client that sends neither is not a current browser, so it carries no user's cookies.
 *
 * @param origin the application's own origin
 * @param trustedOrigins further origins of the application
 * @throws {AuthError} `cross_site_request`
 */
export function refuseCrossSite(req: IncomingMessage, origin: () => string, trustedOrigins: readonly string[]): void {
  const from = header(req, 'origin');
  if (from !== undefined && trustedOrigins.includes(from)) return;
  const site = header(req, 'sec-fetch-site');
  if (site !== undefined) {
    if (site === 'same-origin' || site === 'none') return;
    throw new AuthError('cross_site_request');
  }
  if (from === undefined || from === origin()) return;
  throw new AuthError('cross_site_request');
}

/**
 * Refuses a GET with side effects unless it is a navigation or comes from the application's own
 * script. Prefetches, images and other sites' scripts are refused.
 *
 * @throws {AuthError} `prefetch_refused` or `cross_site_request`
 */
export function refuseUnintended(req: IncomingMessage, origin: () => string, trustedOrigins: readonly string[]): void {
  if (isPrefetch(req) || isSubresource(req)) throw new AuthError('prefetch_refused');
  const mode = header(req, 'sec-fetch-mode');
  if (mode !== undefined && mode !== 'navigate') refuseCrossSite(req, origin, trustedOrigins);
}
