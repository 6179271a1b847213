import { BlockList, isIP } from 'node:net';
import { AuthError } from '../errors.ts';
import { header, isPrefetch, isSubresource } from './message.ts';
import type { HostRequest } from './message.ts';
import type { IncomingMessage } from 'node:http';

/** Who asks, and for which host: the socket, and the headers of a proxy that the application trusts. */

type TrustsProxy = (address: string | undefined, hop: number) => boolean;

/**
 * The application's origin as the visitor sees it. Forwarded headers count only where the application's `trust proxy`
 * setting trusts the peer. This is Express 5's rule, also applied under Express 4, whose `req.host` loses the port.
 *
 * @throws {AuthError} `invalid_host` when the request names no usable host
 */
export function requestOrigin(req: HostRequest): string {
  const host = hostOf(req);
  const origin = host === undefined ? null : URL.parse(`${protocolOf(req)}://${host}`);
  // The parser is lenient (credentials, paths, tabs), so only plain hosts are accepted.
  if (origin === null || host === undefined || !isPlainHost.test(host)) throw new AuthError('invalid_host');
  return origin.origin;
}

/** The client's address by `trust proxy`, else the socket's peer. */
export function peerAddress(req: HostRequest): string | undefined {
  return 'ip' in req && typeof req.ip === 'string' ? req.ip : req.socket.remoteAddress;
}

const isPlainHost = /^(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9.])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** `http` or `https`, as the visitor sees it. */
export function protocolOf(req: HostRequest): 'http' | 'https' {
  const socketProtocol = 'encrypted' in req.socket && req.socket.encrypted === true ? 'https' : 'http';
  return (trustsPeer(req) ? forwardedProtocol(req) : undefined) ?? socketProtocol;
}

/** What a proxy says. Traefik names a WebSocket by `ws` and `wss`, whose origins are those of http and https (RFC 6455 §4.1, §10.2). */
function forwardedProtocol(req: HostRequest): 'http' | 'https' | undefined {
  const said = firstOf(req.headers['x-forwarded-proto']);
  if (said === undefined) return undefined;
  return /^(?:https|wss)$/i.test(said) ? 'https' : 'http';
}

/**
 * Whether a proxy says that visitors use https, and the application does not believe it. A peer from the public internet is no
 * proxy of the application: anyone can send the header.
 */
export function isHttpsIgnored(req: HostRequest): boolean {
  return forwardedProtocol(req) === 'https' && protocolOf(req) === 'http' && isPrivate(req.socket.remoteAddress);
}

function hostOf(req: HostRequest): string | undefined {
  const forwarded = trustsPeer(req) ? firstOf(req.headers['x-forwarded-host']) : undefined;
  // HTTP/2 sends the host in a pseudo-header (RFC 9113 §8.3.1), and `Host` may be missing.
  return forwarded ?? header(req, ':authority') ?? req.headers.host;
}

function trustsPeer(req: HostRequest): boolean {
  const trusts = appSetting(req, 'trust proxy fn');
  return typeof trusts === 'function' && (trusts as TrustsProxy)(req.socket.remoteAddress, 0);
}

/** A setting of the Express application that handles the request, `undefined` where there is none. */
export function appSetting(req: HostRequest, name: string): unknown {
  const { app } = req;
  if (typeof app !== 'function' || !('get' in app) || typeof app.get !== 'function') return undefined;
  return (app.get as (setting: string) => unknown).call(app, name);
}

function firstOf(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  const first = text?.split(',', 1)[0]?.trim();
  return first === '' ? undefined : first;
}

/** Networks of an application's own proxies: loopback, private, shared and link-local addresses (RFC 6890). */
const privateNetworks = new BlockList();
for (const [network, prefix] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
] as const) {
  privateNetworks.addSubnet(network, prefix, 'ipv4');
}
privateNetworks.addAddress('::1', 'ipv6');
privateNetworks.addSubnet('fc00::', 7, 'ipv6');
privateNetworks.addSubnet('fe80::', 10, 'ipv6');

/** Whether a peer may be the application's own proxy. */
export function isPrivate(peer = ''): boolean {
  const [address = ''] = peer.split('%', 1);
  const version = isIP(address);
  return version === 0 || privateNetworks.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

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
  warnOfScheme(req, origin);
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

/**
 * Whether the page is on the application's own origin but for https: a proxy ends TLS, and the application does not know of it.
 *
 * @param origin the application's own origin
 */
export function isOwnButForHttps(req: IncomingMessage, origin: () => string): boolean {
  const from = header(req, 'origin');
  return from !== undefined && from === `https://${req.headers.host}` && origin() === from.replace('https:', 'http:');
}

export const schemeAdvice = "behind a proxy set app.set('trust proxy', 1), or the option appBaseUrl";

/** One process warning, in every environment: sign-ins fail in some browsers, cookies lack `Secure`, and redirect URIs begin with http. */
export function warnOfScheme(req: IncomingMessage, origin: () => string): void {
  if (!isOwnButForHttps(req, origin)) return;
  warnOfProxy(
    `The page is at https://${req.headers.host}, but this application believes it is served over http; ${schemeAdvice}`,
  );
}

/** Where a proxy says that visitors use https; it names no host, because the request that causes it chose its own. @returns what is wrong */
export function warnOfIgnoredHttps(): string {
  const message = `A proxy says that visitors use https, but this application believes it is served over http; ${schemeAdvice}`;
  warnOfProxy(message);
  return message;
}

/** In production. Where a proxy ends TLS, nothing else may say so. */
export function warnOfPlainCookies(): void {
  warnOfProxy(
    `Cookies are sent without Secure, because this application believes it is served over http; ${schemeAdvice}`,
  );
}

let isWarned = false;

/** Once, whichever sign of it comes first. */
function warnOfProxy(message: string): void {
  if (isWarned) return;
  isWarned = true;
  process.emitWarning(message, { code: 'EXPRESS_AUTH_ADAPTERS_TRUST_PROXY' });
}
