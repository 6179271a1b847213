import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { passedAs } from '../../http/passed-adapters.ts';
import type { AuthRequest } from '../../http/request.ts';
import { flowAttributes, flowMaxAge } from '../../http/cookie-jar.ts';
import { notMounted } from '../../http/get-session.ts';
import { keepPrivate } from '../../http/message.ts';
import { refuseSent } from './store-tokens.ts';

/** Both forms of a nonce: the provider signs one into the id token, and the verifier of the token gets the other. */
export interface Nonce {
  /** For the verifier: `signInWithIdToken({ provider, token, nonce })`. */
  readonly nonce: string;
  /** Lower-case hex SHA-256 of `nonce`, for Google's `nonce` and Apple's. */
  readonly hashed: string;
}

interface StoredNonce {
  readonly nonce: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Age from which a page gets a nonce of its own, in milliseconds: until then tabs share one, so that none ends another's sign-in. */
const sharedMs = (flowMaxAge * 1000) / 2;
/** Milliseconds by which the clocks of several processes may differ. */
const skewMs = 60_000;
/** The time in base 36, and 256 random bits. */
const form = /^(?<time>[\da-z]{1,10})\.(?<nonce>[\w-]{43})$/;

/**
 * A nonce that binds an id token to this browser: hand `hashed` to the provider's button, and `takeNonce` to the verifier. It is kept
 * in an HttpOnly cookie for ten minutes and used once.
 *
 * @throws {ConfigurationError} when no adapter was mounted before, or the response's headers are already sent
 * @see https://supabase.com/docs/guides/auth/social-login/auth-google#using-personalized-sign-in-buttons-one-tap-or-automatic-signin
 */
export function createNonce(req: IncomingMessage, res: ServerResponse): Nonce {
  const request = requestOf(req, res, 'createNonce');
  const { now } = request.definition;
  const known = read(request);
  const isShared = known !== undefined && now() - known.createdAt < sharedMs;
  const nonce = isShared ? known.nonce : randomBytes(32).toString('base64url');
  // The page holds it.
  keepPrivate(res);
  if (!isShared) write(request, `${Math.floor(now()).toString(36)}.${nonce}`);
  return { nonce, hashed: createHash('sha256').update(nonce).digest('hex') };
}

/**
 * The nonce that `createNonce` gave this browser, and the end of it: the response deletes its cookie.
 *
 * @returns `null` where there is none, it is older than ten minutes, or more than one is there: a sibling domain may have set one
 * @throws {ConfigurationError} when no adapter was mounted before, or the response's headers are already sent
 */
export function takeNonce(req: IncomingMessage, res: ServerResponse): string | null {
  const request = requestOf(req, res, 'takeNonce');
  const known = read(request);
  if (valuesIn(request).length > 0) write(request, undefined);
  return known?.nonce ?? null;
}

/** Id tokens are mostly for Supabase, so its adapter's cookie is used where both are mounted. */
function requestOf(req: IncomingMessage, res: ServerResponse, caller: string): AuthRequest {
  const passed = passedAs(req, undefined, caller);
  const request = passed.find(({ definition }) => definition.adapter === 'backend') ?? passed[0];
  if (request === undefined) throw notMounted(caller, undefined, req);
  refuseSent(request, caller, res);
  return request;
}

function nameOf({ definition }: AuthRequest): string {
  return `${definition.cookieName}-nonce`;
}

/** Those of the request, unless this response has written another one or deleted them. */
function valuesIn(request: AuthRequest): readonly string[] {
  const name = nameOf(request);
  const last = request.written.findLast((write) => write.name === name);
  if (last !== undefined) return last.value === undefined ? [] : [last.value];
  return request.cookies.get(name) ?? [];
}

function read(request: AuthRequest): StoredNonce | undefined {
  const [value, ...others] = new Set(valuesIn(request));
  const { time, nonce } = form.exec(value ?? '')?.groups ?? {};
  if (time === undefined || nonce === undefined || others.length > 0) return undefined;
  const createdAt = parseInt(time, 36);
  const age = request.definition.now() - createdAt;
  return age < flowMaxAge * 1000 && age > -skewMs ? { nonce, createdAt } : undefined;
}

function write(request: AuthRequest, value: string | undefined): void {
  const { sameSite } = request.definition.cookieOptions;
  const attributes = { ...flowAttributes(sameSite), httpOnly: true };
  request.writeCookies([{ name: nameOf(request), value, attributes }]);
}
