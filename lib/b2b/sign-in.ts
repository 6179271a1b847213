import type { Request } from 'express';
import { defined } from '../tools/json.ts';
import type { AuthRequest } from '../http/request.ts';
import { AuthError } from '../errors.ts';
import { admitSignIn, placeSession } from '../session/sign-in.ts';
import type { B2bSession } from '../types.ts';
import type { B2bContext } from './context.ts';
import type { OAuthTokens } from './options.ts';
import type { SealedSession } from './seal.ts';
import { revokeQuietly } from './sign-out.ts';

/** A verified sign-in that `accept` and `onSignIn` let pass and that fits a cookie. */
export interface SignedIn {
  readonly kind: 'signed_in';
  readonly content: SealedSession;
  readonly redirectTo: string;
}

/** WorkOS' tokens for a sign-in: of the callback, or of the application's own flow. */
interface IssuedSignIn {
  readonly content: SealedSession;
  readonly oauthTokens?: OAuthTokens | null | undefined;
  /** Sanitized. */
  readonly returnTo: string;
  readonly requestedOrganizationId?: string | undefined;
  /** @throws where the session was signed out */
  readonly refuseEnded: (session: B2bSession) => Promise<void>;
  /** Whether the application brought the tokens. */
  readonly isBrought?: boolean;
}

/** Verifies the tokens, calls the hook and begins the session. @throws {AuthError} and any error that `onSignIn` throws */
export async function admit(
  context: B2bContext,
  request: AuthRequest,
  { content, oauthTokens, returnTo, requestedOrganizationId, refuseEnded, isBrought }: IssuedSignIn,
): Promise<SignedIn> {
  const { settings, resolver } = context;
  const { authenticationMethod } = content;
  const { session, redirectTo, begunAt } = await admitSignIn(context, request, content, {
    returnTo,
    isBrought,
    check: async (issued) => {
      const { organizationId: onlyOne } = settings;
      if (onlyOne !== undefined && issued.organizationId !== onlyOne) throw new AuthError('organization_required');
      await refuseEnded(issued);
    },
    hook: async (issued) => {
      const answer = await settings.onSignIn?.({
        session: issued,
        req: request.req as Request,
        returnTo,
        ...defined({ organizationId: issued.organizationId, requestedOrganizationId }),
        // WorkOS may send null for either.
        ...(authenticationMethod ? { authenticationMethod } : {}),
        ...(oauthTokens ? { oauthTokens } : {}),
      });
      return answer?.redirectTo;
    },
  });
  resolver.leaveFormer(session);
  // A bearer token of this session carries the start time in whole seconds of the provider's clock.
  const begun = begunAt === undefined ? content : { ...content, signedInAt: begunAt / 1000 };
  return { kind: 'signed_in', content: begun, redirectTo };
}

/** Writes the session's cookies. The sessions that the browser held before are also revoked at the provider. @throws {AuthError} */
export async function place(
  context: B2bContext,
  request: AuthRequest,
  content: SealedSession,
  refuseEnded: (sessionId: string | undefined) => Promise<void>,
): Promise<void> {
  const writes = await placeSession(context, request, content, {
    refuseEnded,
    endLeft: ({ candidate }) => candidate.sessionId !== undefined && revokeQuietly(context, candidate.sessionId),
  });
  request.writeCookies(writes);
}
