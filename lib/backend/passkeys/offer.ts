import { AuthError } from '../../errors.ts';
import { redirect } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { BackendContext } from '../context.ts';
import { localUrl, readReturnTo } from '../forms/forms.ts';
import { siteFor } from '../pages/parts.ts';
import type { SignInPart } from '../slots.ts';
import { sessionOf } from '../sign-in/subject.ts';
import { offerPage } from './page.ts';
import { listPasskeys } from './passkeys.ts';

/** Seconds that a browser is not asked again. */
const maxAge = 365 * 24 * 60 * 60;

/** Once per browser, for all its users: the cookie is there before the question, so nothing can ask twice. */
export const offerPasskey: NonNullable<SignInPart<BackendContext>['offer']> = (
  { settings, flows },
  request,
  returnTo,
) => {
  const name = nameOf(settings);
  if (request.cookies.has(name)) return undefined;
  request.writeCookies([{ name, value: 'passkey', attributes: { ...flows.attributes, maxAge } }]);
  return localUrl(request, settings.paths.passkeys, returnTo, { offer: 'yes' });
};

const nameOf = ({ cookieName }: BackendContext['settings']): string => `${cookieName}-offer`;

/** The question, for an account without a passkey. For all others, and after any failure, the way goes on. */
export async function answerOffer(backend: BackendContext, request: AuthRequest): Promise<Reply> {
  const returnTo = readReturnTo(request);
  const hasNone = await findsNone(backend, request).catch((error: unknown) => {
    backend.explain('no passkey is offered: %s', String(error));
    // What passes by itself leaves the question for the next sign-in.
    if (error instanceof AuthError && error.retryAfter !== undefined) forget(backend, request);
    return false;
  });
  if (!hasNone) return redirect(302, request.urlOf(returnTo));
  return offerPage(siteFor(backend, request), request, { returnTo });
}

async function findsNone(backend: BackendContext, request: AuthRequest): Promise<boolean> {
  const subject = await sessionOf(backend, request);
  if (subject === undefined || subject.session.user.isAnonymous) return false;
  return (await listPasskeys(backend, request, subject.content)).length === 0;
}

function forget({ settings, flows }: BackendContext, request: AuthRequest): void {
  request.writeCookies([{ name: nameOf(settings), value: undefined, attributes: flows.attributes }]);
}
