import { randomUUID } from 'node:crypto';
import { GoTrueError } from './errors.ts';
import type { NewUser, Switches, User, UserJson } from './types.ts';

export function createUsers(switches: Switches, now: () => number) {
  const byId = new Map<string, User>();
  const isoNow = () => new Date(now()).toISOString();

  return {
    isoNow,
    find: (email: string) => [...byId.values()].find((user) => user.email === email.toLowerCase()),
    get: (id: string) => byId.get(id),

    add(
      { email, password, confirmed = true, metadata = {}, appMetadata = {}, banned = false }: NewUser,
      via = 'email',
    ) {
      const at = isoNow();
      const user: User = {
        id: randomUUID(),
        email: email.toLowerCase(),
        password,
        confirmedAt: confirmed ? at : undefined,
        confirmationSentAt: undefined,
        lastSignInAt: undefined,
        // "user_metadata":{"email_verified":true}: what GoTrue adds for itself
        metadata: { email_verified: confirmed, ...metadata },
        appMetadata,
        banned,
        providers: [via],
        createdAt: at,
      };
      byId.set(user.id, user);
      return user;
    },

    remove: (id: string) => byId.delete(id),

    /** @throws GoTrueError */
    checkNewCredentials(email: string, password: string): void {
      if (password === '') throw new GoTrueError(400, 'validation_failed', 'Signup requires a valid password');
      if (Buffer.byteLength(password) > 72) {
        throw new GoTrueError(400, 'validation_failed', 'Password cannot be longer than 72 characters');
      }
      const reasons = weaknesses(password, switches);
      if (reasons.length > 0) {
        throw new GoTrueError(422, 'weak_password', weakMessage(switches), { weak_password: { reasons } });
      }
      if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email)) {
        throw new GoTrueError(400, 'validation_failed', 'Unable to validate email address: invalid format');
      }
    },

    /** A password that was accepted once and would not be today comes with the session, not instead of it. */
    weakPassword(password: string) {
      const reasons = weaknesses(password, switches);
      return reasons.length === 0 ? {} : { weak_password: { message: weakMessage(switches), reasons } };
    },
  };
}

export type Users = ReturnType<typeof createUsers>;

export function userJson(user: User): UserJson {
  const { id, email, createdAt, confirmedAt } = user;
  // GoTrue copies the metadata of the sign-up into the identity, where the identity says nothing itself.
  const identityData = {
    ...user.metadata,
    sub: id,
    email,
    email_verified: confirmedAt !== undefined,
    phone_verified: false,
  };
  return {
    id,
    aud: 'authenticated',
    role: 'authenticated',
    email,
    ...(confirmedAt === undefined ? {} : { email_confirmed_at: confirmedAt, confirmed_at: confirmedAt }),
    ...(user.confirmationSentAt === undefined ? {} : { confirmation_sent_at: user.confirmationSentAt }),
    ...(user.lastSignInAt === undefined ? {} : { last_sign_in_at: user.lastSignInAt }),
    phone: '',
    app_metadata: appMetadataOf(user),
    user_metadata: user.metadata,
    identities: user.providers.map((provider) => ({
      identity_id: id,
      id,
      user_id: id,
      identity_data: identityData,
      provider,
      last_sign_in_at: user.lastSignInAt ?? createdAt,
      created_at: createdAt,
      updated_at: createdAt,
      email,
    })),
    created_at: createdAt,
    updated_at: createdAt,
    is_anonymous: false,
  };
}

/** What GoTrue answers when the address belongs to a user already: a user who does not exist, without identities. */
export function obfuscatedUserJson(email: string, at: string, metadata: Record<string, unknown>): UserJson {
  return {
    id: randomUUID(),
    aud: 'authenticated',
    role: '',
    email,
    phone: '',
    confirmation_sent_at: at,
    app_metadata: { provider: 'email', providers: ['email'] },
    user_metadata: metadata,
    identities: [],
    created_at: at,
    updated_at: at,
    is_anonymous: false,
  };
}

export function appMetadataOf(user: User): Record<string, unknown> {
  return { provider: user.providers[0], providers: user.providers, ...user.appMetadata };
}

function weaknesses(password: string, switches: Switches): string[] {
  return [
    ...(password.length < switches.minimumPasswordLength ? ['length'] : []),
    ...(switches.requireLettersAndDigits && !(/[a-z]/i.test(password) && /\d/.test(password)) ? ['characters'] : []),
    ...(switches.pwnedPasswords.has(password) ? ['pwned'] : []),
  ];
}

const weakMessage = ({ minimumPasswordLength }: Switches) =>
  `Password should be at least ${minimumPasswordLength} characters.`;
