import { GoTrueError } from './errors.ts';
import type { Factors } from './factors.ts';
import type { Flows } from './flows.ts';
import type { SigningKeys } from './keys.ts';
import type { Mails } from './mails.ts';
import type { Passkeys } from './passkeys.ts';
import type { OAuthServer } from './oauth-server.ts';
import type { Sessions } from './sessions.ts';
import type { Person, Switches, User } from './types.ts';
import type { Users } from './users.ts';

export interface Note {
  readonly id: number;
  readonly user_id: string;
  body: string;
  /** ISO 8601. */
  readonly created_at: string;
}

/** Everything behind one project's URL. */
export interface Project {
  readonly url: string;
  readonly siteUrl: string;
  /** The target of a redirect: the one that was asked for, or the site where that one is not allowed. */
  readonly redirectTo: (asked: string) => string;
  /** Who is signed in at the OAuth providers. */
  readonly people: readonly Person[];
  readonly publishableKey: string;
  /** For the admin API. */
  readonly secretKey: string;
  readonly switches: Switches;
  readonly now: () => number;
  readonly keys: SigningKeys;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly flows: Flows;
  readonly mails: Mails;
  readonly factors: Factors;
  /** The code that was last sent to each phone number. */
  readonly phoneCodes: Map<string, string>;
  readonly passkeys: Passkeys;
  readonly oauthServer: OAuthServer;
  readonly notes: Note[];
}

/** Confirms the address, as an email's link or a provider with verified addresses does. */
export function confirm(project: Project, user: User): void {
  if (user.confirmedAt !== undefined) return;
  user.confirmedAt = project.users.isoNow();
  user.metadata = { ...user.metadata, email_verified: true };
}

/** Makes the new address the user's address; an anonymous user becomes an ordinary one. @throws GoTrueError */
export function changeEmail(project: Project, user: User): void {
  if (user.newEmail === undefined) return;
  // Two users may request one address; the second confirmation violates a database constraint.
  if (project.users.find(user.newEmail)) throw new GoTrueError(500, 'unexpected_failure', 'Error confirm email');
  Object.assign(user, { email: user.newEmail, newEmail: undefined, isAnonymous: false });
  if (!user.providers.includes('email')) user.providers.push('email');
  confirm(project, user);
}
