import { GoTrueError } from '../errors.ts';
import { bearerOf, json, recordField, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import { confirm } from '../project.ts';
import type { Project } from '../project.ts';
import { checkEmail, userJson } from '../users.ts';
import type { User } from '../types.ts';

/** `/admin/users`: what a server does to users with the project's secret key. */
export function adminUsers(project: Project, request: StandInRequest): Reply {
  const { users, sessions, secretKey } = project;
  const { method, url, body, headers } = request;
  if (bearerOf(headers) !== secretKey) throw new GoTrueError(403, 'not_admin', 'User not allowed');
  const [, id] = /^\/auth\/v1\/admin\/users\/([^/]+)$/.exec(url.pathname) ?? [];
  if (id === undefined) {
    return method === 'POST'
      ? json(200, userJson(createUser(project, body)))
      : json(200, { users: users.list().map(userJson), aud: 'authenticated' });
  }
  const user = users.get(id);
  if (!user) throw new GoTrueError(404, 'user_not_found', 'User not found');
  if (method === 'PUT') change(project, user, body);
  if (method === 'DELETE') {
    sessions.signOut('', id, 'global');
    users.remove(id);
  }
  return json(200, method === 'DELETE' ? {} : userJson(user));
}

type Body = StandInRequest['body'];

function createUser({ users }: Project, body: Body): User {
  const [email, password] = [textField(body, 'email'), textField(body, 'password')];
  checkEmail(email);
  if (password !== '') users.checkPassword(password);
  if (users.find(email)) {
    throw new GoTrueError(422, 'email_exists', 'A user with this email address has already been registered');
  }
  const id = textField(body, 'id');
  return users.add({
    email,
    ...(password !== '' && { password }),
    ...(id !== '' && { id }),
    confirmed: body['email_confirm'] === true,
    metadata: recordField(body, 'user_metadata'),
    appMetadata: recordField(body, 'app_metadata'),
  });
}

/** Metadata is merged, field by field; `null` removes one. */
function change(project: Project, user: User, body: Body): void {
  const [email, password, ban] = [
    textField(body, 'email'),
    textField(body, 'password'),
    textField(body, 'ban_duration'),
  ];
  if (email !== '') user.email = email.toLowerCase();
  if (password !== '') {
    project.users.checkPassword(password);
    user.password = password;
  }
  if (ban !== '') user.banned = ban !== 'none';
  if (body['email_confirm'] === true) confirm(project, user);
  user.metadata = merged(user.metadata, recordField(body, 'user_metadata'));
  user.appMetadata = merged(user.appMetadata, recordField(body, 'app_metadata'));
}

function merged(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...before, ...after }).filter(([, value]) => value !== null));
}
