import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { JSONWebKeySet, JWTPayload } from 'jose';
import { isProduction } from '../tools/environment.ts';
import { isRecord, parseJson } from '../tools/json.ts';
import { ConfigurationError } from '../errors.ts';

/**
 * The provider's state: `working`; `down`, so that every call fails; `revoking`, so that it ends
 * each session that is renewed, as after an administrator's sign-out.
 */
export type ProviderState = 'working' | 'down' | 'revoking';

/** A call to the provider, as the adapter made it. */
export interface ProviderCall {
  readonly method: string;
  readonly url: URL;
  /** The JSON body's members; empty where there is none. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

/**
 * A `fetch` that never uses the network.
 *
 * @param answer returns `undefined` for unknown calls
 * @param otherwise handles unknown calls; default: a 501, and a warning
 */
export function createInMemoryProvider(
  answer: (call: ProviderCall, state: ProviderState) => Promise<Response | undefined>,
  otherwise: typeof globalThis.fetch = refuse,
) {
  let state: ProviderState = 'working';
  const fetch: typeof globalThis.fetch = async (input, init) => {
    refuseInProduction();
    const request = new Request(input, init);
    const { method, url, headers } = request;
    const call = { method, url: new URL(url), body: await bodyOf(request.clone()), headers };
    if (state === 'down')
      throw new TypeError('fetch failed', { cause: new Error('The provider is simulated to be down') });
    return (await answer(call, state)) ?? otherwise(input, init);
  };
  const simulate = (next: ProviderState): void => void (state = next);
  return { fetch, simulate };
}

async function bodyOf(request: Request): Promise<ProviderCall['body']> {
  const text = await request.text();
  const value = parseJson(text);
  return isRecord(value) ? value : Object.fromEntries(new URLSearchParams(text));
}

/** A response, because SDKs retry a broken connection for seconds; and a warning, because a 501 is easily overlooked. */
const refuse: typeof globalThis.fetch = (input, init) => {
  const { method, url } = new Request(input, init);
  const { origin, pathname } = new URL(url);
  const message = `express-auth-adapters/testing has no answer to ${method} ${origin}${pathname}; give the adapter the kit's own \`options\``;
  process.emitWarning(message, { code: 'EXPRESS_AUTH_ADAPTERS_TESTING' });
  return Promise.resolve(Response.json({ message }, { status: 501 }));
};

/**
 * A key pair like the provider's: its signatures are verified exactly as in production. Generated
 * on first use and never written anywhere.
 */
export function createSigningKey(alg: 'RS256' | 'ES256') {
  const kid = randomUUID();
  let pair: ReturnType<typeof generateKeyPair> | undefined;
  const keys = (): ReturnType<typeof generateKeyPair> => (pair ??= generateKeyPair(alg));
  return {
    async sign(claims: JWTPayload): Promise<string> {
      const { privateKey } = await keys();
      return new SignJWT(claims).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(privateKey);
    },
    /** The public key, as the provider publishes it (RFC 7517 §5). */
    async jwks(): Promise<JSONWebKeySet> {
      const { publicKey } = await keys();
      return { keys: [{ ...(await exportJWK(publicKey)), alg, kid, use: 'sig' }] };
    },
  };
}

/**
 * A testing kit can sign in as any user. Every call checks `NODE_ENV`, so that a kit that was
 * created before it was set also fails.
 *
 * @throws {ConfigurationError} with `NODE_ENV=production`
 */
export function refuseInProduction(): void {
  if (!isProduction()) return;
  throw new ConfigurationError('express-auth-adapters/testing', [
    'makes sessions of people who never signed in, so it refuses to run with NODE_ENV=production; import it from tests only',
  ]);
}
