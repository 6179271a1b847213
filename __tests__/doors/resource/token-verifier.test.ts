import {
  AuthError,
  b2bAuth,
  backendAuth,
  ConfigurationError,
  createTokenVerifier,
  endSession,
} from '../../../lib/index.ts';
import type { B2bAuthOptions, TokenVerifierOptions } from '../../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../../lib/testing/index.ts';

const resource = 'https://app.example.com/mcp';
const ada = { user: { email: 'ada@example.com' } };

/** As in version 1 of the SDK. */
class InvalidTokenError extends Error {
  readonly errorUri: string | undefined;

  constructor(message: string, errorUri?: string) {
    super(message);
    this.errorUri = errorUri;
  }
}

/** As in version 2. */
class OAuthError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

class ElsewhereError extends Error {
  readonly errorCode: string;

  constructor(code: string, message: string) {
    super(message);
    this.errorCode = code;
  }
}

/** What users of version 2 may make of it. */
class OwnError extends OAuthError {
  constructor(message: string) {
    super('invalid_token', message);
  }
}

function verifierOf(options: Partial<TokenVerifierOptions> = {}, auth: B2bAuthOptions = {}) {
  const kit = createB2bTestKit();
  const router = b2bAuth({ ...kit.options, ...auth });
  const verifier = createTokenVerifier(router, { InvalidTokenError, resource, ...options });
  const token = async (person: object = {}, client: object = {}) =>
    (await kit.bearer({ ...ada, ...person }, { audience: resource, ...client })).replace('Bearer ', '');
  return { kit, router, token, verify: (text: string) => verifier.verifyAccessToken(text) };
}

it('verifies as protectResource does, for the resource that it is given', async () => {
  const { token, verify } = verifierOf();
  const text = await token({ organizationId: 'org_1' }, { client: 'client_1', scopes: ['a'] });
  expect(await verify(text)).toMatchObject({
    token: text,
    clientId: 'client_1',
    scopes: ['a'],
    resource: new URL(resource),
    extra: { organizationId: 'org_1', userId: expect.stringMatching(/^user_/) },
  });
  const byUrl = verifierOf({ resource: new URL(resource) });
  expect((await byUrl.verify(await byUrl.token())).resource?.href).toBe(resource);
});

it.each([
  ['another resource', { audience: 'https://app.example.com/other' }, {}],
  ['an expired one', {}, { expired: true }],
  ['another issuer', {}, { claims: { iss: 'https://other.authkit.app' } }],
] as const)('throws the SDK’s own error for a token of %s', async (_, client, person) => {
  const { token, verify } = verifierOf();
  await expect(verify(await token(person, client))).rejects.toBeInstanceOf(InvalidTokenError);
});

it.each(['', 'x', 'a.b.c', '\n', 'Bearer x', undefined, null, 1, {}])('throws it for %p', async (text) => {
  const { verify } = verifierOf();
  await expect(verify(text as string)).rejects.toBeInstanceOf(InvalidTokenError);
});

it.each([
  ['version 1', InvalidTokenError, undefined],
  ['version 2', OAuthError, 'invalid_token'],
  ['an own class', OwnError, 'invalid_token'],
  ['a class that keeps the code elsewhere', ElsewhereError, undefined],
] as const)('makes an error of %s, with a message that tells no secret', async (_, TokenError, code) => {
  const { verify } = verifierOf({ InvalidTokenError: TokenError });
  const error: unknown = await verify('secret.token.text').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TokenError);
  expect(error).toMatchObject({ ...(code !== undefined && { code }) });
  expect((error as { errorUri?: unknown }).errorUri).toBeUndefined();
  // The SDK writes it into a quoted string of a header, where other characters end in a 500.
  expect((error as Error).message).toMatch(/^[A-Z][\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  expect((error as Error).message).not.toContain('secret');
});

it('throws 503 while keys are out of reach, so that the client keeps its token', async () => {
  const { kit, token, verify } = verifierOf();
  const text = await token();
  kit.simulate('down');
  await expect(verify(text)).rejects.toMatchObject({ name: 'AuthError', code: 'provider_unavailable' });
  expect(new AuthError('provider_unavailable').status).toBe(503);
});

it('asks accept, which gets a request without headers, and refuses what it refuses', async () => {
  const seen: unknown[] = [];
  const accept: B2bAuthOptions['accept'] = (session, req) => {
    seen.push([req.headers, req.method, req.socket.remoteAddress]);
    return session.organizationId === 'org_in';
  };
  const { token, verify } = verifierOf({}, { accept });
  await expect(verify(await token({ organizationId: 'org_in' }))).resolves.toBeDefined();
  await expect(verify(await token())).rejects.toBeInstanceOf(InvalidTokenError);
  expect(seen).toEqual([
    [{}, null, undefined],
    [{}, null, undefined],
  ]);
});

it('passes on an error of accept', async () => {
  const { token, verify } = verifierOf({}, { accept: () => Promise.reject(new Error('the database is gone')) });
  await expect(verify(await token())).rejects.toThrow('the database is gone');
});

it('obeys endSession', async () => {
  const { router, token, verify } = verifierOf();
  const text = await token();
  const { extra } = await verify(text);
  await endSession(router, { userId: String(extra.userId) });
  await expect(verify(text)).rejects.toBeInstanceOf(InvalidTokenError);
});

it('keeps the rules for clients and audience of backendAuth', async () => {
  const kit = createBackendTestKit();
  const auth = backendAuth(kit.options);
  const token = async (client?: object) => (await kit.bearer(ada, client)).replace('Bearer ', '');
  const verifier = (options: object) =>
    createTokenVerifier(auth, { InvalidTokenError, resource, audience: 'authenticated', ...options });
  const any = verifier({ clients: 'any' });
  expect((await any.verifyAccessToken(await token({ client: 'c' }))).resource).toBeUndefined();
  await expect(any.verifyAccessToken(await token())).rejects.toBeInstanceOf(InvalidTokenError);
  const listed = verifier({ clients: ['c'], audience: resource });
  expect(await listed.verifyAccessToken(await token({ client: 'c', audience: resource }))).toMatchObject({
    clientId: 'c',
    resource: new URL(resource),
  });
  await expect(listed.verifyAccessToken(await token({ client: 'd', audience: resource }))).rejects.toThrow();
  await expect(listed.verifyAccessToken(await token({ client: 'c' }))).rejects.toThrow();
  const own = verifier({ clients: 'any', firstParty: true });
  expect((await own.verifyAccessToken(await token())).clientId).toBe('');
});

it('names every problem of its options at once', () => {
  const auth = backendAuth(createBackendTestKit().options);
  const call = () => createTokenVerifier(auth, { resource: '/mcp', clients: [], path: '/mcp' } as never);
  expect(call).toThrow(ConfigurationError);
  for (const name of [
    'InvalidTokenError is missing',
    'resource must be the public URL',
    'clients must',
    'path is not an option',
  ])
    expect(call).toThrow(name);
  expect(() => createTokenVerifier({} as never, { InvalidTokenError, resource })).toThrow(/first argument must be/);
});
