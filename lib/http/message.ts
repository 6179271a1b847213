import Negotiator from 'negotiator';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sanitizeReturnTo } from '../core/return-to.ts';
import { pathOf } from '../core/request-path.ts';
import { defined } from '../core/json.ts';
import { AuthError } from '../errors.ts';
import { isPrivate } from './private-peer.ts';
import type { ClientFacts } from '../session/source.ts';

/** HTTP messages: reads requests, sets response headers, and stores one value of ours on either object. */

/** Express' additions to a request; absent under Connect and bare `node:http`. */
export interface HostRequest extends IncomingMessage {
  readonly originalUrl?: string;
  readonly baseUrl?: string;
  readonly app?: unknown;
}

type TrustsProxy = (address: string | undefined, hop: number) => boolean;

/** The request target as the client sent it, before routers strip a part of it. */
export function requestTarget(req: HostRequest): string {
  return req.originalUrl ?? req.url ?? '/';
}

/** A path as Express compares it by default: any case, with or without a trailing slash. */
export function comparablePath(path: string): string {
  const lower = path.toLowerCase();
  return lower.length > 1 && lower.endsWith('/') ? lower.slice(0, -1) : lower;
}

/** The path under which the router is mounted, without a trailing slash; `''` at the root. */
export function mountPath(req: HostRequest): string {
  // Express provides it. Connect only strips it from `url`; there the router itself is mounted at ''.
  if (req.app !== undefined) return req.baseUrl ?? '';
  const full = pathOf(requestTarget(req));
  const rest = pathOf(req.url ?? '/');
  if (rest === '/' && !full.endsWith('/')) return full;
  return full.endsWith(rest) ? full.slice(0, full.length - rest.length) : '';
}

/**
 * Whether a mount path is safe in URLs. A pattern such as `/:tenant` takes it from the request, and
 * `//host` or `/\\host` would lead to another site.
 */
export function isSafeMountPath(prefix: string): boolean {
  if (prefix === '') return true;
  const path = `${prefix}/x`;
  return pathOf(path) === path && sanitizeReturnTo(path, { fallback: '/', isOwnRoute: () => false }) === path;
}

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
  const forwarded = trustsPeer(req) ? firstOf(req.headers['x-forwarded-proto']) : undefined;
  if (forwarded === undefined) return socketProtocol;
  return forwarded.toLowerCase() === 'https' ? 'https' : 'http';
}

/**
 * Whether a proxy says that visitors use https, and the application does not believe it. A peer from the public internet is no
 * proxy of the application: anyone can send the header.
 */
export function isHttpsIgnored(req: HostRequest): boolean {
  const isSaid = firstOf(req.headers['x-forwarded-proto']) === 'https';
  return isSaid && protocolOf(req) === 'http' && isPrivate(req.socket.remoteAddress);
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

/**
 * Whether the client wants JSON: `Accept` prefers it, the request posts JSON, or Fetch Metadata
 * shows that it is not a navigation. A bare wildcard or no `Accept` counts as a document.
 */
export function prefersJson(req: IncomingMessage): boolean {
  const { accept } = req.headers;
  if (accept !== undefined && /application\/(?:json|\*)/i.test(accept)) {
    // For a bare wildcard Negotiator returns the first type of this list.
    if (new Negotiator(req).mediaType(['text/html', 'application/json']) === 'application/json') return true;
  }
  if (req.method === 'POST' && isJson(req)) return true;
  const mode = header(req, 'sec-fetch-mode');
  return mode !== undefined && mode !== 'navigate';
}

function isJson(req: IncomingMessage): boolean {
  return /^application\/json\s*(?:;|$)/i.test(req.headers['content-type'] ?? '');
}

/** A header that should occur once; the first value if it occurs more often. */
export function header(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

export function isPrefetch(req: IncomingMessage): boolean {
  return /\b(?:prefetch|prerender)\b/i.test(header(req, 'sec-purpose') ?? header(req, 'purpose') ?? '');
}

/**
 * Whether the browser loads the URL as part of a page (such as an image, a script or a stylesheet) instead of
 * navigating to it or fetching it from a script. Fetch Metadata: https://www.w3.org/TR/fetch-metadata/
 */
export function isSubresource(req: IncomingMessage): boolean {
  return header(req, 'sec-fetch-mode') === 'no-cors';
}

/** The client data that a provider receives. */
export function clientFacts(req: HostRequest, ipAddress: string | undefined): ClientFacts {
  return defined({ ipAddress, userAgent: header(req, 'user-agent') });
}

/** Adds a field to `Vary` and keeps existing ones (RFC 9110 §12.5.5). */
export function varyOn(res: ServerResponse, field: string): void {
  const present = res.getHeader('vary');
  if (present === undefined) {
    res.setHeader('Vary', field);
    return;
  }
  const fields = [present].flat().join(', ');
  const listed = fields.split(',').map((each) => each.trim().toLowerCase());
  if (!listed.includes('*') && !listed.includes(field.toLowerCase())) res.setHeader('Vary', `${fields}, ${field}`);
}

/**
 * Whether headers can still be set. Engine.IO passes middleware an object for a websocket that is
 * not a `ServerResponse`: it has no `headersSent`, and its setters throw after the handshake.
 */
export function isHeadOpen(res: ServerResponse): boolean {
  const isSent: unknown = res.headersSent;
  return isSent === false;
}

/** Headers of a page that depends on the session, whatever was set before; a later handler may replace them. */
export function keepPrivate(res: ServerResponse): void {
  if (!isHeadOpen(res)) return;
  res.setHeader('Cache-Control', 'private, no-store');
  varyOn(res, 'Cookie');
}
