import type { EmailOtpType } from '@supabase/supabase-js';
import { AuthError } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { signInFailed } from '../../session/events.ts';
import type { BackendContext } from '../context.ts';
import { otherLinkAnswer } from '../form-answers.ts';
import { confirmPage } from '../pages/confirm-page.ts';

interface Link {
  readonly tokenHash: string;
  readonly type: EmailOtpType;
  readonly returnTo: string;
}

const types: readonly EmailOtpType[] = ['email', 'signup', 'magiclink', 'invite', 'email_change'];

/**
 * `/auth/confirm?token_hash&type`, for mail templates that link here: a button, whose POST spends the token. Programs that look at a
 * mail's links before its reader does spend nothing, and opening a link alone never signs in.
 *
 * @see https://supabase.com/docs/guides/auth/auth-email-templates#email-prefetching
 */
export function confirmRoute(backend: BackendContext): AuthRoute {
  const { settings, supabase, signIn, attempts, emit } = backend;

  async function confirm(request: AuthRequest, { tokenHash, type, returnTo }: Link): Promise<Reply> {
    const verify = () =>
      supabase.call(request, async ({ auth, unwrap }) => unwrap(await auth.verifyOtp({ token_hash: tokenHash, type })));
    const { session } = await attempts.run(request.req, undefined, verify, 'forgives');
    // A changed address wants both of its links opened; after the first there is no session yet.
    if (session === null) return otherLinkAnswer(backend, request, returnTo);
    return redirectOrJson(request, await signIn.complete(request, session, returnTo));
  }

  async function refused(request: AuthRequest, link: Link, error: AuthError): Promise<Reply> {
    emit(signInFailed(error));
    const { returnTo } = link;
    // Pressed twice: the first time has done it.
    if (error.code === 'link_expired' && (await request.resolveSession()) !== null)
      return redirectOrJson(request, returnTo);
    // What another try may mend keeps its button.
    const isPassing = error.code === 'provider_unavailable' || error.code === 'rate_limited';
    if (!isPassing || request.wantsJson) throw error;
    return confirmPage(backend, request, { ...link, error });
  }

  return {
    path: settings.confirmPath,
    option: 'confirmPath',
    get(request) {
      const { query } = request;
      const link = readLink(request, (name) => query.get(name) ?? undefined);
      // Its refusals depend on `Accept`.
      request.isNegotiated = true;
      return confirmPage(backend, request, link);
    },
    async post(request) {
      const fields = await readFields(request.req, request.res);
      const link = readLink(request, (name) => fields.get(name));
      try {
        return await confirm(request, link);
      } catch (error) {
        if (!(error instanceof AuthError)) throw error;
        return await refused(request, link, error);
      }
    },
  };
}

/** @throws {AuthError} `unsupported_flow` or `invalid_request` */
function readLink(request: AuthRequest, parameter: (name: string) => string | undefined): Link {
  const given = parameter('type');
  if (given === 'recovery') throw new AuthError('unsupported_flow');
  const type = types.find((known) => known === given);
  const tokenHash = parameter('token_hash') ?? '';
  if (type === undefined || !/^[A-Za-z0-9_-]{1,256}$/.test(tokenHash)) throw new AuthError('invalid_request');
  // Supabase's own templates call it `next`.
  return { tokenHash, type, returnTo: request.returnTo(parameter('returnTo') ?? parameter('next')) };
}
