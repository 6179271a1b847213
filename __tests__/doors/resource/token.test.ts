import type { AuthorizationServer } from '../../../lib/http/adapter.ts';
import type { TokenRules } from '../../../lib/doors/resource/options.ts';
import { authInfoOf, judgeToken } from '../../../lib/doors/resource/token.ts';
import { AuthError, b2bAuth, createTokenVerifier } from '../../../lib/index.ts';
import type { AccessTokenClaims, B2bSession, Json, TokenVerifierOptions } from '../../../lib/index.ts';
import { createB2bTestKit } from '../../../lib/testing/index.ts';

const resource = 'https://app.example.com/mcp';
const claims: AccessTokenClaims = { sub: 'user_1', exp: 2_000_000_000 };

/** A server that binds tokens to a resource, as AuthKit does. */
const server: AuthorizationServer = {
  issuer: 'https://testing.authkit.app',
  bindsResource: true,
  resolve: () => Promise.resolve(undefined),
  clientOf: ({ client_id: client }) => (typeof client === 'string' ? client : undefined),
  hasFirstParty: false,
  isUser: () => true,
};
const rulesOf = (rules: Partial<TokenRules> = {}): TokenRules => ({
  server,
  audience: undefined,
  clients: 'any',
  firstParty: false,
  ...rules,
});

/** Whether a token with this `aud` passes. */
const passes = (aud: Json | undefined, rules: Partial<TokenRules>, identifier?: string): Promise<boolean> =>
  judgeToken({ ...claims, ...(aud === undefined ? {} : { aud }) }, rulesOf(rules), identifier).then(
    () => true,
    (error: unknown) => {
      expect(error).toMatchObject({ name: 'AuthError', code: 'invalid_token' });
      return false;
    },
  );

describe('a token', () => {
  it.each([resource, [resource], ['urn:other', resource]])('for the resource passes: aud %j', async (aud) => {
    expect(await passes(aud, {}, resource)).toBe(true);
  });

  it.each([undefined, null, '', [], {}, `${resource}/`, 'https://app.example.com', ['urn:other']])(
    'for anything else is refused: aud %j',
    async (aud) => {
      expect(await passes(aud, {}, resource)).toBe(false);
    },
  );

  it.each([undefined, null, 'undefined', [], resource])(
    'is refused where the resource is not known for sure: aud %j',
    async (aud) => {
      expect(await passes(aud, {})).toBe(false);
    },
  );

  it.each([
    ['https://api.example.com', ['https://api.example.com', 'https://api.example.com/']],
    ['https://api.example.com/', ['https://api.example.com', 'https://api.example.com/']],
    ['https://api.example.com/v1', ['https://api.example.com/v1']],
    // Texts that end like an origin, and are none.
    ['urn:app:https://api.example.com', ['urn:app:https://api.example.com']],
    ['xhttps://api.example.com/', ['xhttps://api.example.com/']],
  ])('for the audience %s has one of the forms %j', async (audience, forms) => {
    const all = ['https://api.example.com', 'https://api.example.com/', 'https://api.example.com/v1', audience];
    for (const aud of new Set(all)) {
      expect([aud, await passes(aud, { audience }, resource)]).toEqual([aud, forms.includes(aud)]);
    }
  });
});

describe('a token of the application’s own session', () => {
  const ofSupabase: AuthorizationServer = { ...server, bindsResource: false, hasFirstParty: true };
  const anyone = (): boolean => true;
  it.each([
    { name: 'any', clients: 'any' as const, firstParty: true, expected: true },
    { name: 'any', clients: 'any' as const, firstParty: false, expected: false },
    { name: 'of a list', clients: new Set(['client_1']), firstParty: true, expected: false },
    { name: 'by a function', clients: anyone, firstParty: true, expected: false },
    { name: 'by a function', clients: anyone, firstParty: false, expected: false },
  ])('with clients $name and firstParty $firstParty passes: $expected', async ({ clients, firstParty, expected }) => {
    expect(await passes('authenticated', { server: ofSupabase, clients, firstParty })).toBe(expected);
  });
});

describe('the scopes that tools see', () => {
  const session = (scope: Json | undefined): B2bSession => ({
    adapter: 'b2b',
    credential: 'bearer',
    user: { id: 'user_1', email: 'ada@example.com' },
    sessionId: 'session_1',
    accessToken: 'token',
    claims: { ...claims, scope },
    expiresAt: 2_000_000_000_000,
  });

  it.each([
    ['notes:read notes:write', ['notes:read', 'notes:write']],
    ['  notes:read   notes:write ', ['notes:read', 'notes:write']],
    ['', []],
    [' ', []],
    [undefined, []],
    [['notes:read'], []],
  ])('of the claim %j are %j', (scope, scopes) => {
    expect(authInfoOf(session(scope), rulesOf(), resource).scopes).toEqual(scopes);
  });
});

describe('createTokenVerifier', () => {
  class InvalidTokenError extends Error {}
  const verifierOf = (options: object, accept?: () => boolean) => {
    const kit = createB2bTestKit();
    const auth = b2bAuth({ ...kit.options, ...(accept === undefined ? {} : { accept }) });
    const given = { InvalidTokenError, resource, ...options } as TokenVerifierOptions;
    return { kit, verifier: createTokenVerifier(auth, given) };
  };

  it.each([
    ['an error', new InvalidTokenError()],
    ['an object', {}],
    ['a name', 'InvalidTokenError'],
    ['nothing', null],
  ])('refuses %s in place of the class', (_what, given) => {
    expect(() => verifierOf({ InvalidTokenError: given })).toThrow(
      'createTokenVerifier: InvalidTokenError must be InvalidTokenError of @modelcontextprotocol/sdk, or OAuthError of @modelcontextprotocol/server',
    );
  });

  it.each([
    ['that accept refuses', () => false, 'This account may not be used here'],
    ['for another resource', () => true, 'The access token is invalid, or was not issued for this resource'],
  ])('says why it refuses a token %s', async (_what, accept, message) => {
    const { kit, verifier } = verifierOf({}, accept);
    const audience = accept() ? `${resource}/other` : resource;
    const token = (await kit.bearer({}, { audience })).replace('Bearer ', '');
    await expect(verifier.verifyAccessToken(token)).rejects.toThrow(new InvalidTokenError(message));
  });

  it('says of any other refusal that the token is invalid', async () => {
    const { kit, verifier } = verifierOf({}, () => {
      throw new AuthError('forbidden');
    });
    const token = (await kit.bearer({}, { audience: resource })).replace('Bearer ', '');
    await expect(verifier.verifyAccessToken(token)).rejects.toThrow(
      new InvalidTokenError('The access token is invalid, or was not issued for this resource'),
    );
  });
});
