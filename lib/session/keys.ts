import { noBackground } from '../tools/background.ts';
import type { Background } from '../tools/background.ts';
import type { createRemoteJWKSet, CryptoKey, JWK, JWSHeaderParameters } from 'jose';
import { withDeadline } from '../tools/deadline.ts';
import { isRecord, readText } from '../tools/json.ts';
import { AuthError } from '../errors.ts';

export interface KeySetOptions {
  /** The issuer's `jwks_uri`. */
  readonly url: URL | string;
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Time limit of one fetch, body included. Default 5,000. */
  readonly timeoutMs?: number;
  /** For what no request waits for. Default: the process goes on by itself. */
  readonly background?: Background | undefined;
  /** Called after each failed fetch; `stale` means that cached keys are still used. */
  readonly onUnavailable?: (failure: { readonly stale: boolean; readonly cause: unknown }) => void;
}

/** The signing keys of one issuer, as a verification uses them. */
export interface SigningKeys {
  /**
   * The key for a token's header, also for jose's `jwtVerify`.
   *
   * @throws `ERR_JWKS_NO_MATCHING_KEY` the issuer, asked within the cool-down, publishes no such key, or one that
   *   cannot be imported: the token is invalid
   * @throws `ERR_JWKS_MULTIPLE_MATCHING_KEYS` the token names no `kid` and several keys fit; the error iterates over them
   * @throws `ERR_JOSE_NOT_SUPPORTED` the token's `alg` is not an asymmetric signature
   * @throws {AuthError} `provider_unavailable`: only the issuer can decide, and it cannot be reached
   */
  readonly getKey: (protectedHeader: JWSHeaderParameters) => Promise<CryptoKey>;
  /** When the cached keys were fetched, in milliseconds since the epoch; `undefined` before the first fetch. */
  fetchedAt(): number | undefined;
}

export interface KeySet extends SigningKeys {
  /** For tokens that the issuer just sent: attackers cannot send them, so an unknown key is fetched after a second. */
  readonly ofIssued: SigningKeys;
  /**
   * Whether the issuer publishes no key, as a project that signs with a shared secret.
   *
   * @throws {AuthError} `provider_unavailable`
   */
  isEmpty(): Promise<boolean>;
}

export function createKeySet(options: KeySetOptions): KeySet {
  const keys = new RemoteKeys(options);
  const signingKeys = (minIntervalMs: number): SigningKeys => ({
    getKey: (header) => keys.find(header, minIntervalMs),
    fetchedAt: () => keys.known?.fetchedAt,
  });
  return {
    ...signingKeys(cooldownMs),
    ofIssued: signingKeys(issuedCooldownMs),
    isEmpty: async () => (await keys.current(), keys.known?.isEmpty === true),
  };
}

/** Milliseconds: after this age the keys are fetched again in the background. */
const maxAgeMs = 10 * 60_000;
/** The minimum time between two fetches, in milliseconds, whatever tokens arrive. */
const cooldownMs = 30_000;
/** The same for tokens that the issuer just sent: long enough for its own caches, and too short to be noticed. */
const issuedCooldownMs = 1_000;
/** The same after a failed fetch: short, for a quick recovery after a start during an outage. */
const backoffMs = 5_000;
/** An answer without keys may be an outage. From this age of the keys on, in milliseconds, they count as withdrawn. */
const emptyAfterMs = 20 * 60_000;

type JoseKeys = ReturnType<typeof createRemoteJWKSet>;

/**
 * jose's `createRemoteJWKSet` shares a running fetch and keeps the last good set. Its own intervals make tokens wait for a
 * fetch, and follow the system's clock, so none of them ends here. A known key never waits for the network: it is served while
 * an aged set is fetched in the background, and during an outage. An unknown `kid` causes at most one fetch per cool-down, so
 * that made-up tokens cannot cause load on the issuer.
 */
class RemoteKeys {
  /** What the last good fetch brought, and when, in milliseconds since the epoch. */
  known: { readonly fetchedAt: number; readonly isEmpty: boolean } | undefined;
  /** How the last fetch failed; a good one clears it. */
  #failure: { readonly at: number; readonly cause: unknown } | undefined;
  #keys: Promise<JoseKeys> | undefined;
  readonly #options: KeySetOptions;

  constructor(options: KeySetOptions) {
    this.#options = options;
  }

  async find(header: JWSHeaderParameters, minIntervalMs: number): Promise<CryptoKey> {
    const keys = await this.current();
    const key = await keys(header).catch(keylessUnless);
    if (key !== undefined) return key;
    await this.#renew(minIntervalMs);
    return (await keys(header).catch(keylessUnless)) ?? refuseKeyless();
  }

  /** Waits for the first keys, and for no later ones. */
  async current(): Promise<JoseKeys> {
    if (this.known === undefined) await this.#renew(cooldownMs);
    // A failure is reported by `onUnavailable`; the stale keys serve.
    else if (this.#isPast(this.known.fetchedAt, maxAgeMs))
      (this.#options.background ?? noBackground).run(this.#renew(cooldownMs).catch(() => undefined));
    return this.#load();
  }

  /** Fetches the keys, or shares a running fetch, unless the last one was too recent; during the back-off its failure is thrown. */
  async #renew(minIntervalMs: number): Promise<void> {
    const keys = await this.#load();
    const last = this.#failure?.at ?? this.known?.fetchedAt;
    const isDue = last === undefined || this.#isPast(last, this.#failure === undefined ? minIntervalMs : backoffMs);
    if (isDue || keys.reloading) await keys.reload();
    else if (this.#failure !== undefined) throw this.#unavailable(this.#failure);
  }

  /** jose is loaded with the first token, so that it does not delay the start. */
  #load(): Promise<JoseKeys> {
    this.#keys ??= import('jose/jwks/remote').then(({ createRemoteJWKSet, customFetch }) =>
      createRemoteJWKSet(new URL(this.#options.url), {
        cacheMaxAge: Infinity,
        cooldownDuration: Infinity,
        [customFetch]: (url) => this.#fetch(url),
      }),
    );
    return this.#keys;
  }

  async #fetch(url: string): Promise<Response> {
    const { fetch = globalThis.fetch, now, timeoutMs = 5000, onUnavailable } = this.#options;
    try {
      const keys = await withDeadline(
        (signal) => fetchKeys(url, fetch, signal),
        timeoutMs,
        () => new Error(`The JWKS endpoint did not answer within ${timeoutMs} ms`),
      );
      const isEmpty = keys.length === 0;
      if (isEmpty && this.known?.isEmpty === false && !this.#isPast(this.known.fetchedAt, emptyAfterMs))
        throw new Error('The JWKS endpoint answered no key');
      this.known = { fetchedAt: now(), isEmpty };
      this.#failure = undefined;
      return Response.json({ keys });
    } catch (cause) {
      this.#failure = { at: now(), cause };
      try {
        onUnavailable?.({ stale: this.known !== undefined, cause });
      } catch {
        // A listener's exception must not fail the token.
      }
      throw this.#unavailable(this.#failure);
    }
  }

  #unavailable({ at, cause }: { readonly at: number; readonly cause: unknown }): AuthError {
    const retryAfter = Math.max(1, Math.ceil((at + backoffMs - this.#options.now()) / 1000));
    return new AuthError('provider_unavailable', { cause, retryAfter });
  }

  /** A clock that was set back counts as past; otherwise no fetch would run until it has caught up. */
  #isPast(since: number, intervalMs: number): boolean {
    const elapsedMs = this.#options.now() - since;
    return elapsedMs < 0 || elapsedMs >= intervalMs;
  }
}

const otherReasons: readonly unknown[] = ['ERR_JWKS_MULTIPLE_MATCHING_KEYS', 'ERR_JOSE_NOT_SUPPORTED'];

/** No key: none matches, or the one that matches cannot be imported, such as a point that is not on its curve. */
function keylessUnless(error: unknown): undefined {
  if (error instanceof AuthError || otherReasons.includes(joseCode(error))) throw error;
}

async function refuseKeyless(): Promise<never> {
  const { JWKSNoMatchingKey } = await import('jose/errors');
  throw new JWKSNoMatchingKey();
}

/**
 * The code of a jose error, as its documentation recommends; `instanceof` would require loading jose.
 *
 * @see https://github.com/panva/jose/blob/main/docs/util/errors/README.md
 */
export function joseCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^ERR_J(?:OSE|W[A-Z]+)_/.test(code) ? code : undefined;
}

/** Far more than any provider publishes, and small enough to be harmless. */
const maxJwksBytes = 256 * 1024;

/**
 * The keys of a JSON Web Key Set (RFC 7517 §5) that may verify a signature.
 *
 * @throws where there is no usable document: no connection, another status than 200 (redirects are
 * not followed), a body that is too long, no JSON, or no key set
 */
async function fetchKeys(url: string, fetch: typeof globalThis.fetch, signal: AbortSignal): Promise<readonly JWK[]> {
  const response = await fetch(url, { signal, redirect: 'manual', headers: { accept: 'application/json' } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The JWKS endpoint answered ${response.status}`);
  }
  const document: unknown = JSON.parse(await readText(response, maxJwksBytes));
  if (!isRecord(document) || !Array.isArray(document['keys'])) throw new Error('The JWKS endpoint answered no key set');
  return document['keys'].filter(isPublicKey);
}

/**
 * Unknown members are skipped (RFC 7517 §5). Shared secrets are dropped, because anyone can sign
 * with a published secret, and so are private keys.
 */
function isPublicKey(member: unknown): member is JWK {
  return (
    isRecord(member) &&
    typeof member['kty'] === 'string' &&
    member['kty'] !== 'oct' &&
    !(typeof member['alg'] === 'string' && member['alg'].startsWith('HS')) &&
    !['d', 'priv'].some((secret) => secret in member)
  );
}
