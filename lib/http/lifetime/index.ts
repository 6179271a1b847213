import type * as v from 'valibot';
import type { Lifetime } from '../../session/source.ts';
import type { lifetimeEntries } from './options.ts';

type LifetimeOptions = v.InferOutput<v.ObjectSchema<typeof lifetimeEntries, undefined>>;

/** Part of `idleTimeout` after which a request renews the token. */
const renewalShare = 1 / 4;

/**
 * `sessionMaxAge` and `idleTimeout` of both adapters (OWASP ASVS 5.0, V7.3). They need no state: the sign-in is in the session, and a session
 * in use renews its token, so that the token's own age says how long it was idle.
 */
export const lifetime = {
  source: ({ sessionMaxAge, idleTimeout, now }: LifetimeOptions & { readonly now: () => number }) =>
    sessionMaxAge === undefined && idleTimeout === undefined
      ? {}
      : { lifetime: createLifetime({ sessionMaxAge, idleTimeout }, now) },
};

function createLifetime(
  { sessionMaxAge = Infinity, idleTimeout = Infinity }: LifetimeOptions,
  now: () => number,
): Lifetime {
  const ends: Readonly<Record<string, (ages: Parameters<Lifetime['endOf']>[0]) => number>> = {
    session_max_age: ({ beganAt }) => beganAt + sessionMaxAge * 1000,
    idle_timeout: ({ issuedAt }) => issuedAt + idleTimeout * 1000,
  };
  return {
    endOf: (ages) => Math.min(...Object.values(ends).map((end) => end(ages))),
    overBy: (ages) => Object.entries(ends).find(([, end]) => end(ages) <= now())?.[0],
    renewalDueAt: ({ issuedAt }) => issuedAt + idleTimeout * renewalShare * 1000,
  };
}
