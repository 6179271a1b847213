import type { Router } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createLazy } from '../../tools/bounded-map.ts';
import { signInFailed } from '../../session/events.ts';
import type { B2bTokens, BackendTokens, RedirectBody } from '../../types.ts';
import { definitionOf, partKey } from '../../http/adapter.ts';
import type { Adapter } from '../../http/adapter.ts';
import { passedAs } from '../../http/passed-adapters.ts';
import { refuse } from '../../http/error-reply.ts';
import type { AuthRequest } from '../../http/request.ts';
import { asError, passToNext } from '../../http/next.ts';
import type { Next } from '../../http/next.ts';
import { notMounted } from '../../http/get-session.ts';
import { refuseCrossSite } from '../../http/origin.ts';
import { refuseSent } from './store-tokens.ts';
import type { StoreTokens } from './store-tokens.ts';

export interface StoreSessionOptions {
  /** A root-relative path of this origin, at most 2,048 characters; anything else leads to the start page. */
  readonly returnTo?: unknown;
}

const storePart = partKey<() => Promise<StoreTokens>>('store-session');

/** Loaded with the first use: most applications have no flow of their own. */
function storeOf({ adapter, parts }: Adapter): Promise<StoreTokens> {
  const load = async (): Promise<StoreTokens> =>
    adapter === 'b2b'
      ? (await import('./b2b.ts')).createStoreTokens(parts)
      : (await import('./backend.ts')).createStoreTokens(parts);
  return (parts.find(storePart) ?? parts.set(storePart, createLazy(load)))();
}

/**
 * Makes tokens that the application has the session of this browser: the sign-in of one's own flow. They pass what every sign-in
 * passes (verification, `accept`, a second factor, `onSignIn`), and the cookie replaces that of any former session. Refused tokens
 * store nothing, and the former session stays. Tokens that a renewal has replaced are among them: the browser keeps the newer ones.
 *
 * Call `requireSameOrigin(req)` before it: without it, another site can sign a browser in to an account of its choice.
 *
 * @param auth the return value of `b2bAuth()` or `backendAuth()`, mounted before the route
 * @param tokens of `b2bAuth`: the answer of `authenticateWith…` of WorkOS' SDK; of `backendAuth`: `{ access_token, refresh_token }`
 * @returns where to go next: `returnTo`, what `onSignIn` returned, or the page that asks for the second factor
 * @throws {AuthError} `tokens_refused` (422), `not_accepted` (403), `organization_required` (403), `session_too_large` (422),
 * `provider_unavailable` (503), or what `onSignIn` throws
 * @throws {ConfigurationError} where `auth` was not mounted before, or the response's headers are already sent
 * @example
 * requireSameOrigin(req);
 * res.json(await storeSession(auth, req, res, tokens, { returnTo: req.body.returnTo }));
 */
export async function storeSession(
  auth: Router,
  req: IncomingMessage,
  res: ServerResponse,
  tokens: B2bTokens | BackendTokens,
  { returnTo }: StoreSessionOptions = {},
): Promise<RedirectBody> {
  const request = requestOf(auth, req);
  refuseSent(request, 'storeSession', res);
  request.startedAt = performance.now();
  try {
    const store = await storeOf(request.definition);
    return { redirectTo: await store(request, tokens, request.returnTo(returnTo)) };
  } catch (error) {
    request.definition.emit(signInFailed(error), request.startedAt);
    throw error;
  } finally {
    // The application answers next.
    await request.settled();
  }
}

function requestOf(auth: unknown, req: IncomingMessage): AuthRequest {
  const definition = definitionOf('storeSession', auth);
  const request = passedAs(req, definition.adapter, 'storeSession').find((passed) => passed.definition === definition);
  if (request === undefined) throw notMounted('storeSession', definition.adapter, req);
  return request;
}

/**
 * Refuses a request that another site's page sent, by the rule of our own POST routes: `Sec-Fetch-Site` decides where the browser
 * sends it, else `Origin`. The option `trustedOrigins` lists further origins; where two adapters are mounted, both have to trust one.
 *
 * Called with a request it throws. As a middleware it answers by itself, as a guard does: a page or JSON, or `onError`.
 *
 * @throws {AuthError} `cross_site_request` (403)
 * @throws {ConfigurationError} when no adapter was mounted before; a middleware passes it to `next`
 * @example app.post('/auth/google', requireSameOrigin, handler);
 */
export function requireSameOrigin(req: IncomingMessage, _res?: ServerResponse, next?: Next): void {
  let asked: AuthRequest | undefined;
  try {
    const passed = passedAs(req, undefined, 'requireSameOrigin');
    if (passed.length === 0) throw notMounted('requireSameOrigin', undefined, req);
    for (const request of passed) {
      asked = request;
      refuseCrossSite(req, () => request.origin, request.definition.trustedOrigins);
    }
  } catch (error) {
    // As a middleware it must never let a request wait.
    if (typeof next !== 'function') throw error;
    if (asked === undefined) passToNext(next, asError(error));
    else refuse(asked, error, next);
    return;
  }
  next?.();
}
