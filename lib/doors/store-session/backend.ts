import { defined, isRecord } from '../../tools/json.ts';
import { createSharedOutcomes } from '../../tools/shared-outcomes.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { Parts } from '../../http/adapter.ts';
import { clientFacts } from '../../http/message.ts';
import { brought, refusedTokens, refuseSent, refuseSuperseded, repeatMs } from './store-tokens.ts';
import type { StoreTokens } from './store-tokens.ts';
import { backendPart } from '../../backend/context.ts';
import type { BackendContext } from '../../backend/context.ts';
import { isSessionOver, presentUser, otherUser, asIssued } from '../../backend/supabase/account.ts';
import { foreignClient, parseContent } from '../../backend/supabase/session-cookie.ts';
import type { StoredContent } from '../../backend/supabase/session-cookie.ts';
import { prepareSignIn, storeSignIn } from '../../backend/sign-in/sign-in.ts';
import type { PreparedSignIn } from '../../backend/sign-in/sign-in.ts';

/** A session's cookies have at most as many bytes. */
const maxTokenLength = 12 * 1024;

/** `storeSession` of `backendAuth`: signs in with the tokens of the application's own flow. */
export function createStoreTokens(parts: Parts): StoreTokens {
  const backend = parts.get(backendPart);
  const outcomes = createSharedOutcomes<PreparedSignIn>({ now: backend.settings.now, keepMs: () => repeatMs });

  return async (request, tokens, returnTo) => {
    request.errorReturnTo = returnTo;
    const given = contentOf(tokens);
    const key = [given.access_token, given.refresh_token, returnTo];
    const prepared = await outcomes.share(key, () => prepare(backend, request, given, returnTo));
    refuseSent(request, 'storeSession');
    // `onSignIn` may take its time, and another request that shares its answer comes later.
    await refuseSuperseded(backend.resolver, request, given);
    return storeSignIn(backend, request, prepared).catch((error: unknown) => {
      // It was signed out meanwhile.
      throw error instanceof AuthError && error.code === 'invalid_state' ? refusedTokens('signed_out') : error;
    });
  };
}

async function prepare(
  backend: BackendContext,
  request: AuthRequest,
  given: StoredContent,
  returnTo: string,
): Promise<PreparedSignIn> {
  // First: made-up tokens cost the backend no call, and what was ended or signed out here stays so.
  const client = clientFacts(request.req, request.peer);
  const session = await backend.resolver.resolveBearer(given.access_token, client, brought);
  if (session === undefined) throw refusedTokens('not_valid');
  if (foreignClient(session.claims) !== undefined) throw refusedTokens('client');
  await refuseSuperseded(backend.resolver, request, given);
  // No request to the backend could carry it in its headers.
  if (given.access_token.length > maxTokenLength) throw new AuthError('session_too_large');
  // The backend alone says which second factors a user has, and whether the session still exists there.
  const user = await presentUser(backend, request, given).catch((error: unknown) => {
    if (isSessionOver(error)) throw refusedTokens(error.reason ?? error.code);
    // Another service that answers with 200 has not checked the token.
    throw error instanceof AuthError && error.reason === otherUser ? refusedTokens(otherUser) : error;
  });
  const { exp, iat } = session.claims;
  const content = { ...given, expires_at: exp, ...defined({ expires_in: iat === undefined ? undefined : exp - iat }) };
  return prepareSignIn(backend, request, { issued: asIssued(content, user), returnTo, isBrought: true });
}

/** Only the tokens: another field may come from the client. @throws {AuthError} `tokens_refused` */
function contentOf(tokens: unknown): StoredContent {
  const { access_token, refresh_token } = isRecord(tokens) ? tokens : {};
  const content = parseContent({ access_token, refresh_token });
  if (content === undefined) throw refusedTokens('malformed');
  return content;
}
