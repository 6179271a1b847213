import { html, safeHref } from '../core/html.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { builtInPage } from '../http/page.ts';
import { json } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { Flow } from './flow-cookie.ts';

export interface Organization {
  readonly id: string;
  readonly name: string;
}

/** WorkOS' `organization_selection_required`: the person has signed in and has yet to choose an organization. */
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
export function chosenOrganization(
  { organizations }: NonNullable<Flow['selection']>,
  wanted: string | null,
): string | undefined {
  if (wanted === null) return undefined;
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

/** Which of several organizations to sign in to; links, because they lead on to where a code is exchanged. */
export function chooserReply(
  request: AuthRequest,
  callbackPath: string,
  { state, returnTo }: Flow,
  organizations: readonly Organization[],
): Reply {
  const hrefOf = ({ id }: Organization): string =>
    `${request.localPath(callbackPath)}?${new URLSearchParams({ state, organization_id: id }).toString()}`;
  if (request.wantsJson) {
    const choices = organizations.map((each) => ({ id: each.id, name: each.name, redirectTo: hrefOf(each) }));
    return json(200, { organizations: choices });
  }
  const { brand } = request.definition;
  return builtInPage({
    status: 200,
    heading: 'Choose an organization',
    stylesheet: request.stylesheetUrl,
    brand,
    content: html`<p>You belong to several organizations. Which one do you want to work in?</p>
<ul class="choices">${organizations.map(
      (each) => html`<li><a class="button" href="${safeHref(hrefOf(each))}">${each.name}</a></li>`,
    )}</ul>
<p class="actions"><a href="${safeHref(request.signInUrl(request.returnTo(returnTo)))}">Sign in again</a> <a href="${safeHref(request.home)}">Back to the start page</a></p>`,
  });
}
