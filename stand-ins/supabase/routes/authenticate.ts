import { GoTrueError } from '../errors.ts';
import { bearerOf } from '../http.ts';
import type { StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';

/** The user and session of a request's access token. @throws GoTrueError */
export async function authenticate({ keys, users, sessions }: Project, { headers }: StandInRequest) {
  const bearer = bearerOf(headers);
  if (bearer === '') {
    throw new GoTrueError(401, 'no_authorization', 'This endpoint requires a valid Bearer token');
  }
  const claims = await keys.verify(bearer);
  const user = users.get(claims.sub ?? '');
  if (!user) throw new GoTrueError(403, 'user_not_found', 'User from sub claim in JWT does not exist');
  const session = sessions.find(String(claims['session_id']));
  if (session?.userId !== user.id) {
    throw new GoTrueError(403, 'session_not_found', 'Session from session_id claim in JWT does not exist');
  }
  if (user.banned) throw new GoTrueError(403, 'user_banned', 'User is banned');
  return { user, session, isAnonymous: claims['is_anonymous'] === true };
}
