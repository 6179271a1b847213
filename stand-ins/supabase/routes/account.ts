import { GoTrueError } from '../errors.ts';
import { json } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';
import { userJson } from '../users.ts';
import { everyProvider } from './oauth.ts';
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
  const external = Object.fromEntries(
    [...everyProvider, ...switches.providers].map((name) => [name, switches.providers.has(name)]),
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
