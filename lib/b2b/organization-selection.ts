import type { Organization } from './chooser-page.ts';
import type { Flow } from './flow-cookie.ts';

/** WorkOS' `organization_selection_required`: somebody has signed in, and it is open to which organization. */
export interface OrganizationSelection {
  readonly kind: 'selection';
  readonly pendingAuthenticationToken: string;
  readonly organizations: readonly Organization[];
}

/** @param details the body of WorkOS' answer */
export function selectionOf(details: Readonly<Record<string, unknown>>): OrganizationSelection | undefined {
  const { pending_authentication_token: token, organizations } = details;
  if (typeof token !== 'string' || !Array.isArray(organizations)) return undefined;
  const known = organizations.filter(isOrganization).map(({ id, name }) => ({ id, name }));
  return known.length === 0
    ? undefined
    : { kind: 'selection', pendingAuthenticationToken: token, organizations: known };
}

/** One of those on offer. Where the list did not fit the cookie, the provider itself refuses what it did not offer. */
export function chosenOrganization(selection: Flow['selection'], wanted: string | null): string | undefined {
  if (selection === undefined || wanted === null) return undefined;
  const { organizations } = selection;
  if (organizations !== undefined) return organizations.find(({ id }) => id === wanted)?.id;
  return /^[\w-]{1,100}$/.test(wanted) ? wanted : undefined;
}

function isOrganization(value: unknown): value is Organization {
  return (
    typeof value === 'object' &&
    value !== null &&
    'id' in value &&
    typeof value.id === 'string' &&
    'name' in value &&
    typeof value.name === 'string'
  );
}
