import { GoTrueError } from '../errors.ts';
import { json, recordField, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { Passkey } from '../passkeys.ts';
import type { Project } from '../project.ts';
import type { Endpoint, User } from '../types.ts';
import { authenticate } from './authenticate.ts';
import { checkCaptcha } from './captcha.ts';

type Handler = (project: Project, request: StandInRequest) => Promise<Reply> | Reply;

const calls: Readonly<Record<string, readonly [Endpoint, Handler]>> = {
  'POST /auth/v1/passkeys/authentication/options': ['passkey-options', startSignIn],
  'POST /auth/v1/passkeys/authentication/verify': ['passkey-verify', signIn],
  'POST /auth/v1/passkeys/registration/options': ['add-passkey-options', startAdding],
  'POST /auth/v1/passkeys/registration/verify': ['add-passkey', add],
  'GET /auth/v1/passkeys': ['passkeys', list],
  'PATCH /auth/v1/passkeys/:id': ['rename-passkey', rename],
  'DELETE /auth/v1/passkeys/:id': ['remove-passkey', remove],
};

/** The route of a request about passkeys. */
export function passkeyCallOf(method: string, url: URL): readonly [Endpoint, Handler] | undefined {
  const path = url.pathname.replace(/^(\/auth\/v1\/passkeys)\/[^/]+$/, '$1/:id');
  const call = calls[`${method} ${path}`];
  if (call === undefined) return undefined;
  const [endpoint, handle] = call;
  const guarded: Handler = (project, request) => {
    checkEnabled(project);
    return handle(project, request);
  };
  return [endpoint, guarded];
}

function checkEnabled({ switches }: Project): void {
  if (!switches.passkeys) throw new GoTrueError(404, 'passkey_disabled', 'Passkeys are disabled');
}

/** `POST /passkeys/authentication/options`: public. */
function startSignIn({ switches, passkeys }: Project, { body }: StandInRequest): Reply {
  checkCaptcha(switches, body);
  return json(200, passkeys.startSignIn());
}

/** `POST /passkeys/authentication/verify`: a session at aal1. */
async function signIn({ passkeys, users, sessions }: Project, { body }: StandInRequest): Promise<Reply> {
  checkCredential(body);
  const user = users.get(passkeys.signIn(body['challenge_id'], recordField(body, 'credential')));
  if (!user) throw new GoTrueError(400, 'webauthn_verification_failed', 'Credential verification failed');
  if (user.email !== '' && user.confirmedAt === undefined) {
    throw new GoTrueError(403, 'email_not_confirmed', 'Email not confirmed');
  }
  if (user.banned) throw new GoTrueError(403, 'user_banned', 'User is banned');
  return json(200, await sessions.issue(user, { method: 'passkey' }));
}

async function startAdding(project: Project, request: StandInRequest): Promise<Reply> {
  const user = await authenticateAdding(project, request);
  return json(200, project.passkeys.startAdding(user));
}

async function add(project: Project, request: StandInRequest): Promise<Reply> {
  const user = await authenticateAdding(project, request);
  const { body } = request;
  checkCredential(body);
  return json(200, toJson(project.passkeys.add(user, body['challenge_id'], recordField(body, 'credential'))));
}

async function list(project: Project, request: StandInRequest): Promise<Reply> {
  const { user } = await authenticate(project, request);
  return json(200, project.passkeys.of(user.id).map(toJson));
}

async function rename(project: Project, request: StandInRequest): Promise<Reply> {
  const { user } = await authenticate(project, request);
  const name = textField(request.body, 'friendly_name');
  if (name === '') throw new GoTrueError(400, 'validation_failed', 'friendly_name is required');
  if (Buffer.byteLength(name) > 120) {
    throw new GoTrueError(400, 'validation_failed', 'friendly_name must be 120 characters or less');
  }
  const passkey = find(project, user, request);
  passkey.name = name;
  return json(200, toJson(passkey));
}

async function remove(project: Project, request: StandInRequest): Promise<Reply> {
  const { user, session } = await authenticate(project, request);
  checkAal2(user, session.aal);
  project.passkeys.remove(user, find(project, user, request).passkeyId);
  return { status: 204, headers: {}, body: '' };
}

function checkCredential(body: StandInRequest['body']): void {
  if (textField(body, 'challenge_id') === '' || body['credential'] !== undefined) return;
  throw new GoTrueError(400, 'validation_failed', 'credential is required');
}

async function authenticateAdding(project: Project, request: StandInRequest): Promise<User> {
  const { user, session, isAnonymous } = await authenticate(project, request);
  if (isAnonymous)
    throw new GoTrueError(403, 'no_authorization', 'Anonymous user not allowed to perform these actions');
  if (user.isSsoUser) throw new GoTrueError(422, 'validation_failed', 'SSO users cannot register passkeys');
  checkAal2(user, session.aal);
  return user;
}

function checkAal2({ factors }: User, aal: string): void {
  if (aal === 'aal2' || !factors.some(({ isVerified }) => isVerified)) return;
  throw new GoTrueError(403, 'insufficient_aal', 'AAL2 session is required to manage passkeys when MFA is enabled');
}

function find({ passkeys }: Project, user: User, { url }: StandInRequest): Passkey {
  const id = url.pathname.split('/').at(-1);
  const passkey = passkeys.of(user.id).find(({ passkeyId }) => passkeyId === id);
  if (!passkey) throw new GoTrueError(404, 'validation_failed', 'Passkey not found');
  return passkey;
}

function toJson({ passkeyId, name, createdAt, lastUsedAt }: Passkey) {
  return {
    id: passkeyId,
    friendly_name: name,
    created_at: createdAt,
    ...(lastUsedAt === undefined ? {} : { last_used_at: lastUsedAt }),
  };
}
