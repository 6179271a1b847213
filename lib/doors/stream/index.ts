import type { IncomingMessage, ServerResponse } from 'node:http';
import { AuthError } from '../../errors.ts';
import type { AdapterName, Session } from '../../types.ts';
import { partKey } from '../../http/adapter.ts';
import type { AuthRequest } from '../../http/request.ts';
import { admitted } from '../../http/get-session.ts';
import { isClosed } from '../../http/message.ts';

interface Watched {
  readonly session: Session;
  readonly ended: AbortSignal;
}

/** One signal per request and session. */
const watchedPart = partKey<Watched>('watched session');

/**
 * Aborts when the session that a guard has admitted ends while the response is open: by a sign-out or `endSession`, here at once and in
 * other processes within 5 seconds, by a switch of the organization, and when the access token expires and no request has renewed the
 * session. A bearer token is not renewed. Its `reason` is an `AuthError`. For event streams, long polls and subscriptions: end the
 * response then.
 *
 * Only a request that calls it is watched, until its response closes. The signal may have aborted already where you add a listener later.
 *
 * @param adapter asks this one only, where guards of both have let the request pass
 * @throws {ConfigurationError} where no guard of the adapter ran
 * @example sessionEnded(req).addEventListener('abort', () => res.end());
 */
export function sessionEnded(req: IncomingMessage, adapter?: AdapterName): AbortSignal {
  const { request, session } = admitted(req, adapter, 'sessionEnded');
  const known = request.parts.find(watchedPart);
  // A later guard may have admitted a bearer token's session.
  if (known?.session === session) return known.ended;
  return request.parts.set(watchedPart, { session, ended: watch(request, session) }).ended;
}

function watch({ req, res, definition }: AuthRequest, session: Session): AbortSignal {
  const controller = new AbortController();
  const response = closable(req, res);
  // Nothing is left to end, and nothing would end the watch.
  if (isClosed(res)) return controller.signal;
  let isOver = false;
  let stop = (): void => void (isOver = true);
  const close = (): void => stop();
  response.once('close', close);
  const isOfCookie = session.credential === 'cookie';
  const end = (reason: string): void => {
    response.off('close', close);
    controller.abort(new AuthError('unauthenticated', { reason }));
  };
  const watching = definition.resolver.watchSession(session, isOfCookie ? req.headers.cookie : undefined, end, {
    outlivesToken: isOfCookie,
  });
  void watching.then((stopWatch) => {
    if (isOver) stopWatch();
    else stop = stopWatch;
  });
  return controller.signal;
}

/** Engine.IO has an object without events in place of a WebSocket's response. */
function closable(req: IncomingMessage, res: ServerResponse): ServerResponse | IncomingMessage['socket'] {
  return typeof (res.once as unknown) === 'function' ? res : req.socket;
}
