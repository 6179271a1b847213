import { createHash, randomUUID } from 'node:crypto';
import { picturePath } from '../page.ts';
import { GoTrueError } from './errors.ts';
import type { Factor, NewUser, Switches, User, UserJson } from './types.ts';

export function createUsers(switches: Switches, now: () => number, onAdd: (user: User) => void = () => undefined) {
  const byId = new Map<string, User>();
  const isoNow = () => new Date(now()).toISOString();

  return {
    isoNow,
    find: (email: string) => [...byId.values()].find((user) => email !== '' && user.email === email.toLowerCase()),
    findPhone: (phone: string) => [...byId.values()].find((user) => phone !== '' && user.phone === phone),
    get: (id: string) => byId.get(id),
    list: () => [...byId.values()],

    add(
      {
        id = randomUUID(),
        email,
        password,
        confirmed = true,
        metadata = {},
        appMetadata = {},
        banned = false,
      }: NewUser,
      via = 'email',
    ) {
      const at = isoNow();
      const user: User = {
        id,
        email: email.toLowerCase(),
        phone: '',
        newEmail: undefined,
        password,
        isAnonymous: false,
        isSsoUser: via.startsWith('sso:'),
        factors: [],
        confirmedAt: confirmed ? at : undefined,
        confirmationSentAt: undefined,
        recoverySentAt: undefined,
        emailChangeSentAt: undefined,
        reauthenticationSentAt: undefined,
        invitedAt: undefined,
        lastSignInAt: undefined,
        // "user_metadata":{"email_verified":true}: what GoTrue adds for itself
        metadata: { email_verified: confirmed, ...metadata },
        identityData: metadata,
        appMetadata,
        banned,
        providers: [via],
        addresses: new Map(),
        createdAt: at,
      };
      byId.set(user.id, user);
      onAdd(user);
      return user;
    },

    addAnonymous(metadata: Record<string, unknown>): User {
      const user = this.add({ email: '', confirmed: false });
      Object.assign(user, { isAnonymous: true, metadata });
      user.providers.pop();
      return user;
    },

    addPhone(phone: string): User {
      return Object.assign(this.add({ email: '' }, 'phone'), { phone });
    },

    remove: (id: string) => byId.delete(id),

    /** @throws GoTrueError */
    checkNewCredentials(email: string, password: string): void {
      if (password === '') throw new GoTrueError(400, 'validation_failed', 'Signup requires a valid password');
      this.checkPassword(password);
      checkEmail(email);
    },

    /** @throws GoTrueError */
    checkPassword(password: string): void {
      if (Buffer.byteLength(password) > 72) {
        throw new GoTrueError(400, 'validation_failed', 'Password cannot be longer than 72 characters');
      }
      const reasons = weaknesses(password, switches);
      if (reasons.length > 0) {
        throw new GoTrueError(422, 'weak_password', weakMessage(switches), { weak_password: { reasons } });
      }
    },

    /** A weak password that was accepted earlier is reported together with the session, not instead of it. */
    weakPassword(password: string) {
      const reasons = weaknesses(password, switches);
      return reasons.length === 0 ? {} : { weak_password: { message: weakMessage(switches), reasons } };
    },
  };
}

export type Users = ReturnType<typeof createUsers>;

/** What GoTrue takes from a provider's profile. */
export function profileOf(origin: string, name: string): Record<string, string> {
  const picture = `${origin}${picturePath(name)}`;
  return { name, full_name: name, avatar_url: picture, picture };
}

export const isEmail = (text: string) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text);

/** @throws GoTrueError */
export function checkEmail(email: string): void {
  if (email === '') throw new GoTrueError(400, 'validation_failed', 'An email address is required');
  if (!isEmail(email)) {
    throw new GoTrueError(400, 'validation_failed', 'Unable to validate email address: invalid format');
  }
}

export function userJson(user: User): UserJson {
  const { id, email, createdAt, confirmedAt } = user;
  // GoTrue copies the sign-up's metadata into the identity, where the identity has none of its own.
  const identityData = {
    ...user.identityData,
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
    ...given({
      invited_at: user.invitedAt,
      confirmation_sent_at: user.confirmationSentAt,
      recovery_sent_at: user.recoverySentAt,
      new_email: user.newEmail,
      email_change_sent_at: user.emailChangeSentAt,
      reauthentication_sent_at: user.reauthenticationSentAt,
      last_sign_in_at: user.lastSignInAt,
    }),
    phone: user.phone,
    app_metadata: appMetadataOf(user),
    user_metadata: user.metadata,
    ...(user.factors.length === 0 ? {} : { factors: user.factors.map(factorJson) }),
    identities: user.providers.map((provider) => identityJson(provider, user, identityData)),
    created_at: createdAt,
    updated_at: createdAt,
    is_anonymous: user.isAnonymous,
  };
}

function identityJson(provider: string, user: User, data: object) {
  const { id, createdAt } = user;
  const email = addressAt(provider, user);
  const sub = subjectOf(provider, { id, email });
  return {
    identity_id: identityIdOf(provider, user),
    id: sub,
    user_id: id,
    identity_data: { ...data, email, sub },
    provider,
    last_sign_in_at: user.lastSignInAt ?? createdAt,
    created_at: createdAt,
    updated_at: createdAt,
    email,
  };
}

/** The address of an identity: the user's own, or the one that its provider gave. */
export function addressAt(provider: string, { email, addresses }: Pick<User, 'email' | 'addresses'>): string {
  return addresses.get(provider) ?? email;
}

/** GoTrue's own id of an identity, which no other one has. */
export function identityIdOf(provider: string, { id }: Pick<User, 'id'>): string {
  const hex = createHash('sha256').update(`${provider} ${id}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** A provider's own id for a user: a number, as Google's and GitHub's, the same after a restart. Without a provider it is GoTrue's. */
export function subjectOf(provider: string, { id, email }: Pick<User, 'id' | 'email'>): string {
  if (provider === 'email' || provider === 'phone') return id;
  return BigInt(`0x${createHash('sha256').update(`${provider} ${email}`).digest('hex').slice(0, 16)}`).toString();
}

function factorJson(factor: Factor) {
  return {
    id: factor.id,
    created_at: factor.createdAt,
    updated_at: factor.updatedAt,
    status: factor.isVerified ? 'verified' : 'unverified',
    ...(factor.name === '' ? {} : { friendly_name: factor.name }),
    factor_type: factor.type,
    phone: factor.phone,
    last_challenged_at: factor.lastChallengedAt ?? null,
  };
}

const given = (fields: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** GoTrue's response where the address already belongs to a user: a fictional user without identities. */
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
  if (user.providers.length === 0) return user.appMetadata;
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
