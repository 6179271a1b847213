import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { JSONWebKeySet, JWTPayload } from 'jose';
import { isRecord, parseJson } from '../core/json.ts';
import { ConfigurationError } from '../errors.ts';

/**
 * How the provider behaves: `working`; `down`, so that every call to it fails; `revoking`, so that it ends each session that is
 * renewed, as after an administrator's sign-out.
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
 * A `fetch` that never touches the network.
 *
 * @param answer `undefined` for calls that it does not know
 * @param otherwise where those go; default: a 501, and a warning that says so
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

/** An answer rather than a broken connection, which SDKs would try again for seconds; a warning, as a 503 is easily overlooked. */
const refuse: typeof globalThis.fetch = (input, init) => {
  const { method, url } = new Request(input, init);
  const { origin, pathname } = new URL(url);
  const message = `express-auth-adapters/testing has no answer to ${method} ${origin}${pathname}; give the adapter the kit's own \`options\``;
  process.emitWarning(message, { code: 'EXPRESS_AUTH_ADAPTERS_TESTING' });
  return Promise.resolve(Response.json({ message }, { status: 501 }));
};

/**
 * A key pair like the provider's own: what it signs is verified exactly as in production. Generated on first need, and never written
 * anywhere.
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
    /** The public half, as the provider publishes it (RFC 7517 §5). */
    async jwks(): Promise<JSONWebKeySet> {
      const { publicKey } = await keys();
      return { keys: [{ ...(await exportJWK(publicKey)), alg, kid, use: 'sig' }] };
    },
  };
}

/**
 * A testing kit can sign in as any user. It is asked at every call, so that a kit made before `NODE_ENV` was set is of no
 * more use than one made after.
 *
 * @throws {ConfigurationError} with `NODE_ENV=production`
 */
export function refuseInProduction(): void {
  if (process.env['NODE_ENV'] !== 'production') return;
  throw new ConfigurationError('express-auth-adapters/testing', [
    'makes sessions of people who never signed in, so it refuses to run with NODE_ENV=production; import it from tests only',
  ]);
}
