import { AuthError } from '../errors.ts';
import { json } from '../http/reply.ts';
import type { AuthRoute } from '../http/router.ts';
import type { BackendSessionBody } from '../types.ts';

/** `GET /auth/session`: who is signed in; never a token. */
export function sessionRoute(path: string): AuthRoute {
  return {
    path,
    option: 'sessionPath',
    isJsonOnly: true,
    async get(request) {
      const session = await request.resolveSession();
      if (session?.adapter !== 'backend') throw new AuthError('unauthenticated');
      const body: BackendSessionBody = { authenticated: true, user: session.user };
      return json(200, body);
    },
  };
}
