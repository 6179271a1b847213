import type { IncomingMessage } from 'node:http';
import { ConfigurationError } from '../errors.ts';
import type { AdapterName, Session, SessionOf } from '../types.ts';
import type { AuthRequest } from './request.ts';
import { firstAuthRequest, passedAs } from './passed-adapters.ts';
import { isOfOtherCopy, otherCopy } from './adapter.ts';
import { stackedHandlers } from './mount/express-stack.ts';
import { mountedElsewhere } from './mount/mounts.ts';
import { jarOf } from './cookie-jar.ts';
import { keepPrivate } from './message.ts';
import type { HostRequest } from './message.ts';

/**
 * The session of whichever adapter is mounted, in mount order, or `null`. Resolved at most once per request.
 *
 * @throws {ConfigurationError} when no adapter was mounted before, or the request has passed two of one name
 * @throws {AuthError} `provider_unavailable` (503) when the access token has expired and the provider is out of reach
 */
export async function getSession(req: IncomingMessage): Promise<Session | null>;
/**
 * The session of one adapter, or `null`.
 *
 * @param adapter asks this one only, and narrows the type
 * @throws {ConfigurationError} when it was not mounted before
 * @throws {AuthError} `provider_unavailable` (503) when the access token has expired and the provider is out of reach
 */
export async function getSession<A extends AdapterName>(req: IncomingMessage, adapter: A): Promise<SessionOf<A> | null>;
export async function getSession(req: IncomingMessage, adapter?: AdapterName): Promise<Session | null> {
  const asked = passedAs(req, adapter, 'getSession');
  const [first] = asked;
  if (first === undefined) throw notMounted('getSession', adapter, req);
  jarOf(first.res).dependOnSession();
  for (const request of asked) {
    const session = await request.resolveSession();
    if (session !== null) {
      keepPrivate(request.res);
      return session;
    }
  }
  return null;
}

/**
 * The session that a guard has admitted: the same as `getSession`, without `await`, and never `null`.
 *
 * @throws {ConfigurationError} where no guard ran
 */
export function currentSession(req: IncomingMessage): Session;
/**
 * The session of one adapter that its guard has admitted.
 *
 * @param adapter asks this one only, and narrows the type
 * @throws {ConfigurationError} where no guard of this adapter ran
 */
export function currentSession<A extends AdapterName>(req: IncomingMessage, adapter: A): SessionOf<A>;
export function currentSession(req: IncomingMessage, adapter?: AdapterName): Session {
  return admitted(req, adapter, 'currentSession').session;
}

/**
 * What a guard has admitted.
 *
 * @param caller the called function's name, for the message
 * @throws {ConfigurationError} where no guard of the adapter ran
 */
export function admitted(
  req: IncomingMessage,
  adapter: AdapterName | undefined,
  caller: 'currentSession' | 'sessionEnded',
): { readonly request: AuthRequest; readonly session: Session } {
  for (const request of passedAs(req, adapter, caller)) {
    if (request.visit.is === 'admitted') return { request, session: request.visit.session };
  }
  const instead = caller === 'currentSession' ? ', or use await getSession(req)' : '';
  throw new ConfigurationError(caller, [
    `no guard has let this request pass; put requireSession() or protectedRoutes in front of the handler${instead}`,
  ]);
}

/** @param what the called function's name, for the message */
export function notMounted(what: string, adapter: AdapterName | undefined, req: IncomingMessage): ConfigurationError {
  const elsewhere = mountedElsewhere(req, adapter, firstAuthRequest(req));
  if (elsewhere !== undefined) return new ConfigurationError(what, [`no adapter has seen this request; ${elsewhere}`]);
  const { app }: HostRequest = req;
  if (stackedHandlers(app).some(isOfOtherCopy)) {
    const problem = 'no adapter of this copy has seen this request, and the application mounts another one';
    return new ConfigurationError(what, [`${problem}: ${otherCopy}`]);
  }
  const name = adapter === 'b2b' ? 'b2bAuth()' : adapter === 'backend' ? 'backendAuth()' : 'b2bAuth() or backendAuth()';
  return new ConfigurationError(what, [`no adapter has seen this request; mount ${name} with app.use() before it`]);
}
