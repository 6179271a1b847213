import type { EmailOtpType, Session as SdkSession } from '@supabase/supabase-js';
import { createOnce } from '../../core/once.ts';
import { AuthError } from '../../errors.ts';
import { readFields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { AuthRoute } from '../../http/router.ts';
import { signInFailed } from '../../session/events.ts';
import type { BackendContext } from '../context.ts';
import { otherLinkAnswer } from '../form-answers.ts';
import type { BackendOptions } from '../options.ts';
import { confirmPage } from '../pages/confirm-page.ts';
import { linkExpiredPage } from '../pages/password-page.ts';
import { needsFactor } from '../sign-in/pending.ts';
import type { SignedIn } from '../sign-in/sign-in.ts';
import { passwordUrl } from '../sign-in/start-flow.ts';

interface Link {
  readonly tokenHash: string;
  readonly type: EmailOtpType;
  readonly returnTo: string;
}

const types: readonly EmailOtpType[] = ['email', 'signup', 'magiclink', 'invite', 'recovery', 'email_change'];

/** These lead to a new password, which comes before the session; where passwords are off, they sign in like any other link. */
function isForPassword({ signInMethods }: BackendOptions, type: string): boolean {
  return signInMethods.includes('password') && (type === 'recovery' || type === 'invite');
}

/**
 * `/auth/confirm?token_hash&type`, for mail templates that link here: a button, whose POST spends the token. Programs that look at a
 * mail's links before its reader does spend nothing, and opening a link alone never signs in.
 *
 * @see https://supabase.com/docs/guides/auth/auth-email-templates#email-prefetching
 */
export function confirmRoute(backend: BackendContext): AuthRoute {
  const { settings, signIn, pending, emit } = backend;
  const open = createOpen(backend);

  async function confirm(request: AuthRequest, link: Link): Promise<Reply> {
    const { type, returnTo } = link;
    const opened = await open(request, link);
    // A changed address wants both of its links opened; after the first there is no session yet.
    if (opened === null) return otherLinkAnswer(backend, request, returnTo);
    if ('redirectTo' in opened) {
      await signIn.storeSession(request, opened);
      return redirectOrJson(request, opened.redirectTo);
    }
    if (!isForPassword(settings, type)) {
      return redirectOrJson(request, await signIn.awaitFactor(request, opened, returnTo));
    }
    await pending.begin(request, { kind: 'recovery', issued: opened, returnTo });
    return redirectOrJson(request, passwordUrl(settings, request, returnTo));
  }

  async function refused(request: AuthRequest, link: Link, error: AuthError): Promise<Reply> {
    emit(signInFailed(error), request.startedAt);
    const { returnTo } = link;
    // Pressed again: the first time has done it.
    if (error.code === 'link_expired' && isForPassword(settings, link.type)) {
      const waiting = await pending.read(request);
      if (waiting?.kind === 'recovery') return redirectOrJson(request, passwordUrl(settings, request, returnTo));
      if (!request.wantsJson) return linkExpiredPage(backend, request, { returnTo, error });
      throw error;
    }
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

type Opened = SignedIn | SdkSession | null;

/** Spends a link's token. @returns a complete sign-in, tokens that need one more step, or `null` where there is no session yet */
function createOpen({ settings, supabase, signIn, attempts }: BackendContext) {
  // A button that is pressed twice posts twice, and the browser shows the second answer.
  const { timeoutMs: ttlMs, now } = settings;
  const once = createOnce<Opened>({ ttlMs, max: 10_000, now, keeps: 'none' });

  return (request: AuthRequest, { tokenHash, type, returnTo }: Link): Promise<Opened> => {
    const verify = () =>
      supabase.call(request, async ({ auth, unwrap }) => unwrap(await auth.verifyOtp({ token_hash: tokenHash, type })));
    return once([tokenHash, type, returnTo, String(request.peer)], async () => {
      const { session } = await attempts.run(request.req, undefined, verify, 'forgives');
      const isComplete = session !== null && !isForPassword(settings, type) && !needsFactor(session);
      return isComplete ? signIn.verifySignIn(request, session, returnTo) : session;
    });
  };
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
