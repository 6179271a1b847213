import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Router } from 'express';
import * as v from 'valibot';
import { AuthError, headerText } from '../../errors.ts';
import type { Session } from '../../types.ts';
import { NotAccepted } from '../../http/accept.ts';
import { definitionOf } from '../../http/adapter.ts';
import type { Adapter } from '../../http/adapter.ts';
import { warnOfScheme } from '../../http/origin.ts';
import { AuthRequest } from '../../http/request.ts';
import { bearerSession, bearerToken } from '../../http/guard/bearer.ts';
import { errorBody } from '../../http/error-reply.ts';
import { clientFacts, header } from '../../http/message.ts';
import type { ExactOptionsOf } from '../../options/shared.ts';
import {
  checkEntry,
  credentialEntries,
  outageEntries,
  readRequirements,
  refuseUnconfirmed,
} from '../../http/guard/require-session.ts';

/** As an ES module, node:http also loads undici in Node 24, which takes longer than everything else here. */
const http = () => process.getBuiltinModule('node:http');

export interface UpgradeOptions extends ExactOptionsOf<typeof credentialEntries>, ExactOptionsOf<typeof outageEntries> {
  /** Called with the session; only `true` lets it pass. */
  readonly check?: (session: Session, req: IncomingMessage) => boolean | Promise<boolean>;
}

const schema = v.strictObject({ check: checkEntry, ...credentialEntries, ...outageEntries });

export interface AuthenticatedUpgrade {
  readonly session: Session;
  /**
   * Aborts when the session ends: by a sign-out or `endSession`, here at once and in other processes within 5 seconds, and when the
   * access token expires. Its `reason` is an `AuthError`. Close the connection then, also where it is aborted already when you add
   * your listener.
   */
  readonly ended: AbortSignal;
}

/**
 * The session of a WebSocket handshake, for the server's `upgrade` event, which Express does not handle. No token is
 * refreshed here, because the response cannot set a cookie. A client with an expired token first requests any route.
 *
 * `Origin` must be the application's own (`appBaseUrl`, else the request's) or in `trustedOrigins`. A cookie
 * counts only with it, because any page in a browser may open a WebSocket; a bearer token may come without.
 *
 * @param auth what `b2bAuth()` or `backendAuth()` returned
 * @throws {AuthError} whose `status` is the answer: 401 without a session, also where it ended during the handshake, 403 for another origin, for a session that `accept` refuses or
 * a `check` that is not `true`, 503 where only the provider could tell; hand it to `refuseUpgrade`
 * @throws {ConfigurationError} where `auth` is something else, and for unknown or undefined options
 * @see https://datatracker.ietf.org/doc/html/rfc6455#section-10.2
 */
export async function authenticateUpgrade(
  auth: Router,
  req: IncomingMessage,
  options: UpgradeOptions = {},
): Promise<AuthenticatedUpgrade> {
  const definition = definitionOf('authenticateUpgrade', auth);
  readRequirements('authenticateUpgrade', schema, options);
  const { credentials = ['cookie'], check, clients = [], whenCoordinatorDown } = options;
  // Node has removed its own listener, and an `error` without a listener ends the process.
  if (!req.socket.listeners('error').includes(ignoreError)) req.socket.on('error', ignoreError);
  // The response of an upgrade is written directly to the socket, so this one is a placeholder.
  const request = new AuthRequest(definition, req, new (http().ServerResponse)(req), '');
  const from = originOf(request);
  const isBearer = credentials.includes('bearer') && bearerToken(req) !== undefined;
  const session = isBearer
    ? await bearerSession(request, { clients: new Set(clients) })
    : await cookieSession(request, credentials);
  // Another site's page can make the browser send the cookie, but it cannot omit `Origin`.
  if (!isBearer && from === 'none') throw new AuthError('cross_site_request');
  if (whenCoordinatorDown === 'refuse') refuseUnconfirmed('authenticateUpgrade', request, session);
  const isAllowed: unknown = check === undefined || (await check(session, req));
  if (isAllowed !== true) throw new AuthError('forbidden');
  const ended = await endOf(definition, session, isBearer ? undefined : req.headers.cookie, req.socket);
  // The application was asked meanwhile, for as long as it likes; another process may have ended it before.
  ended.throwIfAborted();
  return { session, ended };
}

/** The socket is closed after an error. */
function ignoreError(): void {
  // Its `close` stops the watch.
}

/** @throws {AuthError} `cross_site_request` for the origin of another site, `invalid_host` */
function originOf(request: AuthRequest): 'own' | 'none' {
  const from = header(request.req, 'origin');
  if (from === undefined) return 'none';
  if (from === request.origin || request.definition.trustedOrigins.includes(from)) return 'own';
  warnOfScheme(request.req, () => request.origin);
  throw new AuthError('cross_site_request');
}

/** @throws {AuthError} `unauthenticated`, `not_accepted` or `provider_unavailable` */
async function cookieSession(
  request: AuthRequest,
  credentials: NonNullable<UpgradeOptions['credentials']>,
): Promise<Session> {
  const { definition, req, peer } = request;
  // A 401 names a scheme that would help; there is none for cookies (RFC 9110 §11.6.1).
  const challenge = credentials.includes('bearer') ? { challenge: 'Bearer' } : {};
  if (!credentials.includes('cookie')) throw new AuthError('unauthenticated', challenge);
  const { cookie } = req.headers;
  const known = definition.resolver.cachedSession(cookie);
  // The head counts as sent from the start, so that no token is spent.
  const resolve = () => request.waits.count(definition.resolver.resolve(cookie, () => true, clientFacts(req, peer)));
  const session = known ?? (await resolve()).session;
  if (session === null) throw new AuthError('unauthenticated', challenge);
  if (!(await request.accepts(session))) throw new NotAccepted(session);
  return session;
}

async function endOf(
  { resolver }: Adapter,
  session: Session,
  cookieHeader: string | undefined,
  socket: IncomingMessage['socket'],
): Promise<AbortSignal> {
  const controller = new AbortController();
  const stop = await resolver.watchSession(session, cookieHeader, (reason) => {
    socket.off('close', stopOnClose);
    controller.abort(new AuthError('unauthenticated', { reason }));
  });
  function stopOnClose(): void {
    stop();
  }
  if (socket.destroyed) stop();
  else if (!controller.signal.aborted) socket.once('close', stopOnClose);
  return controller.signal;
}

/** How long a client has to read a refusal, and what it asked for before. */
const refusalMs = 3_000;

/**
 * Answers a handshake with the error as plain HTTP, and closes the connection.
 *
 * @param socket of the server's `upgrade` event
 * @param error what `authenticateUpgrade` rejected with; anything but an `AuthError` is a 500 without details
 */
export function refuseUpgrade(socket: Duplex, error: unknown): void {
  // The client may have disconnected already.
  socket.on('error', () => socket.destroy());
  // It may also never read what an earlier request on this connection asked for, and the server no longer limits its time.
  const deadline = setTimeout(() => socket.destroy(), refusalMs).unref();
  socket.once('close', () => clearTimeout(deadline));
  const isOurs = error instanceof AuthError;
  const status = isOurs ? error.status : 500;
  const body = JSON.stringify(
    isOurs ? errorBody(error) : { error: { status, code: 'internal_error', message: 'Something went wrong.' } },
  );
  const head = [
    `HTTP/1.1 ${status} ${http().STATUS_CODES[status] ?? 'Error'}`,
    'Connection: close',
    'Cache-Control: private, no-store',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(isOurs && error.code === 'invalid_token' ? ['WWW-Authenticate: Bearer error="invalid_token"'] : []),
    ...Object.entries(isOurs ? error.headers : {}).map(([name, value]) => `${name}: ${headerText(value)}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
