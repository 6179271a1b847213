import type { EmailOtpType } from '@supabase/supabase-js';
import { createOnce } from '../../core/bounded-map.ts';
import { AuthError } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { signInFailed } from '../../session/events.ts';
import type { BackendContext } from '../context.ts';
import { localUrl } from '../forms.ts';
import type { BackendOptions } from '../options.ts';
import { confirmPage, linkExpiredPage } from '../pages/notice.ts';
import { isOwnRefusal } from '../provider-errors.ts';
import { readPending } from '../pending.ts';
import { needsOf, prepareSignIn, storeSignIn } from '../sign-in.ts';
import type { PreparedSignIn } from '../sign-in.ts';
import { otherLinkAnswer } from './mail-routes.ts';

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
  const spendLink = createSpendLink(backend);
  return {
    path: settings.confirmPath,
    option: 'confirmPath',
    get(request) {
      const { query } = request;
      const link = readLink(request, (name) => query.get(name) ?? undefined);
      // Its errors depend on `Accept`.
      request.isNegotiated = true;
      return confirmPage(backend, request, link);
    },
    async post(request) {
      const fields = await readFields(request.req, request.res);
      const link = readLink(request, (name) => fields.get(name));
      request.errorReturnTo = link.returnTo;
      try {
        const prepared = await spendLink(request, link);
        // A changed address requires both links; after the first there is no session yet.
        if (prepared === null) return otherLinkAnswer(backend, request, link.returnTo);
        return redirectOrJson(request, await storeSignIn(backend, request, prepared));
      } catch (error) {
        if (!(error instanceof AuthError)) throw error;
        return await answerRefusal(backend, request, link, error);
      }
    },
  };
}

/** @returns a function that spends a link's token; it resolves to `null` where there is no session yet */
function createSpendLink(backend: BackendContext) {
  const { settings, supabase, attempts } = backend;
  // A double click posts twice, and the browser shows the second response.
  const { timeoutMs: ttlMs, now } = settings;
  const once = createOnce<PreparedSignIn | null>({ ttlMs, max: 10_000, now, keeps: 'none' });

  return (request: AuthRequest, { tokenHash, type, returnTo }: Link): Promise<PreparedSignIn | null> => {
    const verify = () =>
      supabase.call(request, async ({ auth, unwrap }) => unwrap(await auth.verifyOtp({ token_hash: tokenHash, type })));
    return once([tokenHash, type, returnTo, String(request.peer)], async () => {
      const { session: issued } = await attempts.run(request.req, undefined, verify, 'forgives');
      if (issued === null) return null;
      const needs = needsOf(issued, isForPassword(settings, type));
      return prepareSignIn(backend, request, { issued, returnTo, needs });
    });
  };
}

async function answerRefusal(
  backend: BackendContext,
  request: AuthRequest,
  link: Link,
  error: AuthError,
): Promise<Reply> {
  const { settings, emit } = backend;
  emit(signInFailed(error), request.startedAt);
  const { returnTo } = link;
  // The button was pressed again; the first press has already succeeded.
  if (isOwnRefusal(error, 'link_expired') && isForPassword(settings, link.type)) {
    const pending = await readPending(backend, request);
    if (pending?.needs.includes('password') === true) {
      return redirectOrJson(request, localUrl(request, settings.passwordPath, returnTo));
    }
    if (!request.wantsJson) return linkExpiredPage(backend, request, { returnTo, error });
    throw error;
  }
  if (isOwnRefusal(error, 'link_expired') && (await request.resolveSession()) !== null)
    return redirectOrJson(request, returnTo);
  // A temporary error keeps the button for another attempt.
  const isPassing = error.code === 'provider_unavailable' || error.code === 'rate_limited';
  if (!isPassing || request.wantsJson) throw error;
  return confirmPage(backend, request, { ...link, error });
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
