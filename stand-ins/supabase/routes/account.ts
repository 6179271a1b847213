import { GoTrueError } from '../errors.ts';
import { bearerOf, json, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';
import { userJson } from '../users.ts';
import { authenticate } from './authenticate.ts';

/** `GET /user`: the backend's own verdict on a token. */
export async function user(project: Project, request: StandInRequest): Promise<Reply> {
  return json(200, userJson((await authenticate(project, request)).user));
}

/** `POST /logout?scope=` global (the default), local or others. */
export async function logout(project: Project, request: StandInRequest): Promise<Reply> {
  const { user, session } = await authenticate(project, request);
  const asked = request.url.searchParams.get('scope') ?? '';
  const scope = asked === '' ? 'global' : asked;
  if (!['global', 'local', 'others'].includes(scope)) {
    throw new GoTrueError(400, 'validation_failed', `Unsupported logout scope "${scope}"`);
  }
  project.sessions.signOut(session.id, user.id, scope);
  return { status: 204, headers: {}, body: '' };
}

/** `GET /settings`: public. */
export function settings({ switches }: Project): Reply {
  const known = ['apple', 'azure', 'discord', 'facebook', 'github', 'gitlab', 'google'];
  const external = Object.fromEntries(
    [...known, ...switches.providers].map((name) => [name, switches.providers.has(name)]),
  );
  return json(200, {
    external: {
      ...external,
      anonymous_users: switches.anonymousUsers,
      email: !switches.emailProviderDisabled,
      phone: false,
    },
    disable_signup: switches.signupDisabled,
    mailer_autoconfirm: switches.autoconfirm,
    phone_autoconfirm: false,
    sms_provider: '',
    saml_enabled: switches.ssoDomains !== undefined,
    passkeys_enabled: switches.passkeys,
  });
}

/** `GET` and `POST /rest/v1/notes`: the rows of the bearer token's user, none for the key alone, and no row of another user. */
export async function notes(
  { keys, notes: rows, publishableKey, now }: Project,
  request: StandInRequest,
): Promise<Reply> {
  const bearer = bearerOf(request.headers);
  const claims = await keys.verify(bearer, 30).catch(() => undefined);
  if (!claims && bearer !== '' && bearer !== publishableKey) {
    return json(401, { code: 'PGRST301', details: null, hint: null, message: 'JWT expired or not valid' });
  }
  if (request.method === 'GET') {
    return json(
      200,
      rows.filter(({ user_id }) => user_id === claims?.sub),
    );
  }
  const [userId, body] = [textField(request.body, 'user_id'), textField(request.body, 'body')];
  if (userId === '' || userId !== claims?.sub) {
    const message = 'new row violates row-level security policy for table "notes"';
    return json(403, { code: '42501', details: null, hint: null, message });
  }
  rows.push({ id: rows.length + 1, user_id: userId, body, created_at: new Date(now()).toISOString() });
  return { status: 201, headers: {}, body: '' };
}
