import { createBoundedMap } from '../core/bounded-map.ts';
import { AuthError } from '../errors.ts';
import type { AskShared } from './outage-report.ts';
import { localMs, maxRecords } from './session-records.ts';
import type { SharedCoordinator } from './shared-coordinator.ts';

/** Sessions and tokens that a cutoff does not concern although their times say so. */
export type Exceptions = ReturnType<typeof createExceptions>;

export function createExceptions(shared: SharedCoordinator | undefined, askShared: AskShared, now: () => number) {
  const local = createBoundedMap<true>({ max: maxRecords, ttlMs: localMs, now });
  return {
    isKnown: (name: string) => local.has(name),
    /** @returns whether the other processes can know */
    async add(name: string, ttlMs: number): Promise<boolean> {
      local.set(name, true, { ttl: ttlMs });
      const told = shared?.endSession(name, ttlMs).then(() => true);
      return askShared(told, shared === undefined);
    },
    /** @returns `undefined` where the coordinator did not answer */
    async has(name: string): Promise<boolean | undefined> {
      if (local.has(name)) return true;
      if (shared === undefined) return false;
      const isKnownElsewhere = await askShared<boolean | undefined>(shared.isEnded(name).then(isTrue), undefined);
      if (isKnownElsewhere === true) local.set(name, true);
      return isKnownElsewhere;
    },
  };
}

/** An application's own coordinator may answer with anything. */
const isTrue = (value: unknown): boolean => value === true;

/** @throws {AuthError} where only another process could tell: neither may the session pass, nor must its cookie go */
export function isTold(isException: boolean | undefined): boolean {
  if (isException !== undefined) return isException;
  throw new AuthError('provider_unavailable', { reason: 'coordinator', retryAfter: 5 });
}

interface TokenName {
  readonly session: string | undefined;
  readonly token: string | undefined;
  readonly issuedAt: number;
}

/** With the time in its name, an exception says nothing about a later call. */
export const beganAfter = (session: string, time: number): string => `began:${session}:${time}`;
export const renewedAfter = ({ session, token, issuedAt }: TokenName, time: number): string =>
  `renewed:${token ?? `${session}:${issuedAt}`}:${time}`;
