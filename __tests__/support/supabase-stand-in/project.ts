import type { Flows } from './flows.ts';
import type { SigningKeys } from './keys.ts';
import type { Mails } from './mails.ts';
import type { Sessions } from './sessions.ts';
import type { Switches, User } from './types.ts';
import type { Users } from './users.ts';

export interface Note {
  readonly id: number;
  readonly user_id: string;
  readonly body: string;
}

/** Everything behind one project's URL. */
export interface Project {
  readonly url: string;
  readonly siteUrl: string;
  readonly redirectAllowList: readonly string[];
  readonly publishableKey: string;
  readonly switches: Switches;
  readonly now: () => number;
  readonly keys: SigningKeys;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly flows: Flows;
  readonly mails: Mails;
  readonly notes: Note[];
}

/** Confirms the address, as a mail link or a provider that vouches for it does. */
export function confirm(project: Project, user: User): void {
  if (user.confirmedAt !== undefined) return;
  user.confirmedAt = project.users.isoNow();
  user.metadata = { ...user.metadata, email_verified: true };
}
