import { isRecord } from '../../tools/json.ts';
import { createSharedOutcomes } from '../../tools/shared-outcomes.ts';
import type { Parts } from '../../http/adapter.ts';
import { clientFacts } from '../../http/message.ts';
import { brought, refusedTokens, refuseSent, refuseSuperseded, repeatMs } from './store-tokens.ts';
import type { StoreTokens } from './store-tokens.ts';
import { readToken } from '../../session/jwt.ts';
import { b2bPart } from '../../b2b/context.ts';
import type { OAuthTokens } from '../../b2b/options.ts';
import { parseStoredSession } from '../../b2b/seal.ts';
import type { SealedSession } from '../../b2b/seal.ts';
import { admit, place } from '../../b2b/sign-in.ts';
import type { SignedIn } from '../../b2b/sign-in.ts';

/** `storeSession` of `b2bAuth`: signs in with WorkOS' answer to the application's own flow. */
export function createStoreTokens(parts: Parts): StoreTokens {
  const context = parts.get(b2bPart);
  const { settings, resolver, source } = context;
  const outcomes = createSharedOutcomes<SignedIn>({ now: settings.now, keepMs: () => repeatMs });

  return async (request, tokens, returnTo) => {
    request.errorReturnTo = returnTo;
    const given = contentOf(tokens);
    // Before anything else: made-up tokens cost WorkOS no call, and what was ended or signed out here stays so.
    const client = clientFacts(request.req, request.peer);
    if ((await resolver.resolveBearer(given.accessToken, client, brought)) === undefined)
      throw refusedTokens('not_valid');
    const { beganAt, issuedAt } = source.factsOf(readToken(given.accessToken).claims);
    const refuseEnded = async (sessionId: string | undefined): Promise<void> => {
      if ((await resolver.signOutOf(sessionId, beganAt)) !== undefined) throw refusedTokens('signed_out');
    };
    // Not now: a guard's `maxAge` and `sessionMaxAge` count from the sign-in.
    const content = { ...given, signedInAt: (beganAt > 0 ? beganAt : issuedAt) / 1000 };
    await refuseSuperseded(resolver, request, content);
    const key = [given.accessToken, given.refreshToken, JSON.stringify(given.user), returnTo];
    const signedIn = await outcomes.share(key, () =>
      admit(context, request, {
        content,
        oauthTokens: oauthTokensOf(tokens),
        returnTo,
        refuseEnded: ({ sessionId }) => refuseEnded(sessionId),
        isBrought: true,
      }),
    );
    refuseSent(request, 'storeSession');
    // `onSignIn` may take its time, and another request that shares its answer comes later.
    await refuseSuperseded(resolver, request, signedIn.content);
    await place(context, request, signedIn.content, refuseEnded);
    return signedIn.redirectTo;
  };
}

/** @throws {AuthError} `tokens_refused` */
function contentOf(tokens: unknown): SealedSession {
  const content = isRecord(tokens) ? parseStoredSession(tokens) : undefined;
  const plain = content === undefined ? undefined : parseStoredSession(asJson(content));
  if (plain === undefined) throw refusedTokens('malformed');
  return plain;
}

/** As the cookie's seal holds it; `undefined` for a user that has no JSON, such as one with a cycle. */
function asJson(content: SealedSession): unknown {
  try {
    return JSON.parse(JSON.stringify(content));
  } catch {
    return undefined;
  }
}

function oauthTokensOf(tokens: unknown): OAuthTokens | undefined {
  const given = isRecord(tokens) ? tokens['oauthTokens'] : undefined;
  return isOAuthTokens(given) ? given : undefined;
}

function isOAuthTokens(value: unknown): value is OAuthTokens {
  return isRecord(value) && typeof value['accessToken'] === 'string';
}
