import Negotiator from 'negotiator';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sanitizeReturnTo } from '../tools/paths/return-to.ts';
import { pathOf } from '../tools/paths/request-path.ts';
import { defined } from '../tools/json.ts';
import type { ClientFacts } from '../session/source.ts';

/** HTTP messages: reads requests and sets response headers. */

/** Express' additions to a request; absent under Connect and bare `node:http`. */
export interface HostRequest extends IncomingMessage {
  readonly originalUrl?: string;
  readonly baseUrl?: string;
  readonly app?: unknown;
  /** Of the route and, with `mergeParams`, of the mount path. */
  readonly params?: unknown;
}

/** Whether Express handles the request, so that its rules for paths apply. */
export function isExpress({ app }: HostRequest): boolean {
  return app !== undefined;
}

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
 * Whether the client wants JSON: `Accept` prefers it, the request posts JSON, or Fetch Metadata or htmx
 * shows that it is not a navigation. A bare wildcard or no `Accept` counts as a document.
 */
export function prefersJson(req: IncomingMessage): boolean {
  const { accept } = req.headers;
  if (accept !== undefined && /application\/(?:json|\*)/i.test(accept)) {
    // For a bare wildcard Negotiator returns the first type of this list.
    if (new Negotiator(req).mediaType(['text/html', 'application/json']) === 'application/json') return true;
  }
  if (req.method === 'POST' && isJson(req)) return true;
  return isScripted(req) || isFromHtmx(req);
}

/** Whether the browser says that a script or a part of a page sent it: it is no navigation. */
export function isScripted(req: IncomingMessage): boolean {
  const mode = header(req, 'sec-fetch-mode');
  return mode !== undefined && mode !== 'navigate';
}

/** Browsers send no Fetch Metadata over plain http. @see https://htmx.org/reference/#request_headers */
export function isFromHtmx(req: IncomingMessage): boolean {
  return header(req, 'hx-request') === 'true';
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

/** Whether the connection of a response is closed. A response of HTTP/2 has neither `closed` nor `destroyed` of its own. */
export function isClosed(res: ServerResponse): boolean {
  const { stream } = res as { readonly stream?: { readonly destroyed: boolean } };
  return res.closed || res.destroyed || stream?.destroyed === true;
}

/** Calls a listener once the whole response was sent. One of HTTP/2 also finishes where its stream was canceled. */
export function onceSent(res: ServerResponse, listener: () => void): void {
  const { stream } = res as { readonly stream?: { readonly aborted: boolean; readonly rstCode: number } };
  res.once('finish', () => {
    if (stream === undefined || (!stream.aborted && stream.rstCode === 0)) listener();
  });
}
