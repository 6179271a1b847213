import { decode } from '../page.ts';
import type { RequestBody } from './authenticate.ts';
import type { Directory, Invitation, Organization } from './directory.ts';
import { newId } from './ids.ts';
import { createdAt, listIdentities, toWire } from './people.ts';
import type { Membership, StandInUser } from './people.ts';
import { json } from './replies.ts';
import type { Reply } from './replies.ts';
import type { Sessions } from './sessions.ts';

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: RequestBody;
  readonly authorization: string | undefined;
}

export interface ApiContext {
  readonly users: Map<string, StandInUser>;
  readonly directory: Directory;
  readonly sessions: Pick<Sessions, 'listOf' | 'endAll'>;
  readonly apiKey: string;
  /** The application's sign-in page, to which an invitation leads. */
  readonly signInUrl: () => string;
  readonly now: () => number;
}

type Handler = (id: string, call: ApiCall) => Reply;

/** A page of a list, the newest first. https://workos.com/docs/reference/pagination */
function list(all: readonly { readonly id: string }[], query: URLSearchParams): Reply {
  const limit = Number(query.get('limit') ?? 10);
  if (!(limit >= 1 && limit <= 100)) return json(422, { message: 'Validation failed', errors: ['limit is 1 to 100'] });
  const newest = all.toReversed();
  const start = newest.findIndex(({ id }) => id === query.get('after')) + 1;
  const data = newest.slice(start, start + limit);
  const after = start + limit < newest.length ? data.at(-1)?.id : null;
  return json(200, { object: 'list', data, list_metadata: { before: null, after } });
}
const noContent: Reply = { status: 204, headers: {}, body: '' };
const notFound = (name: string): Reply => json(404, { code: 'entity_not_found', message: `${name} not found.` });
const invalid = (field: string): Reply =>
  json(422, { code: 'invalid_request_parameters', message: `${field} is required.`, errors: [{ field }] });
const taken = (code: string, message: string): Reply => json(409, { code, message });

const textOf = (body: RequestBody, name: string): string | undefined => {
  const value = body[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
};
const isSameEmail = (one: string, other: string | null | undefined): boolean =>
  one.toLowerCase() === other?.toLowerCase();

/**
 * The users, memberships, organizations and invitations that an application's server reads and writes with the API key.
 *
 * @see https://workos.com/docs/reference
 */
export function createApi({ users, directory, sessions, apiKey, signInUrl, now }: ApiContext) {
  const people = (): StandInUser[] => [...users.values()];
  const withUser = (id: string, work: (user: StandInUser) => Reply): Reply => {
    const user = users.get(id);
    return user === undefined ? notFound('User') : work(user);
  };
  const memberships = () =>
    people().flatMap((user) =>
      user.organizations.map((membership) => ({ user, membership, id: idOf(user, membership) })),
    );
  const withMembership = (id: string, work: (user: StandInUser, membership: Membership) => Reply): Reply => {
    const found = memberships().find((each) => each.id === id);
    return found === undefined ? notFound('Organization membership') : work(found.user, found.membership);
  };
  const withInvitation = (fits: (invitation: Invitation) => boolean, state?: Invitation['state']): Reply => {
    const invitation = directory.invitations().find(fits);
    if (invitation === undefined) return notFound('Invitation');
    if (state !== undefined && invitation.state !== 'pending')
      return json(400, { code: 'invite_not_pending', message: `The invitation is ${invitation.state}.` });
    if (state !== undefined) invitation.state = state;
    return json(200, invitationJson(invitation));
  };
  const invitationJson = (invitation: Invitation) => toInvitation(invitation, signInUrl());
  const withOrganization = (fits: (organization: Organization) => boolean): Reply => {
    const organization = directory.organizations().find(fits);
    return organization === undefined ? notFound('Organization') : json(200, toOrganization(organization));
  };

  function createUser(body: RequestBody): Reply {
    const email = textOf(body, 'email');
    if (email === undefined) return invalid('email');
    if (people().some((user) => isSameEmail(email, user.email)))
      return taken('email_not_available', 'A user with this email address exists.');
    const start = {
      id: newId('user', now()),
      email,
      organizations: [],
      emailVerified: body['email_verified'] === true,
    };
    const user = changed({ ...start, firstName: null, lastName: null }, body);
    users.set(user.id, user);
    return json(201, toWire(user));
  }

  function createMembership(body: RequestBody): Reply {
    const [userId, organizationId] = [textOf(body, 'user_id') ?? '', textOf(body, 'organization_id') ?? ''];
    if (directory.findOrganization(organizationId) === undefined) return notFound('Organization');
    return withUser(userId, (user) => {
      if (user.organizations.some(({ id }) => id === organizationId))
        return taken('organization_membership_already_exists', 'The user is a member.');
      const member = directory.join(user, organizationId, textOf(body, 'role_slug'));
      return json(201, toMembership(member, organizationId));
    });
  }

  function createInvitation(body: RequestBody): Reply {
    const email = textOf(body, 'email');
    if (email === undefined) return invalid('email');
    const organizationId = textOf(body, 'organization_id');
    if (organizationId !== undefined && directory.findOrganization(organizationId) === undefined)
      return notFound('Organization');
    const about = { organizationId, role: textOf(body, 'role_slug'), inviterId: textOf(body, 'inviter_user_id') };
    return json(201, invitationJson(directory.invite(email, about)));
  }

  function createOrganization(body: RequestBody): Reply {
    const name = textOf(body, 'name');
    if (name === undefined) return invalid('name');
    const domains = Array.isArray(body['domain_data']) ? body['domain_data'] : [];
    const names = domains.flatMap((each: RequestBody) => textOf(each, 'domain') ?? []);
    return json(201, toOrganization(directory.createOrganization(name, textOf(body, 'external_id') ?? null, names)));
  }

  const handlers: Readonly<Record<string, Handler>> = {
    'GET /user_management/users': (_id, { query }) =>
      list(
        people()
          .filter(({ email, organizations }) => {
            const [address, organizationId] = [query.get('email'), query.get('organization_id')];
            const isMember = organizationId === null || organizations.some(({ id }) => id === organizationId);
            return isMember && (address === null || isSameEmail(email, address));
          })
          .map(toWire),
        query,
      ),
    'POST /user_management/users': (_id, { body }) => createUser(body),
    'GET /user_management/users/:id': (id) => withUser(id, (user) => json(200, toWire(user))),
    'GET /user_management/users/external_id/:id': (id) =>
      withUser(people().find(({ externalId }) => externalId === id)?.id ?? '', (user) => json(200, toWire(user))),
    'PUT /user_management/users/:id': (id, { body }) =>
      withUser(id, (user) => {
        users.set(id, changed(user, body));
        return json(200, toWire(changed(user, body)));
      }),
    'DELETE /user_management/users/:id': (id) =>
      withUser(id, () => {
        sessions.endAll(id);
        users.delete(id);
        return noContent;
      }),
    'GET /user_management/users/:id/sessions': (id, { query }) => list(sessions.listOf(id).reverse(), query),
    'GET /user_management/users/:id/identities': (id) => listIdentities(users.get(id)),

    'GET /user_management/organization_memberships': (_id, { query }) =>
      list(
        memberships()
          .filter(({ user, membership }) => {
            const [userId, organizationId] = [query.get('user_id'), query.get('organization_id')];
            return [user.id, null].includes(userId) && [membership.id, null].includes(organizationId);
          })
          .map(({ user, membership }) => toMembership(user, membership.id)),
        query,
      ),
    'POST /user_management/organization_memberships': (_id, { body }) => createMembership(body),
    'GET /user_management/organization_memberships/:id': (id) =>
      withMembership(id, (user, membership) => json(200, toMembership(user, membership.id))),
    'PUT /user_management/organization_memberships/:id': (id, { body }) =>
      withMembership(id, (user, membership) => {
        const role = textOf(body, 'role_slug') ?? membership.role ?? 'member';
        return json(200, toMembership(directory.setMembership(user, membership.id, { role }), membership.id));
      }),
    'DELETE /user_management/organization_memberships/:id': (id) =>
      withMembership(id, (user, membership) => {
        directory.setMembership(user, membership.id, null);
        return noContent;
      }),

    'GET /user_management/invitations': (_id, { query }) =>
      list(
        directory
          .invitations()
          .filter(({ email, organizationId }) => {
            const [address, asked] = [query.get('email'), query.get('organization_id')];
            return (address === null || isSameEmail(email, address)) && [organizationId, null].includes(asked);
          })
          .map(invitationJson),
        query,
      ),
    'POST /user_management/invitations': (_id, { body }) => createInvitation(body),
    'GET /user_management/invitations/:id': (id) => withInvitation((each) => each.id === id),
    'GET /user_management/invitations/by_token/:id': (id) => withInvitation(({ token }) => token === id),
    'POST /user_management/invitations/:id/revoke': (id) => withInvitation((each) => each.id === id, 'revoked'),

    'GET /organizations': (_id, { query }) => list(directory.organizations().map(toOrganization), query),
    'POST /organizations': (_id, { body }) => createOrganization(body),
    'GET /organizations/:id': (id) => withOrganization((each) => each.id === id),
    'GET /organizations/external_id/:id': (id) => withOrganization(({ externalId }) => externalId === id),
    'GET /authorization/organizations/:id/roles': (_id, { query }) => list(['admin', 'member'].map(toRole), query),
  };
  const routes = Object.entries(handlers).map(([name, handler]) => ({
    pattern: new RegExp(`^${name.replace(':id', '([^/]+)')}$`),
    handler,
  }));

  /** The work of a call; undefined for a path that is not of this API. */
  return function find(call: ApiCall): (() => Reply) | undefined {
    for (const { pattern, handler } of routes) {
      const match = pattern.exec(`${call.method} ${call.path}`);
      if (match === null) continue;
      return () =>
        call.authorization === `Bearer ${apiKey}`
          ? handler(decode(match[1] ?? ''), call)
          : json(401, { message: 'Unauthorized' });
    }
    return undefined;
  };
}

const idOf = ({ id }: StandInUser, membership: Membership): string => `om_${id}_${membership.id}`;

/** What a call may change of a user. */
function changed(user: StandInUser, body: RequestBody): StandInUser {
  const text = (name: string, before: string | null = null) => (name in body ? (textOf(body, name) ?? null) : before);
  const metadata = body['metadata'];
  return {
    ...user,
    firstName: text('first_name', user.firstName),
    lastName: text('last_name', user.lastName),
    externalId: text('external_id', user.externalId),
    locale: text('locale', user.locale),
    ...(typeof metadata === 'object' && { metadata: { ...user.metadata, ...metadata } }),
  };
}

const dates = { created_at: createdAt, updated_at: createdAt };

function toMembership(user: StandInUser, organizationId: string) {
  const membership = user.organizations.find(({ id }) => id === organizationId) ?? { id: organizationId, name: '' };
  const role = { slug: membership.role ?? 'member' };
  return {
    object: 'organization_membership',
    id: idOf(user, membership),
    user_id: user.id,
    organization_id: organizationId,
    organization_name: membership.name,
    status: 'active',
    directory_managed: false,
    custom_attributes: {},
    role,
    roles: [role],
    user: toWire(user),
    ...dates,
  };
}

function toOrganization({ id, name, externalId, domains }: Organization) {
  return {
    object: 'organization',
    id,
    name,
    allow_profiles_outside_organization: false,
    external_id: externalId,
    metadata: {},
    domains: domains.map((domain) => ({
      object: 'organization_domain',
      id: `org_domain_${domain}`,
      organization_id: id,
      domain,
      state: 'verified',
      verification_strategy: 'manual',
    })),
    ...dates,
  };
}

const toRole = (slug: string) => ({
  object: 'role',
  id: `role_${slug}`,
  slug,
  name: slug,
  description: null,
  permissions: [],
  type: 'EnvironmentRole',
  ...dates,
});

const weekMs = 7 * 86_400_000;

function toInvitation(invitation: Invitation, signInUrl: string) {
  const { id, email, state, token, organizationId, role, inviterId, acceptedBy, createdAtMs } = invitation;
  const at = new Date(createdAtMs).toISOString();
  const query = new URLSearchParams({ invitation_token: token });
  return {
    object: 'invitation',
    id,
    email,
    state,
    accepted_at: acceptedBy === undefined ? null : at,
    revoked_at: state === 'revoked' ? at : null,
    expires_at: new Date(createdAtMs + weekMs).toISOString(),
    token,
    accept_invitation_url: `${signInUrl}?${query.toString()}`,
    organization_id: organizationId ?? null,
    inviter_user_id: inviterId ?? null,
    accepted_user_id: acceptedBy ?? null,
    role_slug: role ?? null,
    created_at: at,
    updated_at: at,
  };
}
