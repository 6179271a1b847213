import type { EmailOtpType } from '@supabase/supabase-js';
import { AuthError } from '../errors.ts';
import { readFields } from '../http/body.ts';
import type { Exchange } from '../http/auth-request.ts';
import type { Reply } from '../http/reply.ts';
import type { AuthRoute } from '../http/router.ts';
import { signInFailed } from '../session/events.ts';
import type { Emit } from '../session/events.ts';
import type { Attempts } from './throttle-options.ts';
import type { AuthFlow, RunAuthFlow } from './supabase-call.ts';
import { go, otherLinkAnswer } from './form-answers.ts';
import { confirmPage, formErrorOf } from './pages/index.ts';
import { unwrap } from './sign-in.ts';
import type { SignIn } from './sign-in.ts';
import { retryHeaders } from './views.ts';
import type { Views } from './views.ts';

export interface ConfirmParts {
  readonly path: string;
  readonly views: Views;
  readonly runFlow: RunAuthFlow;
  readonly signIn: SignIn;
  readonly attempts: Attempts;
  readonly emit: Emit;
}

interface Link {
  readonly tokenHash: string;
  readonly type: EmailOtpType;
  readonly returnTo: string;
}

const types: readonly EmailOtpType[] = ['email', 'signup', 'magiclink', 'invite', 'email_change'];

/**
 * `/auth/confirm?token_hash&type`, for mail templates that link here: a button, whose POST spends the token. Programs that look at a
 * mail's links before its reader does spend nothing, and nobody is signed in by merely opening a link.
 *
 * @see https://supabase.com/docs/guides/auth/auth-email-templates#email-prefetching
 */
export function confirmRoute(parts: ConfirmParts): AuthRoute {
  const { views, runFlow, signIn, attempts, emit } = parts;

  async function confirm(exchange: Exchange, { tokenHash, type, returnTo }: Link): Promise<Reply> {
    const verify = async (flow: AuthFlow) =>
      unwrap(flow, await flow.auth.verifyOtp({ token_hash: tokenHash, type }), emit);
    const { session } = await attempts.run(exchange.req, undefined, () => runFlow(exchange, verify), 'forgives');
    // A changed address wants both of its links opened; after the first there is no session yet.
    if (session === null) return otherLinkAnswer(exchange, views, returnTo);
    const signedIn = await signIn.admit(exchange, session, returnTo);
    await signIn.store(exchange, signedIn);
    return go(exchange, signedIn.redirectTo);
  }

  async function refused(exchange: Exchange, link: Link, error: AuthError): Promise<Reply> {
    emit(signInFailed(error));
    const { returnTo } = link;
    // Pressed twice: the first time has done it.
    if (error.code === 'link_expired' && (await exchange.resolveSession()) !== null) return go(exchange, returnTo);
    // What another try may mend keeps its button.
    const isPassing = error.code === 'provider_unavailable' || error.code === 'rate_limited';
    if (!isPassing || exchange.wantsJson) throw error;
    const view = views.confirm(exchange, { ...link, status: error.status, error: formErrorOf(error, views.text) });
    return { ...confirmPage(view), headers: retryHeaders(error), isNegotiated: true };
  }

  return {
    path: parts.path,
    option: 'confirmPath',
    get(exchange) {
      const { query } = exchange;
      const link = readLink(exchange, (name) => query.get(name) ?? undefined);
      return { ...confirmPage(views.confirm(exchange, { ...link, status: 200 })), isNegotiated: true };
    },
    async post(exchange) {
      const fields = await readFields(exchange.req, exchange.res);
      const link = readLink(exchange, (name) => fields.get(name));
      try {
        return await confirm(exchange, link);
      } catch (error) {
        if (!(error instanceof AuthError)) throw error;
        return await refused(exchange, link, error);
      }
    },
  };
}

/** @throws {AuthError} `unsupported_flow` or `invalid_request` */
function readLink(exchange: Exchange, parameter: (name: string) => string | undefined): Link {
  const given = parameter('type');
  if (given === 'recovery') throw new AuthError('unsupported_flow');
  const type = types.find((known) => known === given);
  const tokenHash = parameter('token_hash') ?? '';
  if (type === undefined || !/^[A-Za-z0-9_-]{1,256}$/.test(tokenHash)) throw new AuthError('invalid_request');
  // Supabase's own templates call it `next`.
  return { tokenHash, type, returnTo: exchange.returnTo(parameter('returnTo') ?? parameter('next')) };
}
