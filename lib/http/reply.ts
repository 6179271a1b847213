import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { asError, passToNext } from './next.ts';
import type { Next } from './next.ts';
import { isFromHtmx, isHeadOpen, varyOn } from './message.ts';
import { render } from '../tools/html.ts';
import type { Html } from '../tools/html.ts';
import type { BuiltInPage, RenderPage } from '../pages/view.ts';

/** A handler's response; only `sendReply` sends it, so that no route omits a header. The jar carries the cookies. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the body shows texts of the built-in pages. */
  readonly hasTexts?: boolean;
  /** Where the answer sends a script's page on, without a `Location` that the script would follow by itself. */
  readonly leadsTo?: string;
  readonly body?:
    | { readonly kind: 'json'; readonly value: unknown }
    | {
        readonly kind: 'page';
        readonly markup: Html;
        readonly policy: string;
        /** The same as data. */
        readonly view: BuiltInPage;
      }
    | {
        readonly kind: 'asset';
        readonly text: string;
        readonly type: string;
        /** The URL contains the text's hash, so every cache may keep it (RFC 8246). */
        readonly isImmutable?: boolean;
        /** Seconds for which every cache may keep it. */
        readonly maxAge?: number;
      };
}

/** What an adapter says of its replies. */
export interface ReplyRules {
  readonly keepsOpener?: boolean;
  /** The origins that a form's answer may lead to. */
  readonly trustedOrigins?: readonly string[];
  /** Whether `Accept-Language` picks the texts. Default false. */
  readonly brands?: { readonly arePicked: boolean };
  readonly renderPage?: RenderPage | undefined;
}

/** The request that a reply answers. */
interface Answered {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly definition?: ReplyRules;
}

/** 302 from a GET, 303 after a POST or from a callback, 307 from a guard (RFC 9110 §15.4). */
export function redirect(status: 302 | 303 | 307, location: string): Reply {
  return { status, headers: { Location: location } };
}

export function json(status: number, value: unknown): Reply {
  return { status, body: { kind: 'json', value } };
}

/** The hash for the URL of an asset. The first hash of a process loads OpenSSL, so none is made while this package loads. */
export function createAssetHash(text: string): () => string {
  let hash: string | undefined;
  return () => (hash ??= createHash('sha256').update(text).digest('base64url').slice(0, 16));
}

/** The next URL: as JSON for a JSON client, else as a redirect; by default the one after a POST. */
export function redirectOrJson(
  request: { readonly wantsJson: boolean; urlOf(path: string): string },
  next: string,
  status: 302 | 303 = 303,
): Reply {
  const redirectTo = request.urlOf(next);
  return request.wantsJson ? { ...json(200, { redirectTo }), leadsTo: redirectTo } : redirect(status, redirectTo);
}

/** @param policy its Content-Security-Policy */
export function page(status: number, markup: Html, policy: string, view: BuiltInPage): Reply {
  return { status, hasTexts: true, body: { kind: 'page', markup, policy, view } };
}

const pageHeaders = {
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
};

export function sendReply({ req, res, definition }: Answered, reply: Reply): void {
  // Another middleware has already responded.
  if (res.headersSent) return;
  if (!isHeadOpen(res)) {
    // A websocket's handshake has no response of ours: ending it refuses the handshake.
    res.end();
    return;
  }
  setHead({ req, res }, reply, definition);
  const [type, text] = contentOf(reply.body);
  if (type !== undefined) res.setHeader('Content-Type', type);
  if (reply.status !== 204) res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(req.method === 'HEAD' ? undefined : text);
}

/**
 * Sends a reply. A page first goes to `pages.render`, with the status and the headers of the built-in one, except for its
 * Content-Security-Policy. Where `render` declines, the built-in page is sent; its error is the application's own and goes to `next`.
 * It has no deadline: where the built-in page was sent meanwhile, a late `res.render` would throw outside of every `try`.
 */
export async function showReply(request: Answered, reply: Reply, next: Next): Promise<void> {
  const { req, res, definition } = request;
  const view = reply.body?.kind === 'page' ? reply.body.view : undefined;
  if (definition?.renderPage === undefined || view === undefined || !isHeadOpen(res)) {
    sendReply(request, reply);
    return;
  }
  openHead(request, reply);
  try {
    // Outside Express, `req` and `res` lack Express' additions. `res.render` adds members to the object that it is given.
    const isRendered = await definition.renderPage(req as Request, res as Response, { ...view });
    if ((isRendered as unknown) === true || !isHeadOpen(res)) return;
  } catch (error) {
    closeHead(request, reply);
    passToNext(next, asError(error));
    return;
  }
  sendReply(request, reply);
}

/** An error handler chooses the status itself, and must not send the visitor on. */
function closeHead({ res }: Answered, { headers = {} }: Reply): void {
  if (!isHeadOpen(res)) return;
  res.statusCode = 200;
  for (const name of Object.keys(headers)) res.removeHeader(name);
}

/** For a page that the application writes: its own script, style and images need a policy of its own. */
export function openHead({ req, res, definition }: Answered, reply: Reply): void {
  const policy = res.getHeader('content-security-policy');
  setHead({ req, res }, reply, definition);
  if (policy === undefined) res.removeHeader('content-security-policy');
  else res.setHeader('Content-Security-Policy', policy);
  // Of all pages: with `no-referrer` some browsers send `Origin: null` with its form. Other sites see nothing either way.
  res.setHeader('Referrer-Policy', 'same-origin');
}

function setHead({ req, res }: Answered, reply: Reply, rules?: ReplyRules): void {
  res.statusCode = reply.status;
  setHeaders(res, reply, rules);
  const leadsTo = reply.leadsTo ?? reply.headers?.['Location'];
  // htmx shows an answer inside of its page, and follows this header out of it.
  if (leadsTo !== undefined && isFromHtmx(req)) res.setHeader('HX-Redirect', leadsTo);
  // An unread body must not keep the connection open: it may never end.
  if (hasBody(req) && !req.complete && req.httpVersionMajor < 2) res.setHeader('Connection', 'close');
}

function setHeaders(
  res: ServerResponse,
  { headers = {}, hasTexts = false, body }: Reply,
  { keepsOpener = false, brands, trustedOrigins = [] }: ReplyRules = {},
): void {
  if (body?.kind === 'asset' && body.isImmutable === true) {
    res.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
  } else if (body?.kind === 'asset' && body.maxAge !== undefined) {
    res.setHeader('Cache-Control', `public, max-age=${body.maxAge}`);
  } else {
    res.setHeader('Cache-Control', 'private, no-store');
    varyOn(res, 'Cookie');
  }
  // The same URL may answer JSON, at least with an error; only assets have no such other answer.
  if (body?.kind !== 'asset') varyOn(res, 'Accept');
  if (hasTexts && brands?.arePicked === true) varyOn(res, 'Accept-Language');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  // Not `no-referrer`: with it browsers send `Origin: null` with our own forms.
  res.setHeader('Referrer-Policy', 'same-origin');
  // Redirects count, too: an application's own header, such as helmet's, would cut off the opener there.
  if (body?.kind === 'page' || (keepsOpener && headers['Location'] !== undefined))
    res.setHeader('Cross-Origin-Opener-Policy', keepsOpener ? 'unsafe-none' : 'same-origin');
  const ofPages: Reply['headers'] =
    body?.kind === 'page'
      ? { ...pageHeaders, 'Content-Security-Policy': withTargets(body.policy, trustedOrigins) }
      : {};
  for (const [name, value] of Object.entries({ ...headers, ...ofPages })) res.setHeader(name, value);
}

/** Browsers check the redirect that answers a form, too (CSP3 §6.4.1). */
function withTargets(policy: string, origins: readonly string[]): string {
  return policy.replace("form-action 'self'", (self) => [self, ...origins].join(' '));
}

function contentOf(body: Reply['body']): readonly [type: string | undefined, text: string] {
  switch (body?.kind) {
    case 'json':
      return ['application/json; charset=utf-8', JSON.stringify(body.value)];
    case 'page':
      return ['text/html; charset=utf-8', render(body.markup)];
    case 'asset':
      return [body.type, body.text];
    case undefined:
      return [undefined, ''];
  }
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || (req.headers['content-length'] ?? '0') !== '0';
}
