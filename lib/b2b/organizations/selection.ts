import { isRecord } from '../../tools/json.ts';
import type { AuthRequest } from '../../http/request.ts';
import { flowAttributes } from '../../http/cookie-jar.ts';
import { otherAccountUrl } from '../../pages/page.ts';
import { json } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import { chooserPage, longListFrom } from './chooser-page.ts';
import type { B2bContext } from '../context.ts';
import { fitToCookie } from '../flow-cookie.ts';
import type { Flow } from '../flow-cookie.ts';

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
  return chooserReply(request, settings, flow, organizations);
}

/** The organization chooser. Its links lead to the callback, which exchanges the choice for tokens. */
export function chooserReply(
  request: AuthRequest,
  settings: B2bContext['settings'],
  { state, returnTo }: Flow,
  organizations: readonly Organization[],
): Reply {
  const hrefOf = ({ id }: Organization): string =>
    `${request.localPath(settings.callbackPath)}?${new URLSearchParams({ state, organization_id: id }).toString()}`;
  if (request.wantsJson) {
    const choices = organizations.map((each) => ({ id: each.id, name: each.name, redirectTo: hrefOf(each) }));
    return json(200, { organizations: choices });
  }
  const last = request.cookies.get(lastName(settings))?.[0];
  const choices = organizations.map((each) => ({ name: each.name, href: hrefOf(each), isLast: each.id === last }));
  return chooserPage(request, choices, otherAccountUrl(request, request.returnTo(returnTo)));
}

const lastMaxAge = 365 * 24 * 60 * 60;

/** The cookie with the id of the organization that this browser chose last in a long list. It decides nothing but the order. */
function lastName({ cookieName }: Pick<B2bContext['settings'], 'cookieName'>): string {
  return `${cookieName}-organization`;
}

/** @param offered the organizations of the choice; `undefined` where they were too many for the flow's cookie */
export function rememberChoice(
  { settings }: B2bContext,
  request: AuthRequest,
  id: string | undefined,
  offered: readonly Organization[] | undefined,
): void {
  if (id === undefined || (offered !== undefined && offered.length < longListFrom)) return;
  const attributes = { ...flowAttributes(settings.cookieOptions?.sameSite), maxAge: lastMaxAge };
  request.writeCookies([{ name: lastName(settings), value: id, attributes }]);
}
