import { createHash } from 'node:crypto';
import { authenticateErrorReply } from './authenticate-errors.ts';
import type { BrowserSession } from './browser-sessions.ts';
import type { Switches } from './faults.ts';
import type { Headless, Identified } from './headless.ts';
import type { OneTimeStore } from './one-time.ts';
import { toWire } from './people.ts';
import type { StandInUser } from './people.ts';
import { json, oauthError } from './replies.ts';
import type { Reply } from './replies.ts';
import type { Sessions, StartSession, TokenPair } from './sessions.ts';

/** The data behind an authorization code. */
export interface AuthorizationCode {
  readonly user: StandInUser;
  readonly organizationId: string | undefined;
  readonly authenticationMethod: string;
  readonly codeChallenge: string | undefined;
  readonly browser: BrowserSession;
}

/** A sign-in that still needs an organization choice. */
export interface PendingAuthentication {
  readonly user: StandInUser;
  readonly authenticationMethod: string;
  readonly browser?: BrowserSession;
}

export interface AuthenticateContext {
  readonly clientId: string;
  readonly apiKey: string;
  readonly switches: Switches;
  readonly codes: OneTimeStore<AuthorizationCode>;
  readonly pending: OneTimeStore<PendingAuthentication>;
  readonly sessions: Sessions;
  readonly users: ReadonlyMap<string, StandInUser>;
  readonly headless: Headless;
  readonly now: () => number;
}

export type RequestBody = Readonly<Record<string, unknown>>;

const isSet = (value: unknown): value is string => typeof value === 'string' && value !== '';
const invalidGrant = (description: string) => oauthError(400, 'invalid_grant', description);

/**
 * `POST /user_management/authenticate` for the grants that an application with hosted sign-in uses.
 * https://workos.com/docs/reference/authkit/authentication
 */
export function createAuthenticate(context: AuthenticateContext): (body: RequestBody) => Promise<Reply> {
  const { clientId, apiKey, switches, codes, pending, sessions, users, headless, now } = context;

  function errorInstead(user: StandInUser, authenticationMethod: string): Reply | null {
    if (switches.authenticateError === null) return null;
    const token = pending.issue({ user, authenticationMethod });
    return authenticateErrorReply(switches.authenticateError, user, token, now());
  }

  function notAMember(organizationId: unknown): Reply {
    const isKnown = [...users.values()].some(({ organizations }) =>
      organizations.some(({ id }) => id === organizationId),
    );
    // WorkOS' OpenAPI file has no code for it.
    if (!isKnown) return json(404, { message: `Organization not found: '${String(organizationId)}'.` });
    return json(400, {
      code: 'organization_membership_not_found',
      message: 'The user is not a member of the selected organization.',
    });
  }

  async function startIn(browser: BrowserSession | undefined, start: StartSession): Promise<TokenPair> {
    const pair = await sessions.start({ ...start, sessionId: browser?.sessionId });
    if (browser !== undefined) browser.sessionId = pair.sessionId;
    return pair;
  }

  async function exchangeCode(body: RequestBody): Promise<Reply> {
    const { code, code_verifier: verifier } = body;
    if (!isSet(code)) return missing('code');
    // Taken in any case: a wrong verifier also spends the code (RFC 9700 §2.1.1).
    const known = codes.take(code);
    if (!known) return invalidGrant(`The code '${code}' has expired or is invalid.`);
    const { user, organizationId, authenticationMethod, codeChallenge, browser } = known;
    if (!matchesChallenge(codeChallenge, verifier)) return invalidGrant('The code verifier is invalid.');
    const error = errorInstead(user, authenticationMethod);
    if (error) return error;
    const [first, second] = user.organizations;
    if (organizationId === undefined && second) {
      return json(403, {
        code: 'organization_selection_required',
        message: 'The user must choose an organization to finish their authentication.',
        pending_authentication_token: pending.issue({ user, authenticationMethod, browser }),
        organizations: user.organizations.map(({ id, name }) => ({ id, name })),
        user: toWire(user),
      });
    }
    const chosen = organizationId ?? first?.id;
    return success(await startIn(browser, { user, organizationId: chosen, authenticationMethod }), switches);
  }

  async function selectOrganization(body: RequestBody): Promise<Reply> {
    const { pending_authentication_token: token, organization_id: organizationId } = body;
    if (!isSet(token)) return missing('pending_authentication_token');
    if (!isSet(organizationId)) return missing('organization_id');
    const known = pending.peek(token);
    if (!known) {
      const message = 'The pending authentication token is invalid or has expired.';
      return json(400, { code: 'invalid_pending_authentication_token', message });
    }
    const { user, authenticationMethod, browser } = known;
    // Before the token is spent: after a wrong choice the user may choose again.
    if (!user.organizations.some(({ id }) => id === organizationId)) return notAMember(organizationId);
    pending.take(token);
    return (
      errorInstead(user, authenticationMethod) ??
      success(await startIn(browser, { user, organizationId, authenticationMethod }), switches)
    );
  }

  async function refresh(body: RequestBody): Promise<Reply> {
    const { refresh_token: refreshToken, organization_id: organizationId } = body;
    if (!isSet(refreshToken)) return missing('refresh_token');
    const owner = switches.authenticateError && sessions.ownerOf(refreshToken);
    const error = owner && errorInstead(owner, 'Password');
    if (error) return error;
    const rotation = await sessions.rotate(refreshToken, isSet(organizationId) ? organizationId : undefined);
    switch (rotation.kind) {
      case 'rotated':
        return success(rotation.pair, switches);
      case 'not_a_member':
        return notAMember(organizationId);
      case 'invalid_grant':
        return invalidGrant(rotation.description);
    }
  }

  async function startFor(identified: Identified): Promise<Reply> {
    if (identified.kind === 'refused') return identified.reply;
    const { user, method: authenticationMethod } = identified;
    const organizationId = user.organizations[0]?.id;
    return (
      errorInstead(user, authenticationMethod) ??
      success(await sessions.start({ user, organizationId, authenticationMethod }), switches)
    );
  }

  return async function authenticate(body) {
    if (body['client_id'] !== clientId) return oauthError(400, 'invalid_client', 'Invalid client ID.');
    if (body['client_secret'] !== apiKey) return oauthError(401, 'invalid_client', 'Invalid client secret.');
    switch (body['grant_type']) {
      case 'authorization_code':
        return exchangeCode(body);
      case 'refresh_token':
        return refresh(body);
      case 'password':
        return startFor(headless.byPassword(body));
      case 'urn:workos:oauth:grant-type:magic-auth:code':
        return startFor(headless.byCode(body));
      case 'urn:workos:oauth:grant-type:organization-selection':
        return selectOrganization(body);
      default:
        return oauthError(400, 'unsupported_grant_type', 'The stand-in does not know this grant type.');
    }
  };
}

function matchesChallenge(challenge: string | undefined, verifier: unknown): boolean {
  if (challenge === undefined) return verifier === undefined;
  return isSet(verifier) && createHash('sha256').update(verifier).digest('base64url') === challenge;
}

function success(
  { user, organizationId, accessToken, refreshToken, authenticationMethod }: TokenPair,
  { extraAnswer }: Switches,
): Reply {
  return json(200, {
    user: toWire(user),
    // Not omitted: WorkOS' own emulator returns `"organization_id":null` for a user without one.
    organization_id: organizationId ?? null,
    access_token: accessToken,
    refresh_token: refreshToken,
    authentication_method: authenticationMethod,
    ...(user.impersonator && { impersonator: user.impersonator }),
    ...extraAnswer,
  });
}

const missing = (parameter: string) => oauthError(400, 'invalid_request', `${parameter} is required.`);
