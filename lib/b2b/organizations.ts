import { html, safeHref } from '../core/html.ts';
import type { Html } from '../core/html.ts';
import { isRecord } from '../core/json.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { builtInPage, initials, otherAccountUrl } from '../http/page.ts';
import type { PageRequest } from '../http/page.ts';
import { json } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { B2bContext } from './context.ts';
import { fitToCookie } from './flow-cookie.ts';
import type { Flow } from './flow-cookie.ts';

export interface Organization {
  readonly id: string;
  readonly name: string;
}

/** WorkOS' `organization_selection_required`: the user has signed in and must choose an organization. */
export interface OrganizationSelection {
  readonly kind: 'selection';
  readonly pendingAuthenticationToken: string;
  readonly organizations: readonly Organization[];
}

/** @param details the response body from WorkOS */
export function selectionOf(details: Readonly<Record<string, unknown>>): OrganizationSelection | undefined {
  const { pending_authentication_token: token, organizations } = details;
  if (typeof token !== 'string' || !Array.isArray(organizations)) return undefined;
  const known = organizations.filter(isOrganization).map(({ id, name }) => ({ id, name }));
  return known.length === 0
    ? undefined
    : { kind: 'selection', pendingAuthenticationToken: token, organizations: known };
}

/** The chosen organization, if it was offered. Where the list did not fit the cookie, the provider checks the choice. */
export function chosenOrganization(
  { organizations }: NonNullable<Flow['selection']>,
  wanted: string | null,
): string | undefined {
  if (wanted === null) return undefined;
  if (organizations !== undefined) return organizations.find(({ id }) => id === wanted)?.id;
  return /^[\w-]{1,100}$/.test(wanted) ? wanted : undefined;
}

function isOrganization(value: unknown): value is Organization {
  return isRecord(value) && typeof value['id'] === 'string' && typeof value['name'] === 'string';
}

/** Stores the selection in the flow and shows the chooser. */
export async function offerOrganizations(
  { flows, settings }: B2bContext,
  request: AuthRequest,
  flow: Flow,
  { pendingAuthenticationToken, organizations }: OrganizationSelection,
): Promise<Reply> {
  const selection = { pendingAuthenticationToken, organizations: [...organizations] };
  const waiting = fitToCookie({
    ...flow,
    startedAt: settings.now(),
    beganAt: flow.beganAt ?? flow.startedAt,
    selection,
  });
  request.writeCookies(await flows.start(waiting, request.cookies));
  return chooserReply(request, settings.callbackPath, flow, organizations);
}

/** The organization chooser. Its links lead to the callback, which exchanges the choice for tokens. */
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
  const choices = organizations.map((each) => ({ name: each.name, href: hrefOf(each) }));
  return chooserPage(request, choices, otherAccountUrl(request, request.returnTo(returnTo)));
}

/** A list of organizations by name, with their initials. */
export function chooserPage(
  { stylesheetUrl: stylesheet, home, definition: { brand } }: PageRequest & Pick<AuthRequest, 'home'>,
  choices: readonly { readonly name: string; readonly href: string }[],
  otherUrl: string,
): Reply {
  const { text } = brand;
  return builtInPage({
    status: 200,
    facts: { kind: 'organizations', choices, links: { otherAccount: otherUrl, home } },
    heading: text.chooserHeading,
    lead: text.chooserText,
    stylesheet,
    brand,
    content: html`<ul class="choices">
${choices.map(({ href, name }) => choice(href, name))}</ul>
<p class="actions"><a href="${safeHref(otherUrl)}">${text.otherAccount}</a> · <a href="${safeHref(home)}">${text.backHome}</a></p>`,
  });
}

function choice(href: string, name: string): Html {
  return html`<li><a href="${safeHref(href)}"><span class="mark" aria-hidden="true">${initials(name, 2)}</span><span class="name" dir="auto">${name}</span>${chevron}</a></li>
`;
}

const chevron = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="m9 5 7 7-7 7"/></svg>`;
