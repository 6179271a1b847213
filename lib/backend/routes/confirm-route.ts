import type { EmailOtpType } from '@supabase/supabase-js';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import type { AuthRoute } from '../../http/router.ts';
import { signInFailed } from '../../session/events.ts';
import type { BackendContext } from '../context.ts';
import { localUrl, subjectFormRoute } from '../forms.ts';
import { otherLinkAnswer } from '../mail.ts';
import type { BackendOptions } from '../options.ts';
import { confirmPage, linkExpiredPage } from '../pages/notice.ts';
import { siteFor } from '../pages/parts.ts';
import { isOwnRefusal } from '../provider-errors.ts';
import { readPending } from '../pending.ts';
import { needsOf, prepareSignIn, storeSignIn } from '../sign-in.ts';
import type { PreparedSignIn } from '../sign-in.ts';

interface Link {
  readonly tokenHash: string;
  readonly type: EmailOtpType;
  readonly returnTo: string;
}

const types: readonly EmailOtpType[] = ['email', 'signup', 'magiclink', 'invite', 'recovery', 'email_change'];

/** These links lead to a new password before the session starts. Where passwords are off, they sign in like other links. */
function isForPassword({ signInMethods }: BackendOptions, type: string): boolean {
  return signInMethods.includes('password') && (type === 'recovery' || type === 'invite');
}

/**
 * `/auth/confirm?token_hash&type`, for mail templates that link here. It shows a button, and only its POST
 * spends the token. So link scanners spend nothing, and opening a link alone never signs in.
 *
 * @see https://supabase.com/docs/guides/auth/auth-email-templates#email-prefetching
 */
export function confirmRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  return subjectFormRoute<Link>(
    backend,
    {
      path: settings.confirmPath,
      option: 'confirmPath',
      hasData: true,
      page(request, { error }, link) {
        if (isOwnRefusal(error, 'link_expired') && isForPassword(settings, link.type)) {
          return linkExpiredPage(siteFor(backend, request), request, { returnTo: link.returnTo, error });
        }
        // A temporary error keeps the button for another attempt.
        const isPassing = error?.code === 'provider_unavailable' || error?.code === 'rate_limited';
        if (error !== undefined && !isPassing) throw error;
        return confirmPage(siteFor(backend, request), request, { ...link, error });
      },
      async submit(request, _fields, returnTo, link) {
        const prepared = await spendLink(backend, request, link);
        // A changed address requires both links; after the first there is no session yet.
        return prepared === null
          ? otherLinkAnswer(backend, request, returnTo)
          : storeSignIn(backend, request, prepared);
      },
      async leave(request, error, link) {
        const next = isOwnRefusal(error, 'link_expired') ? await urlOfFirstPress(backend, request, link) : undefined;
        if (next !== undefined) backend.emit(signInFailed(error), request.startedAt);
        return next;
      },
    },
    (request, fields) => readLink(request, (name) => (fields ?? request.query).get(name) ?? undefined),
  );
}

async function spendLink(
  backend: BackendContext,
  request: AuthRequest,
  { tokenHash, type, returnTo }: Link,
): Promise<PreparedSignIn | null> {
  const { settings, supabase, attempts } = backend;
  const verify = () =>
    supabase.call(request, async ({ auth, unwrap }) => unwrap(await auth.verifyOtp({ token_hash: tokenHash, type })));
  const { session: issued } = await attempts.runLink(request.req, verify);
  if (issued === null) return null;
  return prepareSignIn(backend, request, { issued, returnTo, needs: needsOf(issued, isForPassword(settings, type)) });
}

/** The button was pressed again; where the first press has already succeeded, its next URL. */
async function urlOfFirstPress(
  backend: BackendContext,
  request: AuthRequest,
  { type, returnTo }: Link,
): Promise<string | undefined> {
  const { settings } = backend;
  if (!isForPassword(settings, type)) return (await request.resolveSession()) === null ? undefined : returnTo;
  const pending = await readPending(backend, request);
  return pending?.needs.includes('password') === true ? localUrl(request, settings.passwordPath, returnTo) : undefined;
}

/** @throws {AuthError} `invalid_request` */
function readLink(request: AuthRequest, parameter: (name: string) => string | undefined): Link {
  const given = parameter('type');
  const type = types.find((known) => known === given);
  const tokenHash = parameter('token_hash') ?? '';
  if (type === undefined || !/^[A-Za-z0-9_-]{1,256}$/.test(tokenHash)) throw new AuthError('invalid_request');
  // Supabase's own templates call it `next`.
  return { tokenHash, type, returnTo: request.returnTo(parameter('returnTo') ?? parameter('next')) };
}
