import type { CryptoKey, JWSHeaderParameters } from 'jose';
import { AuthError } from '../errors.ts';
import { withDeadline } from '../core/deadline.ts';
import { joseCode } from './jose-code.ts';
import { fetchJwks } from './jwks-document.ts';
import type { JwksDocument } from './jwks-document.ts';
import { createSignatureCheck } from './signature.ts';
import type { SignatureCheck } from './signature.ts';
import type { SignedText, Token } from './token.ts';

export interface KeySetOptions {
  /** The issuer's `jwks_uri`. */
  readonly url: URL | string;
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** For one fetch, body included. Default 5,000. */
  readonly timeoutMs?: number;
  /** After this age the keys are refetched in the background. Default 10 minutes. */
  readonly maxAgeMs?: number;
  /** Least time from one fetch to the next, whatever tokens arrive. Default 30 seconds. */
  readonly cooldownMs?: number;
  /** The same after a failed fetch; short, so that a start during an outage recovers soon. Default 5 seconds. */
  readonly backoffMs?: number;
  /** Told of each failed fetch; `stale` says that cached keys keep serving. */
  readonly onUnavailable?: (failure: { readonly stale: boolean; readonly cause: unknown }) => void;
}

export interface KeySet {
  /**
   * The key that a token's header names, also for jose's `jwtVerify`.
   *
   * @throws `ERR_JWKS_NO_MATCHING_KEY` the issuer, asked within the cool-down, publishes no such key: the token is invalid
   * @throws `ERR_JWKS_MULTIPLE_MATCHING_KEYS` the token names no `kid` and several keys fit; the error iterates over them
   * @throws `ERR_JOSE_NOT_SUPPORTED` the token's `alg` is no asymmetric signature
   * @throws {AuthError} `provider_unavailable`: only the issuer could tell, and it cannot be reached
   */
  readonly getKey: (protectedHeader: JWSHeaderParameters) => Promise<CryptoKey>;
  /**
   * Whether the key that a token's header names has signed it; `undefined` where only jose can tell. Answers at once by a key
   * that has checked before.
   *
   * @throws like `getKey`
   */
  readonly checkSignature: (
    header: Token['header'],
    signed: SignedText,
  ) => boolean | undefined | Promise<boolean | undefined>;
  /**
   * Whether the issuer publishes no key at all, as a project does that signs with a shared secret.
   *
   * @throws {AuthError} `provider_unavailable`
   */
  isEmpty(): Promise<boolean>;
  /** When the held keys were fetched, in milliseconds since the epoch; `undefined` before the first fetch. */
  fetchedAt(): number | undefined;
  /** The same for tokens that have just come from the issuer: no stranger's, so that the cool-down is one second. */
  readonly ofIssued: Omit<KeySet, 'ofIssued'>;
}

interface Held extends JwksDocument {
  readonly fetchedAt: number;
  /** Of the keys that were used, by what tokens name them with. */
  readonly checks: Map<string, SignatureCheck>;
}

interface Found {
  readonly key: CryptoKey;
  /** The keys that it is one of. */
  readonly keys: Held;
}

interface Failure {
  readonly at: number;
  readonly cause: unknown;
}

/**
 * The signing keys of one issuer. A known key is never held up by the network: it is served from memory while an aged set
 * is refetched in the background, and for as long as the endpoint is down. An unknown `kid` refetches, one fetch for
 * all who wait and none within the cool-down, so that made-up tokens cannot be turned into load on the issuer.
 */
export function createKeySet(options: KeySetOptions): KeySet {
  const { fetch = globalThis.fetch, now, timeoutMs = 5000, onUnavailable } = options;
  const { maxAgeMs = 10 * 60_000, cooldownMs = 30_000, backoffMs = 5000 } = options;
  const url = new URL(options.url);

  let held: Held | undefined;
  /** Of the last fetch; a success forgets it. */
  let failure: Failure | undefined;
  let inFlight: Promise<Held> | undefined;

  async function download(): Promise<Held> {
    try {
      const document = await withDeadline(
        (signal) => fetchJwks(url, fetch, signal),
        timeoutMs,
        () => new Error(`The JWKS endpoint did not answer within ${timeoutMs} ms`),
      );
      failure = undefined;
      held = { ...document, fetchedAt: now(), checks: new Map() };
      return held;
    } catch (cause) {
      failure = { at: now(), cause };
      report(cause);
      throw unavailable(failure);
    }
  }

  function report(cause: unknown): void {
    try {
      onUnavailable?.({ stale: held !== undefined, cause });
    } catch {
      // A listener's own failure is not the token's.
    }
  }

  function unavailable({ at, cause }: Failure): AuthError {
    const retryAfter = Math.max(1, Math.ceil((at + backoffMs - now()) / 1000));
    return new AuthError('provider_unavailable', { cause, retryAfter });
  }

  /** A clock that was set back counts as elapsed, or it would stop fetches until it has caught up. */
  function hasElapsed(since: number, intervalMs: number): boolean {
    const elapsedMs = now() - since;
    return elapsedMs < 0 || elapsedMs >= intervalMs;
  }

  function mayFetch(minIntervalMs = cooldownMs): boolean {
    if (failure) return hasElapsed(failure.at, backoffMs);
    return held === undefined || hasElapsed(held.fetchedAt, minIntervalMs);
  }

  function refetch(): Promise<Held> {
    inFlight ??= download().finally(() => {
      inFlight = undefined;
    });
    return inFlight;
  }

  /** The newest keys that may be had now; during the back-off the failure is answered from memory. */
  async function newest(minIntervalMs = cooldownMs): Promise<Held> {
    if (!inFlight && !mayFetch(minIntervalMs)) {
      if (failure) throw unavailable(failure);
      if (held) return held;
    }
    return refetch();
  }

  /** Keys at once where there are any. */
  async function current(): Promise<Held> {
    if (!held) return newest();
    renewAged(held);
    return held;
  }

  function renewAged({ fetchedAt }: Held): void {
    if (!hasElapsed(fetchedAt, maxAgeMs) || !mayFetch()) return;
    refetch().catch(() => undefined); // Reported by `onUnavailable`; the stale keys serve.
  }

  async function findKey(header: JWSHeaderParameters, minIntervalMs: number): Promise<Found> {
    const known = await current();
    try {
      return { key: await known.getKey(header), keys: known };
    } catch (error) {
      if (joseCode(error) !== 'ERR_JWKS_NO_MATCHING_KEY') throw asOutcome(error);
    }
    const fresh = await newest(minIntervalMs);
    try {
      return { key: await fresh.getKey(header), keys: fresh };
    } catch (error) {
      throw asOutcome(error);
    }
  }

  async function checkByNewKey(
    header: Token['header'],
    name: string,
    signed: SignedText,
    minIntervalMs: number,
  ): Promise<boolean | undefined> {
    const { key, keys } = await findKey(header, minIntervalMs);
    const check = createSignatureCheck(key);
    keys.checks.set(name, check);
    return check(signed);
  }

  /** @param minIntervalMs least time from one fetch to the next for a key that is not known */
  const lookUpsWith = (minIntervalMs: number): KeySet['ofIssued'] => ({
    getKey: async (header) => (await findKey(header, minIntervalMs)).key,
    checkSignature(header, signed) {
      const name = JSON.stringify([header['alg'], header['kid']]);
      const known = held?.checks.get(name);
      if (held === undefined || known === undefined) return checkByNewKey(header, name, signed, minIntervalMs);
      renewAged(held);
      return known(signed);
    },
    async isEmpty() {
      return (await current()).isEmpty;
    },
    fetchedAt: () => held?.fetchedAt,
  });

  return { ...lookUpsWith(cooldownMs), ofIssued: lookUpsWith(Math.min(issuedCooldownMs, cooldownMs)) };
}

/** Milliseconds. Enough for the issuer's own caches, and too short for anyone to notice. */
const issuedCooldownMs = 1_000;

const aboutToken: readonly unknown[] = [
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JOSE_NOT_SUPPORTED',
];

/** What speaks of the token stays as it is; a published key that cannot be imported is the issuer's fault. */
function asOutcome(error: unknown): unknown {
  const isAboutToken = aboutToken.includes(joseCode(error));
  return isAboutToken ? error : new AuthError('provider_unavailable', { cause: error });
}
