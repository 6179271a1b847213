import { newId, newSecret } from './ids.ts';
import { findMembership } from './people.ts';
import type { Membership, StandInUser } from './people.ts';

export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | null;
  readonly domains: readonly string[];
}

export interface Invitation {
  readonly id: string;
  readonly token: string;
  readonly email: string;
  readonly organizationId: string | undefined;
  readonly role: string | undefined;
  readonly inviterId: string | undefined;
  readonly createdAtMs: number;
  state: 'pending' | 'accepted' | 'revoked';
  acceptedBy: string | undefined;
}

/** Who belongs where. An organization is known by its members, or because the API created it. */
export function createDirectory(users: Map<string, StandInUser>, now: () => number) {
  const created = new Map<string, Organization>();
  const invitations = new Map<string, Invitation>();

  function organizations(): Organization[] {
    const ofMembers = [...users.values()].flatMap((user) => user.organizations).map(({ id, name }) => ({ id, name }));
    const all = new Map<string, Organization>(
      ofMembers.map(({ id, name }) => [id, { id, name, externalId: null, domains: [] }]),
    );
    for (const organization of created.values()) all.set(organization.id, organization);
    return [...all.values()];
  }

  function setMembership(user: StandInUser, organizationId: string, change: Partial<Membership> | null): StandInUser {
    const before = findMembership(user, organizationId);
    const name = before?.name ?? findOrganization(organizationId)?.name ?? organizationId;
    const others = user.organizations.filter(({ id }) => id !== organizationId);
    const membership = { id: organizationId, name, role: 'member', ...before, ...change };
    const changed = { ...user, organizations: change === null ? others : [...others, membership] };
    users.set(user.id, changed);
    return changed;
  }

  const join = (user: StandInUser, organizationId: string, role = 'member'): StandInUser =>
    findMembership(user, organizationId) ? user : setMembership(user, organizationId, { role });

  const findOrganization = (id: string): Organization | undefined => organizations().find((each) => each.id === id);

  return {
    organizations,
    findOrganization,

    createOrganization(name: string, externalId: string | null, domains: readonly string[]): Organization {
      const organization = { id: newId('org', now()), name, externalId, domains };
      created.set(organization.id, organization);
      return organization;
    },

    setMembership,
    join,

    invitations: () => [...invitations.values()],
    invite(email: string, about: Pick<Invitation, 'organizationId' | 'role' | 'inviterId'>): Invitation {
      const start = { id: newId('invitation', now()), token: newSecret(), createdAtMs: now() };
      const invitation: Invitation = { ...start, email, ...about, state: 'pending', acceptedBy: undefined };
      invitations.set(invitation.id, invitation);
      return invitation;
    },
    findInvitation: (token: string | undefined): Invitation | undefined =>
      [...invitations.values()].find((each) => each.token === token),
    /** The user becomes a member, unless the invitation is spent or another person's. A token that the API did not make is a test's, and good. */
    accept(user: StandInUser, organizationId: string | undefined, invitation: Invitation | undefined): StandInUser {
      const isGood = invitation?.state === 'pending' && invitation.email.toLowerCase() === user.email.toLowerCase();
      if (invitation !== undefined && !isGood) return user;
      Object.assign(invitation ?? {}, { state: 'accepted', acceptedBy: user.id });
      return organizationId === undefined ? user : join(user, organizationId, invitation?.role);
    },
  };
}

export type Directory = ReturnType<typeof createDirectory>;
