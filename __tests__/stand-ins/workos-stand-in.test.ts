import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { WorkOS } from '@workos-inc/node';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import { startWorkos } from '../support/workos.ts';
import type { Fault, WorkosStandIn } from '../../stand-ins/workos/index.ts';

const clientId = 'client_01JC4XM0000000000000000000';
const apiKey = randomBytes(24).toString('base64url');
const redirectUri = 'http://localhost:3999/callback';
const homepage = 'http://localhost:3999';
const startedAt = Date.UTC(2026, 0, 1);

let nowMs = startedAt;
let standIn: WorkosStandIn;
let workos: WorkOS;

beforeAll(async () => {
  standIn = await startWorkos({
    clientId,
    apiKey,
    redirectUris: [redirectUri],
    logoutReturnTos: [homepage],
    now: () => nowMs,
  });
  workos = sdk();
});
afterAll(() => standIn.close());
beforeEach(() => {
  nowMs = startedAt;
  standIn.clearRequests();
  Object.assign(standIn.switches, {
    accessTokenTtlSeconds: 300,
    replayGrace: false,
    repeatsRefreshTokens: false,
    hostedOrganizationChoice: false,
    authenticateError: null,
    extraClaims: {},
    outage: {},
    gate: {},
  });
});

function sdk(key = apiKey, timeout = 60_000): WorkOS {
  const { hostname: apiHostname, port } = standIn;
  return new WorkOS({ apiKey: key, clientId, apiHostname, port, https: false, maxRetries: 0, timeout });
}

type UrlOptions = Parameters<WorkOS['userManagement']['getAuthorizationUrl']>[0];

async function startSignIn(options: Partial<UrlOptions> = {}) {
  const { codeVerifier, codeChallenge, codeChallengeMethod } = await workos.pkce.generate();
  const url = workos.userManagement.getAuthorizationUrl({
    provider: 'authkit',
    redirectUri,
    state: 'state-1',
    codeChallenge,
    codeChallengeMethod,
    ...options,
  });
  return { url, codeVerifier };
}

/** The whole way, up to the tokens. */
async function signIn(user: string = demoUsers.personal.id, options: Partial<UrlOptions> = {}) {
  const { url, codeVerifier } = await startSignIn(options);
  const callback = await standIn.authorize(url, { user });
  return workos.userManagement.authenticateWithCode({ code: callback.searchParams.get('code')!, codeVerifier });
}

const refresh = (refreshToken: string, client = workos) =>
  client.userManagement.authenticateWithRefreshToken({ refreshToken });

/** `url` with one parameter changed, or removed. */
function edited(url: string, name: string, value: string | null): string {
  const copy = new URL(url);
  if (value === null) copy.searchParams.delete(name);
  else copy.searchParams.set(name, value);
  return copy.href;
}

describe('signing in', () => {
  it('signs a browser in again without a question, into the same session, until that ends or prompt=login asks', async () => {
    const { url, codeVerifier } = await startSignIn();
    const body = new URLSearchParams({ user_id: demoUsers.personal.id });
    const chosen = await fetch(url, { method: 'POST', body, redirect: 'manual' });
    const cookie = chosen.headers.get('set-cookie')!.split(';')[0]!;
    const code = new URL(chosen.headers.get('location')!).searchParams.get('code')!;
    const first = await workos.userManagement.authenticateWithCode({ code, codeVerifier });
    const { sid } = decodeJwt(first.accessToken);
    const open = (to: string) => fetch(to, { headers: { cookie }, redirect: 'manual' });

    const next = await startSignIn();
    const again = new URL((await open(next.url)).headers.get('location')!).searchParams.get('code')!;
    const { accessToken } = await workos.userManagement.authenticateWithCode({
      code: again,
      codeVerifier: next.codeVerifier,
    });
    expect(decodeJwt(accessToken)['sid']).toBe(sid);
    expect((await open(edited(next.url, 'prompt', 'login'))).status).toBe(200);
    standIn.revokeSession(String(sid));
    expect((await open(next.url)).status).toBe(200);
  });

  it('takes a user from the hosted page to tokens that verify against the JWKS', async () => {
    const { url, codeVerifier } = await startSignIn();
    const callback = await standIn.authorize(url, { user: demoUsers.oneOrganization });
    expect(callback.href.split('?')[0]).toBe(redirectUri);
    expect(callback.searchParams.get('state')).toBe('state-1');
    const code = callback.searchParams.get('code')!;
    const session = await workos.userManagement.authenticateWithCode({ code, codeVerifier });
    expect(session.user).toMatchObject({ email: 'grace@instruments.example', firstName: 'Grace', emailVerified: true });
    expect(session.organizationId).toBe(demoUsers.oneOrganization.organizations[0].id);
    expect(session.authenticationMethod).toBe('Password');
    const jwks = createRemoteJWKSet(new URL(workos.userManagement.getJwksUrl(clientId)));
    const { payload } = await jwtVerify(session.accessToken, jwks, { currentDate: new Date(nowMs) });
    expect(payload).toMatchObject({
      iss: standIn.issuer,
      sub: session.user.id,
      org_id: session.organizationId,
      role: 'member',
      permissions: ['reports:read'],
      client_id: clientId,
      iat: startedAt / 1000,
      exp: startedAt / 1000 + 300,
    });
    expect(payload['sid']).toMatch(/^session_[0-9A-Z]{26}$/);
    expect(payload.jti).toMatch(/^[0-9A-Z]{26}$/);
  });

  it("makes sessions that the SDK's own sealed cookies accept", async () => {
    nowMs = Date.now();
    const cookiePassword = randomBytes(32).toString('base64url');
    const { url, codeVerifier } = await startSignIn();
    const callback = await standIn.authorize(url, { user: demoUsers.personal });
    const code = callback.searchParams.get('code')!;
    const session = { sealSession: true, cookiePassword };
    const { sealedSession } = await workos.userManagement.authenticateWithCode({ code, codeVerifier, session });
    const loaded = workos.userManagement.loadSealedSession({ sessionData: sealedSession!, cookiePassword });
    expect(await loaded.authenticate()).toMatchObject({ authenticated: true, user: { email: 'ada@example.com' } });
    expect(await loaded.refresh()).toMatchObject({ authenticated: true });
  });

  it('returns null for the organization of a personal session, and omits it from the token', async () => {
    const session = await signIn();
    expect(session.organizationId).toBeNull();
    expect(decodeJwt(session.accessToken)).not.toHaveProperty('org_id');
  });

  it('names the method of an OAuth provider', async () => {
    const session = await signIn(demoUsers.personal.id, { provider: 'GoogleOAuth' });
    expect(session.authenticationMethod).toBe('GoogleOAuth');
  });

  it('signs a new user up, and refuses an address that is taken', async () => {
    const { url, codeVerifier } = await startSignIn({ screenHint: 'sign-up', loginHint: 'new@example.com' });
    const page = await (await fetch(url)).text();
    expect(page).toContain('Create an account');
    expect(page).toContain('value="new@example.com"');
    const callback = await standIn.signUp(url, { name: 'Mary Jackson', email: 'new@example.com' });
    const code = callback.searchParams.get('code')!;
    const { user } = await workos.userManagement.authenticateWithCode({ code, codeVerifier });
    expect(user).toMatchObject({ email: 'new@example.com', firstName: 'Mary', lastName: 'Jackson' });
    await expect(standIn.signUp(url, { name: 'Other', email: 'NEW@example.com' })).rejects.toThrow('already');
    standIn.users.delete(user.id);
  });

  it('sends a canceled sign-in back with access_denied and the state', async () => {
    const { url } = await startSignIn();
    const { searchParams } = await standIn.cancel(url);
    expect(Object.fromEntries(searchParams)).toMatchObject({ error: 'access_denied', state: 'state-1' });
    expect(searchParams.has('error_description')).toBe(true);
  });

  it('lets an invitation make its user a member', async () => {
    const organizationId = demoUsers.oneOrganization.organizations[0].id;
    const uninvited = await startSignIn({ organizationId });
    const refused = await standIn.authorize(uninvited.url, { user: demoUsers.personal });
    expect(refused.searchParams.get('error')).toBe('access_denied');
    const invited = await signIn(demoUsers.personal.id, { organizationId, invitationToken: 'invitation' });
    expect(invited.organizationId).toBe(organizationId);
    standIn.users.set(demoUsers.personal.id, demoUsers.personal);
  });
});

describe('the hosted page', () => {
  it('explains itself, and lists all users', async () => {
    const { url } = await startSignIn({ loginHint: 'ada@example.com' });
    const answer = await fetch(url);
    const page = await answer.text();
    expect(page).toContain('This is not WorkOS.');
    for (const { id, email } of Object.values(demoUsers)) {
      expect(page).toContain(`value="${id}"`);
      expect(page).toContain(email);
    }
    expect(page).toMatch(new RegExp(`value="${demoUsers.personal.id}"[^>]*autofocus`));
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('escapes whatever the query brings', async () => {
    const hostile = '"><script>alert(1)</script>';
    const { url } = await startSignIn({ screenHint: 'sign-up', loginHint: hostile, state: hostile });
    for (const page of [url, edited(url, 'screen_hint', null), edited(url, 'redirect_uri', hostile)]) {
      expect(await (await fetch(page)).text()).not.toContain('<script');
    }
  });

  it('offers sign-up where WorkOS has such a page, and the link works', async () => {
    const { url } = await startSignIn();
    const link = /<a href="([^"]+)">Create an account/.exec(await (await fetch(url)).text())?.[1];
    const signUp = new URL(link!.replaceAll('&#38;', '&'), url);
    expect(await (await fetch(signUp)).text()).toContain('Sign up</button>');
    const google = await startSignIn({ provider: 'GoogleOAuth' });
    expect(await (await fetch(google.url)).text()).not.toContain('Create an account');
  });

  it('lists only members where the application asks for an organization', async () => {
    const organizationId = demoUsers.twoOrganizations.organizations[1].id;
    const { url } = await startSignIn({ organizationId });
    const page = await (await fetch(url)).text();
    expect(page).toContain('Lighthouse Cooperative</strong>');
    expect(page).toContain(demoUsers.twoOrganizations.id);
    expect(page).not.toContain(demoUsers.personal.id);
  });

  it('refuses an unregistered redirect URI, and says which one to register', async () => {
    const { url } = await startSignIn();
    for (const near of [`${redirectUri}/`, redirectUri.replace('localhost', '127.0.0.1'), `${redirectUri}?a=b`]) {
      const answer = await fetch(edited(url, 'redirect_uri', near), { redirect: 'manual' });
      expect(answer.status).toBe(400);
      expect(await answer.text()).toContain(near);
    }
  });

  it('leads back from there to an app on this machine, and nowhere else', async () => {
    const { url } = await startSignIn();
    const linkFor = async (address: string): Promise<string | undefined> =>
      /<a class="button" href="([^"]*)"/.exec(await (await fetch(edited(url, 'redirect_uri', address))).text())?.[1];
    expect(await linkFor('http://localhost:4001/app/callback?x')).toBe('http://localhost:4001/');
    expect(await linkFor('https://[::1]:4001/callback')).toBe('https://[::1]:4001/');
    for (const address of [
      'https://evil.example/callback',
      'http://localhost.evil.example/',
      'javascript:alert(1)',
      'x',
    ]) {
      expect(await linkFor(address)).toBeUndefined();
    }
  });

  it('takes a redirect URI that is registered later', async () => {
    const later = 'http://localhost:4000/callback';
    const { url } = await startSignIn({ redirectUri: later });
    expect((await fetch(url)).status).toBe(400);
    standIn.redirectUris.push(later);
    expect((await fetch(url)).status).toBe(200);
  });

  it.each([
    ['client_id', 'client_other'],
    ['client_id', null],
    ['redirect_uri', null],
  ])('shows a page without a redirect for %s=%s', async (name, value) => {
    const { url } = await startSignIn();
    const answer = await fetch(edited(url, name, value), { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  });

  it.each([
    ['unsupported_response_type', 'response_type', 'token'],
    ['unsupported_response_type', 'response_type', null],
    ['invalid_request', 'provider', null],
    ['invalid_request', 'provider', 'Elsewhere'],
    ['invalid_request', 'screen_hint', 'other'],
    ['invalid_request', 'code_challenge_method', 'plain'],
    ['invalid_request', 'code_challenge_method', null],
    ['invalid_request', 'code_challenge', 'short'],
  ])('sends back %s for %s=%s', async (error, name, value) => {
    const { url } = await startSignIn();
    const callback = await standIn.authorize(edited(url, name, value), { user: demoUsers.personal });
    expect(callback.searchParams.get('error')).toBe(error);
    expect(callback.searchParams.get('code')).toBeNull();
  });
});

describe('the code exchange', () => {
  async function freshCode() {
    const { url, codeVerifier } = await startSignIn();
    const callback = await standIn.authorize(url, { user: demoUsers.personal });
    return { code: callback.searchParams.get('code')!, codeVerifier };
  }
  const invalidGrant = { name: 'OauthException', status: 400, error: 'invalid_grant' };

  it('refuses a wrong verifier, a missing one, and every later use of the code', async () => {
    const { userManagement } = workos;
    const { code, codeVerifier } = await freshCode();
    const wrong = userManagement.authenticateWithCode({ code, codeVerifier: 'a'.repeat(43) });
    await expect(wrong).rejects.toMatchObject(invalidGrant);
    await expect(userManagement.authenticateWithCode({ code, codeVerifier })).rejects.toMatchObject(invalidGrant);
    const { code: other } = await freshCode();
    await expect(userManagement.authenticateWithCode({ code: other })).rejects.toMatchObject(invalidGrant);
  });

  it('exchanges a code once, even for two simultaneous calls', async () => {
    const payload = await freshCode();
    const both = await Promise.allSettled([1, 2].map(() => workos.userManagement.authenticateWithCode(payload)));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('expires a code after ten minutes', async () => {
    const inTime = await freshCode();
    const late = await freshCode();
    nowMs += 10 * 60_000 - 1;
    await workos.userManagement.authenticateWithCode(inTime);
    nowMs += 1;
    await expect(workos.userManagement.authenticateWithCode(late)).rejects.toMatchObject(invalidGrant);
  });

  it('answers 401 to a wrong or missing client secret, and the code stays valid', async () => {
    const payload = await freshCode();
    for (const body of [{ client_secret: 'wrong' }, {}]) {
      const answer = await fetch(`${standIn.url}/user_management/authenticate`, {
        method: 'POST',
        body: JSON.stringify({ client_id: clientId, grant_type: 'authorization_code', ...body, ...payload }),
      });
      expect(answer.status).toBe(401);
    }
    const wrong = sdk('wrong').userManagement.authenticateWithCode(payload);
    await expect(wrong).rejects.toMatchObject({ name: 'UnauthorizedException', status: 401 });
    await workos.userManagement.authenticateWithCode(payload);
  });

  it('answers like WorkOS if a further step is required', async () => {
    for (const code of ['email_verification_required', 'mfa_enrollment', 'mfa_challenge', 'sso_required'] as const) {
      standIn.switches.authenticateError = code;
      await expect(signIn()).rejects.toMatchObject({ name: 'AuthenticationException', status: 403, code });
    }
    const { refreshToken } = await standIn.issueSession({ user: demoUsers.personal });
    await expect(refresh(refreshToken)).rejects.toMatchObject({ code: 'sso_required' });
    standIn.switches.authenticateError = null;
    await refresh(refreshToken);
  });
});

describe('a user with several organizations', () => {
  const { id: user, organizations } = demoUsers.twoOrganizations;
  const [first, second] = organizations;
  const other = { id: 'org_other', name: 'Other' };
  /** As WorkOS' OpenAPI file has it: the first by its code, the second by its message alone. */
  const refusals = [
    [other.id, { status: 400, code: 'organization_membership_not_found' }],
    ['org_nowhere', { status: 404, code: undefined, message: "Organization not found: 'org_nowhere'." }],
  ] as const;
  const addOther = () =>
    standIn.issueSession({ user: { ...demoUsers.personal, id: 'user_other', organizations: [other] } });

  async function selection() {
    const error: unknown = await signIn(user).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 403, code: 'organization_selection_required' });
    return error as { pendingAuthenticationToken: string; rawData: { organizations: unknown; user: unknown } };
  }

  it('finishes with the organization that is selected', async () => {
    const { pendingAuthenticationToken, rawData } = await selection();
    expect(rawData.organizations).toEqual([first, second].map(({ id, name }) => ({ id, name })));
    expect(rawData.user).toMatchObject({ id: user });
    const choose = (organizationId: string) =>
      workos.userManagement.authenticateWithOrganizationSelection({ pendingAuthenticationToken, organizationId });
    await addOther();
    for (const [id, refusal] of refusals) await expect(choose(id)).rejects.toMatchObject(refusal);
    const session = await choose(second.id);
    expect(session.organizationId).toBe(second.id);
    expect(decodeJwt(session.accessToken)).toMatchObject({ org_id: second.id, role: 'member' });
    await expect(choose(second.id)).rejects.toMatchObject({ code: 'invalid_pending_authentication_token' });
  });

  it('is not asked if the application or the page selects one', async () => {
    expect(await signIn(user, { organizationId: first.id })).toMatchObject({ organizationId: first.id });
    const { url, codeVerifier } = await startSignIn();
    standIn.switches.hostedOrganizationChoice = true;
    await expect(standIn.authorize(url, { user })).rejects.toThrow('Choose an organization');
    const callback = await standIn.authorize(url, { user, organizationId: second.id });
    const code = callback.searchParams.get('code')!;
    const session = await workos.userManagement.authenticateWithCode({ code, codeVerifier });
    expect(session.organizationId).toBe(second.id);
  });

  it('switches with a refresh, to its own organizations only', async () => {
    const { refreshToken } = await standIn.issueSession({ user: demoUsers.twoOrganizations, organizationId: first.id });
    const switchTo = (organizationId: string) =>
      workos.userManagement.authenticateWithRefreshToken({ refreshToken, organizationId });
    await addOther();
    for (const [id, refusal] of refusals) await expect(switchTo(id)).rejects.toMatchObject(refusal);
    const session = await switchTo(second.id);
    expect(session.organizationId).toBe(second.id);
    expect((await refresh(session.refreshToken)).organizationId).toBe(second.id);
  });
});

describe('refresh', () => {
  const alreadyExchanged = { error: 'invalid_grant', errorDescription: 'Refresh token already exchanged.' };

  it('exchanges a refresh token once, even for two simultaneous calls', async () => {
    const first = await signIn();
    const both = await Promise.allSettled([refresh(first.refreshToken), refresh(first.refreshToken)]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(refresh(first.refreshToken)).rejects.toMatchObject(alreadyExchanged);
  });

  it('keeps the session and returns the user as they are now', async () => {
    const first = await signIn();
    standIn.users.set(demoUsers.personal.id, { ...demoUsers.personal, lastName: 'King' });
    const second = await refresh(first.refreshToken);
    standIn.users.set(demoUsers.personal.id, demoUsers.personal);
    expect(second.user.lastName).toBe('King');
    expect(decodeJwt(second.accessToken)['sid']).toBe(decodeJwt(first.accessToken)['sid']);
    expect(second.accessToken).not.toBe(first.accessToken);
  });

  it('answers a replay with the same pair for 30 seconds if the grace period is on', async () => {
    standIn.switches.replayGrace = true;
    const { refreshToken } = await signIn();
    const rotated = await refresh(refreshToken);
    nowMs += 30_000;
    expect(await refresh(refreshToken)).toEqual(rotated);
    nowMs += 1;
    await expect(refresh(refreshToken)).rejects.toMatchObject(alreadyExchanged);
  });

  it('repeats the refresh token, with a new access token each time, if that is on', async () => {
    standIn.switches.repeatsRefreshTokens = true;
    const { refreshToken } = await signIn();
    const [first, second] = [await refresh(refreshToken), await refresh(refreshToken)];
    expect([first.refreshToken, second.refreshToken]).toEqual([refreshToken, refreshToken]);
    expect(second.accessToken).not.toBe(first.accessToken);
  });

  it('refuses an unknown token', async () => {
    await expect(refresh('made-up')).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  it('records the requests', async () => {
    const { refreshToken } = await signIn();
    await refresh(refreshToken);
    expect(standIn.tokenCalls).toBe(2);
    const [authorizeGet, authorizePost, exchange, last] = standIn.requests;
    expect([authorizeGet, authorizePost].map((request) => request!.method)).toEqual(['GET', 'POST']);
    expect(exchange).toMatchObject({ endpoint: 'token', grantType: 'authorization_code' });
    expect(last).toMatchObject({ grantType: 'refresh_token', body: { refresh_token: refreshToken } });
  });
});

describe('sign-out', () => {
  const signOut = (sessionId: string, returnTo?: string) =>
    fetch(workos.userManagement.getLogoutUrl({ sessionId, ...(returnTo !== undefined && { returnTo }) }), {
      redirect: 'manual',
    });

  it('ends the session, so that its refresh token is invalid, and redirects back', async () => {
    standIn.switches.replayGrace = true;
    const { sessionId, refreshToken } = await standIn.issueSession({ user: demoUsers.personal });
    const { refreshToken: next } = await refresh(refreshToken);
    const answer = await signOut(sessionId, `${homepage}/`);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${homepage}/`]);
    expect(standIn.isSessionActive(sessionId)).toBe(false);
    for (const token of [refreshToken, next]) {
      await expect(refresh(token)).rejects.toMatchObject({
        error: 'invalid_grant',
        errorDescription: 'Session has already ended.',
      });
    }
  });

  it('redirects to the registered homepage if no URL is given', async () => {
    expect((await signOut('session_unknown')).headers.get('location')).toBe(homepage);
  });

  it('redirects nowhere else, and still ends the session', async () => {
    const { sessionId } = await standIn.issueSession({ user: demoUsers.personal });
    const answer = await signOut(sessionId, 'http://localhost:3999.evil.example/');
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    expect(await answer.text()).toContain('Sign-out redirect not registered');
    expect(standIn.isSessionActive(sessionId)).toBe(false);
  });

  it('can start at the provider', async () => {
    const { sessionId, refreshToken } = await standIn.issueSession({ user: demoUsers.personal });
    standIn.revokeSession(sessionId);
    await expect(refresh(refreshToken)).rejects.toMatchObject({ error: 'invalid_grant' });
  });
});

describe('keys and tokens', () => {
  const verify = (token: string) =>
    jwtVerify(token, createRemoteJWKSet(new URL(`${standIn.url}/sso/jwks/${clientId}`)), {
      currentDate: new Date(nowMs),
    });

  it('rotates to a new key beside the old one, and drops the old one on request', async () => {
    const { accessToken: old } = await standIn.issueSession({ user: demoUsers.personal });
    await standIn.rotateKeys();
    const { accessToken: fresh } = await standIn.issueSession({ user: demoUsers.personal });
    expect(decodeProtectedHeader(fresh).kid).toBe(standIn.kid);
    expect(decodeProtectedHeader(old).kid).not.toBe(standIn.kid);
    await verify(old);
    await verify(fresh);
    await standIn.rotateKeys({ dropOld: true });
    await expect(verify(fresh)).rejects.toMatchObject({ code: 'ERR_JWKS_NO_MATCHING_KEY' });
    expect(standIn.jwksCalls).toBe(3);
  });

  it('publishes no private key, and nothing for another client', async () => {
    const answer = await fetch(`${standIn.url}/sso/jwks/${clientId}`);
    const { keys } = (await answer.json()) as { keys: Record<string, unknown>[] };
    for (const key of keys) expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    expect((await fetch(`${standIn.url}/sso/jwks/client_other`)).status).toBe(404);
  });

  it('issues tokens of any lifetime and with any claims', async () => {
    standIn.switches.accessTokenTtlSeconds = 60;
    standIn.switches.extraClaims = { plan: 'gold' };
    const user = demoUsers.personal;
    const usual = decodeJwt((await standIn.issueSession({ user })).accessToken);
    expect([usual.exp! - usual.iat!, usual['plan']]).toEqual([60, 'gold']);
    const { accessToken } = await standIn.issueSession({
      user,
      accessTokenTtlSeconds: -1,
      claims: { sub: 'user_other', client_id: undefined },
    });
    const odd = decodeJwt(accessToken);
    expect([odd.sub, odd.exp! - odd.iat!, 'client_id' in odd]).toEqual(['user_other', -1, false]);
  });

  it('signs any claims with the real key, and forges on request', async () => {
    const claims = { sub: 'user_other' };
    expect((await verify(await standIn.signToken(claims))).payload).toEqual(claims);
    for (const how of [{ alg: 'none' }, { alg: 'HS256' }, { alg: 'PS256' }, { kid: 'unknown' }]) {
      const token = await standIn.signToken(claims, how);
      expect(decodeProtectedHeader(token)).toMatchObject(how);
      await expect(verify(token)).rejects.toThrow();
    }
  });

  it('marks the sessions of an impersonated user', async () => {
    const impersonator = { email: 'support@example.com', reason: 'ticket' };
    const user = { ...demoUsers.personal, id: 'user_01JC4XIMPERSONATED0000000', impersonator };
    const session = await standIn.issueSession({ user });
    expect(session.impersonator).toEqual(impersonator);
    expect(decodeJwt(session.accessToken)['act']).toEqual({ sub: impersonator.email });
    expect((await refresh(session.refreshToken)).impersonator).toEqual(impersonator);
    standIn.users.delete(user.id);
  });
});

describe('outages', () => {
  const tokenCall = async () => refresh((await standIn.issueSession({ user: demoUsers.personal })).refreshToken);

  it.each<[string, Fault, object]>([
    ['a closed connection', 'refuse', { cause: { name: 'TypeError' } }],
    ['a broken answer', 'reset', { name: 'TypeError', message: 'terminated' }],
    ['a page of a proxy', 'html502', { cause: { rawStatus: 502 } }],
    ['a server error', { status: 500 }, { name: 'GenericServerException', status: 500 }],
    ['a rate limit', { status: 429 }, { name: 'RateLimitExceededException', retryAfter: null }],
    ['a rate limit with a time', { status: 429, retryAfterSeconds: 7 }, { retryAfter: 7 }],
    ['a refused API key', { status: 401 }, { name: 'UnauthorizedException', status: 401 }],
  ])('returns %s to the SDK, and uses no token', async (_, fault, error) => {
    const { refreshToken } = await standIn.issueSession({ user: demoUsers.personal });
    standIn.switches.outage.token = fault;
    await expect(refresh(refreshToken)).rejects.toMatchObject(error);
    standIn.switches.outage = {};
    await refresh(refreshToken);
  });

  it('never answers while it hangs', async () => {
    standIn.switches.outage.token = 'hang';
    const abort = new AbortController();
    const call = fetch(`${standIn.url}/user_management/authenticate`, { method: 'POST', signal: abort.signal });
    const outcome = expect(call).rejects.toMatchObject({ name: 'AbortError' });
    await standIn.arrived('token');
    abort.abort();
    await outcome;
  });

  it('rotates and loses the answer; only the grace period restores it', async () => {
    const { refreshToken } = await standIn.issueSession({ user: demoUsers.personal });
    standIn.switches.outage.token = { fault: 'lost', calls: 1 };
    await expect(refresh(refreshToken)).rejects.toThrow();
    await expect(refresh(refreshToken)).rejects.toMatchObject({ error: 'invalid_grant' });
    standIn.switches.replayGrace = true;
    await refresh(refreshToken);
  });

  it('fails for a given number of calls', async () => {
    standIn.switches.outage.token = { fault: { status: 503 }, calls: 2 };
    await expect(tokenCall()).rejects.toMatchObject({ status: 503 });
    await expect(tokenCall()).rejects.toMatchObject({ status: 503 });
    await tokenCall();
  });

  it('affects the named endpoint, or all of them by default', async () => {
    const jwks = `${standIn.url}/sso/jwks/${clientId}`;
    const { url } = await startSignIn();
    standIn.switches.outage = { jwks: { status: 503 } };
    expect((await fetch(jwks)).status).toBe(503);
    expect((await fetch(url)).status).toBe(200);
    standIn.switches.outage = { all: 'html502', jwks: { status: 500 } };
    expect((await fetch(jwks)).status).toBe(500);
    expect((await fetch(url)).status).toBe(502);
    expect((await fetch(workos.userManagement.getLogoutUrl({ sessionId: 'session_any' }))).status).toBe(502);
  });

  it('delays a call until the gate opens', async () => {
    const { refreshToken } = await standIn.issueSession({ user: demoUsers.personal });
    const { promise, resolve: open } = Promise.withResolvers<undefined>();
    standIn.switches.gate.token = () => promise;
    let isSettled = false;
    const call = refresh(refreshToken).finally(() => {
      isSettled = true;
    });
    await standIn.arrived('token');
    await fetch(`${standIn.url}/sso/jwks/${clientId}`);
    expect(isSettled).toBe(false);
    open(undefined);
    expect((await call).refreshToken).not.toBe(refreshToken);
  });
});

describe('starting', () => {
  const options = { clientId, apiKey };

  it('refuses to run in production', async () => {
    const before = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      await expect(startWorkos(options)).rejects.toThrow('does not run in production');
    } finally {
      process.env['NODE_ENV'] = before;
    }
  });

  it('listens on loopback only', async () => {
    for (const host of ['0.0.0.0', '::', 'example.com']) {
      await expect(startWorkos({ ...options, host })).rejects.toThrow('loopback only');
    }
  });

  it('reports that the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const address = other.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    await expect(startWorkos({ ...options, port: port! })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    other.close();
  });

  it('answers unknown requests with 4xx', async () => {
    expect((await fetch(`${standIn.url}/users`)).status).toBe(404);
    const token = `${standIn.url}/user_management/authenticate`;
    for (const body of ['', 'not json', '[]', '{}', `{"client_id":"${clientId}"}`]) {
      const { status } = await fetch(token, { method: 'POST', body });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    }
  });
});
