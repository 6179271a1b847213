import { mayBeWithdrawn } from './record.ts';
import { tokenMs } from './records.ts';
import type { KeysOf, Records } from './records.ts';

/** What a user allowed an OAuth client. */
export interface ClientGrant {
  readonly userId: string;
  readonly clientId: string;
}

/** What users take back from OAuth clients, and allow them again. */
export function createClientGrants({
  records,
  keysOf,
  notify,
  now,
}: {
  readonly records: Records;
  readonly keysOf: KeysOf;
  readonly notify: (subject: string) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}) {
  const subjectOf = (grant: ClientGrant): string =>
    keysOf({ sessionId: undefined, beganAt: 0, issuedAt: 0, ...grant }, undefined).subjects.at(-1) ?? '';

  return {
    /** Ends the access tokens that were issued before now. @throws {AuthError} `provider_unavailable` where it applies in this process only */
    async withdrawGrant(grant: ClientGrant): Promise<void> {
      const subject = subjectOf(grant);
      await records.callNext({ subject, name: 'withdrawn', ttlMs: tokenMs, at: now() }, () => notify(subject));
    },
    /** Lets the client's new tokens pass at once, where its grant was taken back just now. Never rejects. */
    async allowGrant(grant: ClientGrant): Promise<void> {
      const subject = subjectOf(grant);
      const { record } = await records.find([subject]);
      if (!mayBeWithdrawn(record, now())) return;
      const allowed = records.nextTime({ subject, name: 'withdrawn', at: now() });
      await records.tell(subject, { allowed }, tokenMs);
    },
  };
}
