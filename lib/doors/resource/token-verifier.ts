import type { Router } from 'express';
import type { IncomingMessage } from 'node:http';
import * as v from 'valibot';
import { AuthError } from '../../errors.ts';
import type { AuthErrorCode } from '../../errors.ts';
import { definitionOf } from '../../http/adapter.ts';
import type { Adapter } from '../../http/adapter.ts';
import { isHttpUrl } from '../../options/shared.ts';
import type { ExactOptionsOf } from '../../options/shared.ts';
import { readTokenOptions, tokenEntries } from './options.ts';
import type { TokenRules } from './options.ts';
import { authInfoOf, judgeToken, warnOfAudience } from './token.ts';
import type { AuthInfo } from './token.ts';

/** The MCP SDK's error for a refused token: `InvalidTokenError` of version 1, `OAuthError` of version 2. */
export type TokenErrorClass = (new (message: string) => Error) | (new (code: string, message: string) => Error);

export interface TokenVerifierOptions extends ExactOptionsOf<typeof tokenEntries> {
  /** `InvalidTokenError` of the MCP SDK 1, `OAuthError` of 2. The SDK answers 500 to an error of any other class. */
  readonly InvalidTokenError: TokenErrorClass;
  /** The identifier of the resource, which is its public URL. */
  readonly resource: string | URL;
}

/** For `requireBearerAuth({ verifier })` of the MCP SDK. */
export interface TokenVerifier {
  /**
   * @throws the SDK's own error for a token that may not be used here
   * @throws {AuthError} `provider_unavailable` where keys are out of reach; the SDK answers 500 to it
   */
  verifyAccessToken(token: string): Promise<AuthInfo>;
}

const resourceRule = 'must be the public URL of the resource, such as https://app.example.com/mcp';
const schema = v.strictObject({
  InvalidTokenError: v.custom<TokenErrorClass>(
    (value) => typeof value === 'function',
    'must be InvalidTokenError of @modelcontextprotocol/sdk, or OAuthError of @modelcontextprotocol/server',
  ),
  resource: v.pipe(
    v.union([v.string(), v.instance(URL)], resourceRule),
    v.transform(String),
    v.check((value) => isHttpUrl(value) && !value.includes('#'), resourceRule),
    v.description('the public URL of the resource, such as https://app.example.com/mcp'),
  ),
  ...tokenEntries,
});

/**
 * A verifier for the MCP SDK's own `requireBearerAuth`, by the rules of `protectResource`, which answers better: 503 with `Retry-After`
 * while keys are out of reach, and 403 to what `accept` refuses. `accept` gets a request without headers.
 *
 * @param auth what `b2bAuth()` or `backendAuth()` returned
 * @throws {ConfigurationError} with every problem at once, and where `auth` is something else
 * @example requireBearerAuth({ verifier: createTokenVerifier(auth, { InvalidTokenError, resource, clients: 'any' }) })
 */
export function createTokenVerifier(auth: Router, options: TokenVerifierOptions): TokenVerifier {
  const caller = 'createTokenVerifier';
  const definition = definitionOf(caller, auth);
  const { options: read, rules } = readTokenOptions(caller, definition, schema, options);
  warnOfAudience(definition, rules);
  const { InvalidTokenError, resource } = read;
  return {
    async verifyAccessToken(token) {
      try {
        return await verify(definition, rules, token, resource);
      } catch (error) {
        const isRefusal = error instanceof AuthError && error.status < 500;
        throw isRefusal ? errorOf(InvalidTokenError, refusals[error.code] ?? refusals.invalid_token) : error;
      }
    },
  };
}

/** @throws {AuthError} `invalid_token`, `not_accepted`, `provider_unavailable` */
async function verify({ acceptance }: Adapter, rules: TokenRules, token: unknown, resource: string): Promise<AuthInfo> {
  const session = typeof token === 'string' ? await rules.server.resolve(token, {}) : undefined;
  if (session === undefined) throw new AuthError('invalid_token');
  await judgeToken(session.claims, rules, resource);
  if (acceptance !== undefined && !(await acceptance.admits(session, requestWithoutHeaders())))
    throw new AuthError('not_accepted');
  return authInfoOf(session, rules, resource);
}

/** The SDK writes them into a header: without quotes, and in ASCII. */
const refusals: Readonly<Partial<Record<AuthErrorCode, string>>> & { readonly invalid_token: string } = {
  invalid_token: 'The access token is invalid, or was not issued for this resource',
  not_accepted: 'This account may not be used here',
};

/** The SDK hands over the token alone. */
function requestWithoutHeaders(): IncomingMessage {
  // As ES modules, they would also load undici in Node 24.
  const { IncomingMessage: Message } = process.getBuiltinModule('node:http');
  const { Socket } = process.getBuiltinModule('node:net');
  return new Message(new Socket());
}

/** Version 2 has one class for all errors, whose first argument is the code. */
function errorOf(TokenError: TokenErrorClass, message: string): Error {
  const make = (...parameters: readonly string[]) => Reflect.construct(TokenError, parameters) as Error;
  const error = make('invalid_token', message);
  return error.message === message ? error : make(message);
}
