import type { createLocalJWKSet, CryptoKey, JWK, JWSHeaderParameters } from 'jose';
import { withDeadline } from '../core/deadline.ts';
import { isRecord, readText } from '../core/json.ts';
import { AuthError } from '../errors.ts';

export interface KeySetOptions {
  /** The issuer's `jwks_uri`. */
  readonly url: URL | string;
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Time limit of one fetch, body included. Default 5,000. */
  readonly timeoutMs?: number;
  /** After this age the keys are refetched in the background. Default 10 minutes. */
  readonly maxAgeMs?: number;
  /** Minimum time between two fetches, whatever tokens arrive. Default 30 seconds. */
  readonly cooldownMs?: number;
  /** The same after a failed fetch; short, for a quick recovery after a start during an outage. Default 5 seconds. */
  readonly backoffMs?: number;
  /** Called after each failed fetch; `stale` means that cached keys are still used. */
  readonly onUnavailable?: (failure: { readonly stale: boolean; readonly cause: unknown }) => void;
}

export interface KeySet {
  /**
   * The key for a token's header, also for jose's `jwtVerify`.
   *
   * @throws `ERR_JWKS_NO_MATCHING_KEY` the issuer, asked within the cool-down, publishes no such key: the token is invalid
   * @throws `ERR_JWKS_MULTIPLE_MATCHING_KEYS` the token names no `kid` and several keys fit; the error iterates over them
   * @throws `ERR_JOSE_NOT_SUPPORTED` the token's `alg` is not an asymmetric signature
   * @throws {AuthError} `provider_unavailable`: only the issuer can decide, and it cannot be reached
   */
  readonly getKey: (protectedHeader: JWSHeaderParameters) => Promise<CryptoKey>;
  /**
   * Whether the issuer publishes no key, as a project that signs with a shared secret.
   *
   * @throws {AuthError} `provider_unavailable`
   */
  isEmpty(): Promise<boolean>;
  /** When the cached keys were fetched, in milliseconds since the epoch; `undefined` before the first fetch. */
  fetchedAt(): number | undefined;
  /** The same for tokens that the issuer just sent: attackers cannot send them, so the cool-down is one second. */
  readonly ofIssued: Omit<KeySet, 'ofIssued'>;
}

/** A fetched JSON Web Key Set (RFC 7517 §5), reduced to keys that may verify a signature. */
interface JwksDocument {
  readonly getKey: ReturnType<typeof createLocalJWKSet>;
  /** True for a project that signs with a shared secret and publishes no key. */
  readonly isEmpty: boolean;
}

interface CachedKeys extends JwksDocument {
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number;
}

interface Failure {
  readonly at: number;
  readonly cause: unknown;
}

/**
 * The signing keys of one issuer. A known key never waits for the network: it is served from memory while an
 * aged set is refetched in the background, and during an outage. An unknown `kid` causes a refetch, shared by
 * all callers and at most one per cool-down, so that made-up tokens cannot cause load on the issuer.
 */
export function createKeySet(options: KeySetOptions): KeySet {
  const { fetch = globalThis.fetch, now, timeoutMs = 5000, onUnavailable } = options;
  const { maxAgeMs = 10 * 60_000, cooldownMs = 30_000, backoffMs = 5000 } = options;
  const url = new URL(options.url);

  let cached: CachedKeys | undefined;
  /** The failure of the last fetch; a success clears it. */
  let failure: Failure | undefined;
  let inFlight: Promise<CachedKeys> | undefined;

  async function download(): Promise<CachedKeys> {
    try {
      const document = await withDeadline(
        (signal) => fetchJwks(url, fetch, signal),
        timeoutMs,
        () => new Error(`The JWKS endpoint did not answer within ${timeoutMs} ms`),
      );
      failure = undefined;
      cached = { ...document, fetchedAt: now() };
      return cached;
    } catch (cause) {
      failure = { at: now(), cause };
      report(cause);
      throw unavailable(failure);
    }
  }

  function report(cause: unknown): void {
    try {
      onUnavailable?.({ stale: cached !== undefined, cause });
    } catch {
      // A listener's exception must not fail the token.
    }
  }

  function unavailable({ at, cause }: Failure): AuthError {
    const retryAfter = Math.max(1, Math.ceil((at + backoffMs - now()) / 1000));
    return new AuthError('provider_unavailable', { cause, retryAfter });
  }

  /** A clock that was set back counts as elapsed; otherwise no fetch would run until it has caught up. */
  function hasElapsed(since: number, intervalMs: number): boolean {
    const elapsedMs = now() - since;
    return elapsedMs < 0 || elapsedMs >= intervalMs;
  }

  function mayFetch(minIntervalMs = cooldownMs): boolean {
    if (failure) return hasElapsed(failure.at, backoffMs);
    return cached === undefined || hasElapsed(cached.fetchedAt, minIntervalMs);
  }

  function refetch(): Promise<CachedKeys> {
    inFlight ??= download().finally(() => {
      inFlight = undefined;
    });
    return inFlight;
  }

  /** The newest available keys; during the back-off the cached failure is thrown. */
  async function newest(minIntervalMs = cooldownMs): Promise<CachedKeys> {
    if (!inFlight && !mayFetch(minIntervalMs)) {
      if (failure) throw unavailable(failure);
      if (cached) return cached;
    }
    return refetch();
  }

  /** The cached keys without waiting, if there are any. */
  async function current(): Promise<CachedKeys> {
    if (!cached) return newest();
    renewAged(cached);
    return cached;
  }

  function renewAged({ fetchedAt }: CachedKeys): void {
    if (!hasElapsed(fetchedAt, maxAgeMs) || !mayFetch()) return;
    refetch().catch(() => undefined); // Reported by `onUnavailable`; the stale keys serve.
  }

  async function findKey(header: JWSHeaderParameters, minIntervalMs: number): Promise<CryptoKey> {
    const known = await current();
    try {
      return await known.getKey(header);
    } catch (error) {
      if (joseCode(error) !== 'ERR_JWKS_NO_MATCHING_KEY') throw asOutcome(error);
    }
    const fresh = await newest(minIntervalMs);
    try {
      return await fresh.getKey(header);
    } catch (error) {
      throw asOutcome(error);
    }
  }

  /** @param minIntervalMs minimum time between two fetches for an unknown key */
  const lookUpsWith = (minIntervalMs: number): KeySet['ofIssued'] => ({
    getKey: (header) => findKey(header, minIntervalMs),
    async isEmpty() {
      return (await current()).isEmpty;
    },
    fetchedAt: () => cached?.fetchedAt,
  });

  return { ...lookUpsWith(cooldownMs), ofIssued: lookUpsWith(Math.min(issuedCooldownMs, cooldownMs)) };
}

/** Milliseconds: long enough for the issuer's own caches, and too short to be noticed. */
const issuedCooldownMs = 1_000;

const aboutToken: readonly unknown[] = [
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JOSE_NOT_SUPPORTED',
];

/** Errors about the token are kept; a published key that cannot be imported is the issuer's error. */
function asOutcome(error: unknown): unknown {
  const isAboutToken = aboutToken.includes(joseCode(error));
  return isAboutToken ? error : new AuthError('provider_unavailable', { cause: error });
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
 * @throws where there is no usable document: no connection, another status than 200 (redirects are
 * not followed), a body that is too long, no JSON, or no key set
 */
async function fetchJwks(url: URL, fetch: typeof globalThis.fetch, signal: AbortSignal): Promise<JwksDocument> {
  const response = await fetch(url, { signal, redirect: 'manual', headers: { accept: 'application/json' } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The JWKS endpoint answered ${response.status}`);
  }
  const keys = verificationKeys(JSON.parse(await readText(response, maxJwksBytes)));
  // Loaded with the first keys, so that it does not delay the start.
  const { createLocalJWKSet } = await import('jose/jwks/local');
  return { getKey: createLocalJWKSet({ keys: [...keys] }), isEmpty: keys.length === 0 };
}

/**
 * Unknown members are skipped (RFC 7517 §5). Shared secrets are dropped, because anyone can sign
 * with a published secret, and so are private keys.
 */
function verificationKeys(document: unknown): readonly JWK[] {
  if (!isRecord(document) || !Array.isArray(document['keys'])) throw new Error('The JWKS endpoint answered no key set');
  return document['keys'].filter(isPublicKey);
}

function isPublicKey(member: unknown): member is JWK {
  return (
    isRecord(member) &&
    typeof member['kty'] === 'string' &&
    member['kty'] !== 'oct' &&
    !(typeof member['alg'] === 'string' && member['alg'].startsWith('HS')) &&
    !['d', 'priv'].some((secret) => secret in member)
  );
}
