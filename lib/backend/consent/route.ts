import { withQuery } from '../../tools/url.ts';
import { defined } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import { NotAccepted } from '../../http/accept.ts';
import type { AuthRequest } from '../../http/request.ts';
import { readFields } from '../../http/body.ts';
import { header } from '../../http/message.ts';
import { accountName } from '../../pages/texts.ts';
import { json } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import { askSecondFactor } from '../../http/guard/step-up.ts';
import type { ConsentBody, OAuthClientInfo } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { isSessionOver } from '../supabase/account.ts';
import { allowedClient, askAuthorization, decide, readAuthorizationId } from './oauth-server.ts';
import type { ConsentRequest } from './oauth-server.ts';
import { consentPage, startAgainPage, toAppPage } from './page.ts';
import { readRedirectAddress } from './redirect-address.ts';
import { siteFor } from '../pages/parts.ts';
import { stepAfter } from '../sign-in/step-up.ts';
import { endOver, sessionOf, signInFirst } from '../sign-in/subject.ts';
import type { Subject } from '../sign-in/subject.ts';

/** `GET /oauth/consent`: the page to which the project's OAuth server sends people, or the app's address where they allowed it before. */
export async function showConsent(backend: BackendContext, request: AuthRequest): Promise<Reply> {
  refuseFrame(request);
  return answer(backend, request, request.query.get('authorization_id'), async (asked) => {
    const found = await askAuthorization(backend, asked);
    if (found.kind === 'granted') return goOn(backend, request, found, 302);
    const { client, redirectUri, scopes } = found;
    const { session } = asked.subject;
    if (request.wantsJson) {
      const body: ConsentBody = { client: { ...client, redirectUri }, scopes, user: session.user };
      return json(200, body);
    }
    const returnTo = wayBackOf(backend, request, asked.id);
    const state = { client, redirectUri, scopes, returnTo, authorizationId: asked.id, account: accountName(session) };
    return consentPage(siteFor(backend, request), request, state);
  });
}

/** `POST /oauth/consent`: `action` is `allow` or `deny`. */
export async function answerConsent(backend: BackendContext, request: AuthRequest): Promise<Reply> {
  const fields = await readFields(request.req, request.res);
  const action = fields.get('action');
  return answer(backend, request, fields.get('authorization_id'), async (asked) => {
    if (action !== 'allow' && action !== 'deny') throw new AuthError('invalid_request');
    const decided = await decide(backend, asked, action);
    const type = action === 'allow' ? 'consent_given' : 'consent_denied';
    backend.emit({ type, userId: asked.subject.session.user.id, ...defined({ clientId: decided.client?.id }) });
    return goOn(backend, request, decided, 303);
  });
}

/** Both, after a complete sign-in: the grant of a first factor alone would outlive it. */
async function answer(
  backend: BackendContext,
  request: AuthRequest,
  given: string | null | undefined,
  work: (asked: ConsentRequest) => Promise<Reply>,
): Promise<Reply> {
  let asked: ConsentRequest | undefined;
  let subject: Subject | undefined;
  request.errorReturnTo = request.home;
  try {
    const id = readAuthorizationId(given);
    const returnTo = wayBackOf(backend, request, id);
    request.errorReturnTo = returnTo;
    subject = await memberOf(backend, request);
    if (subject === undefined) return quiet(signInFirst(request, returnTo));
    const step = await askSecondFactor(request, subject.session, 'enrolled', returnTo);
    asked = { request, subject, id };
    return quiet(step ?? (await work(asked)));
  } catch (error) {
    const left = subject && (await leaveFor(backend, request, { subject, wayBack: request.errorReturnTo }, error));
    if (left !== undefined) return quiet(left);
    if (!(error instanceof AuthError) || error.code !== 'authorization_expired' || request.wantsJson) throw error;
    const returnTo = request.errorReturnTo;
    const account = subject && accountName(subject.session);
    const allowed = asked && (await allowedClient(backend, asked).catch(() => undefined));
    return quiet(startAgainPage(siteFor(backend, request), request, { error, account, returnTo, allowed }));
  }
}

/** A reply where the backend has ended the session, or asks for the second factor. */
export async function leaveFor(
  backend: BackendContext,
  request: AuthRequest,
  asked: { readonly subject: Subject; readonly wayBack: string },
  error: unknown,
): Promise<Reply | undefined> {
  if (isSessionOver(error)) return endOver(backend, request, asked.subject, asked.wayBack);
  return stepAfter(backend, request, asked, error);
}

/**
 * The session of someone with an account: a guest signs in first.
 *
 * @throws {AuthError} `not_accepted` where the option `accept` refused the session: signing in again would not help
 */
export async function memberOf(backend: BackendContext, request: AuthRequest): Promise<Subject | undefined> {
  const subject = await sessionOf(backend, request);
  if (subject === undefined && request.visit.is === 'refused') throw new NotAccepted(request.visit.session);
  return subject?.session.user.isAnonymous === true ? undefined : subject;
}

/** The consent page's own URL. */
function wayBackOf({ settings }: BackendContext, request: AuthRequest, id: string): string {
  return request.returnTo(withQuery(request.localPath(settings.paths.consent), { authorization_id: id }));
}

/** On to the app: the address is the provider's own, and has been checked. */
function goOn(
  backend: BackendContext,
  request: AuthRequest,
  { redirectTo, client }: { readonly redirectTo: string; readonly client?: OAuthClientInfo | undefined },
  status: 302 | 303,
): Reply {
  if (request.wantsJson) return json(200, { redirectTo });
  // An app opens beside the browser, where a redirect would leave the page of before.
  const isBeside = readRedirectAddress(redirectTo)?.kind === 'app';
  if (isBeside || (status === 302 && mayFollowForm(request)))
    return toAppPage(siteFor(backend, request), request, { redirectTo, client });
  return { status, headers: { Location: redirectTo } };
}

/** Whether a form of this site may have led to this GET, such as the sign-in's: its page allows no redirect to an app. */
function mayFollowForm({ req, origin }: AuthRequest): boolean {
  const site = header(req, 'sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  return URL.parse(header(req, 'referer') ?? '')?.origin === origin;
}

/** Its page cannot be framed, so a frame must not have its effect either. @throws {AuthError} `prefetch_refused` */
function refuseFrame({ req }: AuthRequest): void {
  const destination = header(req, 'sec-fetch-dest');
  if (destination === undefined || destination === 'document' || destination === 'empty') return;
  throw new AuthError('prefetch_refused');
}

/** The URL holds the authorization's id, and the app is another site. */
export function quiet(reply: Reply): Reply {
  return { ...reply, headers: { ...reply.headers, 'Referrer-Policy': 'no-referrer' } };
}
