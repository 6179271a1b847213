import { json } from './replies.ts';

/** A user's membership in an organization; `role` and `permissions` become claims of its access tokens. */
export interface Membership {
  readonly id: string;
  readonly name: string;
  readonly role?: string;
  readonly permissions?: readonly string[];
}

export interface StandInUser {
  readonly id: string;
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly profilePictureUrl?: string | null;
  /** Default: true. */
  readonly emailVerified?: boolean;
  readonly externalId?: string | null;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly locale?: string | null;
  /** At OAuth providers. */
  readonly identities?: readonly { readonly provider: string; readonly idpId: string }[];
  readonly organizations: readonly Membership[];
  /** Set where a staff member acts as this user: every session of the user is then an impersonation. */
  readonly impersonator?: { readonly email: string; readonly reason: string | null };
}

const instruments = { id: 'org_01JC4XJ2M7Q8T3WZ5R9VKB6NDE', name: 'Analytical Instruments' };
const lighthouse = { id: 'org_01JC4XKH5D0C8P2YV7M4TGS3QA', name: 'Lighthouse Cooperative' };

/** One user for each case an application has to handle: no organization, one, several, and an admin. */
export const demoUsers = {
  personal: {
    id: 'user_01JC4XF9W3S6B1ZQ0N8HRD5TKM',
    email: 'ada@example.com',
    firstName: 'Ada',
    lastName: 'Lovelace',
    identities: [{ provider: 'GoogleOAuth', idpId: '118020462390117593342' }],
    organizations: [],
  },
  oneOrganization: {
    id: 'user_01JC4XG7P2V9E5XA4KCTM3J8YB',
    email: 'grace@instruments.example',
    firstName: 'Grace',
    lastName: 'Hopper',
    organizations: [{ ...instruments, role: 'member', permissions: ['reports:read'] }],
  },
  twoOrganizations: {
    id: 'user_01JC4XH4R8N6D0SW2FQBV7Z1GC',
    email: 'katherine@example.com',
    firstName: 'Katherine',
    lastName: 'Johnson',
    organizations: [
      { ...instruments, role: 'admin', permissions: ['reports:read', 'reports:write'] },
      { ...lighthouse, role: 'member', permissions: [] },
    ],
  },
  admin: {
    id: 'user_01JC4XJB5T7N3Q0WF2H6ZKR8DM',
    email: 'admin@example.com',
    firstName: 'Margaret',
    lastName: 'Hamilton',
    organizations: [{ ...instruments, role: 'admin', permissions: ['reports:read', 'reports:write'] }],
  },
} as const satisfies Record<string, StandInUser>;

export function findMembership(user: StandInUser, organizationId: string): Membership | undefined {
  return user.organizations.find(({ id }) => id === organizationId);
}

export function displayName({ firstName, lastName, email }: StandInUser): string {
  return [firstName, lastName].filter(Boolean).join(' ') || email;
}

/** The creation time of all accounts; no test depends on it. */
export const createdAt = '2025-01-01T00:00:00.000Z';

/** A user in WorkOS' wire format. https://workos.com/docs/reference/authkit/user */
export function toWire(user: StandInUser) {
  return {
    object: 'user',
    id: user.id,
    email: user.email,
    email_verified: user.emailVerified ?? true,
    first_name: user.firstName,
    last_name: user.lastName,
    profile_picture_url: user.profilePictureUrl ?? null,
    last_sign_in_at: createdAt,
    locale: user.locale ?? null,
    external_id: user.externalId ?? null,
    metadata: user.metadata ?? {},
    created_at: createdAt,
    updated_at: createdAt,
  };
}

/** A user as WorkOS' Node SDK returns it, which sealed sessions also contain. */
export function toSdkUser(user: StandInUser) {
  return {
    object: 'user' as const,
    id: user.id,
    email: user.email,
    emailVerified: user.emailVerified ?? true,
    name: null,
    firstName: user.firstName,
    lastName: user.lastName,
    profilePictureUrl: user.profilePictureUrl ?? null,
    lastSignInAt: createdAt,
    locale: user.locale ?? null,
    externalId: user.externalId ?? null,
    metadata: { ...user.metadata },
    createdAt,
    updatedAt: createdAt,
  };
}

/** `GET /user_management/users/:id/identities`. https://workos.com/docs/reference/authkit/user/identities */
export function listIdentities(user: StandInUser | undefined) {
  if (user === undefined) return json(404, { code: 'entity_not_found', message: 'User not found.' });
  // A bare list, unlike the other lists.
  return json(
    200,
    (user.identities ?? []).map(({ provider, idpId }) => ({ idp_id: idpId, type: 'OAuth', provider })),
  );
}
