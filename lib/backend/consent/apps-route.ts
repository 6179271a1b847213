import type { AuthRequest } from '../../http/request.ts';
import { AuthError } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import { json, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { ConnectedAppsBody } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { localUrl, readReturnTo } from '../forms/forms.ts';
import { isClientId, listApps, revokeApp } from './oauth-server.ts';
import { appsPage, disconnectPage } from './page.ts';
import { siteFor } from '../pages/parts.ts';
import { signInFirst } from '../sign-in/subject.ts';
import type { Subject } from '../sign-in/subject.ts';
import { leaveFor, memberOf, quiet } from './route.ts';

export { listApps };

/** `GET /oauth/apps`: the apps that act for the user; with `revoke`, the page that asks whether to disconnect one. */
export async function showApps(backend: BackendContext, request: AuthRequest): Promise<Reply> {
  const returnTo = readReturnTo(request);
  return asMember(backend, request, returnTo, async (subject) => {
    const apps = await listApps(backend, request, subject);
    if (request.wantsJson) {
      const body: ConnectedAppsBody = { apps };
      return json(200, body);
    }
    const revoked = request.query.get('revoke');
    const found = apps.find(({ client }) => client.id !== '' && client.id === revoked);
    if (found !== undefined)
      return disconnectPage(siteFor(backend, request), request, { client: found.client, returnTo });
    return appsPage(siteFor(backend, request), request, { apps, returnTo });
  });
}

/** `POST /oauth/apps`: disconnects an app. A page asks first; JSON clients ask by themselves. */
export async function disconnectApp(backend: BackendContext, request: AuthRequest): Promise<Reply> {
  const fields = await readFields(request.req, request.res);
  const returnTo = readReturnTo(request, fields);
  return asMember(backend, request, returnTo, async (subject) => {
    const clientId = fields.get('revoke') ?? '';
    if (!isClientId(clientId)) throw new AuthError('invalid_request');
    const list = (more?: Readonly<Record<string, string>>): string =>
      localUrl(request, backend.settings.paths.connectedApps, returnTo, more);
    const isSure = request.wantsJson || fields.get('sure') === 'yes';
    if (!isSure) return redirectOrJson(request, list({ revoke: clientId }));
    await revokeApp(backend, request, subject, clientId);
    backend.emit({ type: 'grant_revoked', userId: subject.session.user.id, clientId });
    return redirectOrJson(request, list());
  });
}

async function asMember(
  backend: BackendContext,
  request: AuthRequest,
  returnTo: string,
  work: (subject: Subject) => Promise<Reply>,
): Promise<Reply> {
  const path = localUrl(request, backend.settings.paths.connectedApps, returnTo);
  request.errorReturnTo = path;
  const subject = await memberOf(backend, request);
  if (subject === undefined) return quiet(signInFirst(request, path));
  try {
    return quiet(await work(subject));
  } catch (error) {
    const left = await leaveFor(backend, request, { subject, wayBack: path }, error);
    if (left === undefined) throw error;
    return quiet(left);
  }
}
