import * as v from 'valibot';
import { AuthError } from '../../errors.ts';
import { isRecord } from '../../tools/json.ts';
import type { AuthRequest } from '../../http/request.ts';
import { flowAttributes } from '../../http/cookie-jar.ts';
import { otherAccountUrl } from '../../pages/page.ts';
import { json } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import { askedAfter, askedOf } from '../asked.ts';
import type { B2bContext } from '../context.ts';
import type { Question, TokenCall } from '../feature.ts';
import { fitsCookie } from '../flow-cookie.ts';
import type { Flow } from '../flow-cookie.ts';
import { chooserPage, longListFrom } from './chooser-page.ts';

/** What the flow keeps while the person chooses. */
const waiting = v.object({
  pendingAuthenticationToken: v.string(),
  /** The organizations on offer; omitted where the list does not fit the cookie. */
  organizations: v.optional(v.array(v.object({ id: v.string(), name: v.string() }))),
});

type Waiting = v.InferOutput<typeof waiting>;

/** Which organization of several the sign-in is for. */
export const selection: Question = {
  of(context, failure, { organizationId, isSecond }) {
    if (failure.kind !== 'refused' || failure.code !== 'organization_selection_required') return undefined;
    const offered = selectionOf(failure.details);
    if (offered === undefined) return undefined;
    const { pendingAuthenticationToken: token, organizations } = offered;
    const wanted = organizations.find(({ id }) => id === organizationId);
    if (wanted !== undefined && isSecond !== true) return { kind: 'call', call: select(context, token, wanted.id) };
    if (context.settings.organizationId !== undefined) throw new AuthError('organization_required');
    return { kind: 'question', show: (...asked) => offerOrganizations(...asked, offered) };
  },
  answer(context, request, flow) {
    const parsed = v.safeParse(waiting, flow.selection);
    if (!parsed.success) return undefined;
    const { pendingAuthenticationToken: token, organizations } = parsed.output;
    const chosen = chosenOrganization(parsed.output, request.query.get('organization_id'));
    if (chosen === undefined) {
      if (organizations === undefined) return undefined;
      return { kind: 'again', reply: chooserReply(request, context.settings, flow, { organizations, isKept: true }) };
    }
    return {
      kind: 'answer',
      key: chosen,
      organizationId: chosen,
      call: select(context, token, chosen),
      remember: () => rememberChoice(context, request, chosen, organizations),
    };
  },
};

function select({ settings, provider }: B2bContext, token: string, organizationId: string): TokenCall['call'] {
  const asked = { clientId: settings.clientId, pendingAuthenticationToken: token, organizationId };
  return (client) => provider.call((users) => users.authenticateWithOrganizationSelection({ ...asked, ...client }));
}

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
export function chosenOrganization({ organizations }: Waiting, wanted: string | null): string | undefined {
  if (wanted === null) return undefined;
  if (organizations !== undefined) return organizations.find(({ id }) => id === wanted)?.id;
  return /^[\w-]{1,100}$/.test(wanted) ? wanted : undefined;
}

function isOrganization(value: unknown): value is Organization {
  return isRecord(value) && typeof value['id'] === 'string' && typeof value['name'] === 'string';
}

/** Stores the selection in the flow and shows the chooser. */
async function offerOrganizations(
  { flows, settings }: B2bContext,
  request: AuthRequest,
  flow: Flow,
  { pendingAuthenticationToken, organizations }: OrganizationSelection,
): Promise<Reply> {
  const start = { ...flow, startedAt: settings.now(), beganAt: flow.beganAt ?? flow.startedAt };
  const whole = { ...start, selection: { pendingAuthenticationToken, organizations: [...organizations] } };
  const kept = fitsCookie(whole) ? whole : { ...start, selection: { pendingAuthenticationToken } };
  request.writeCookies(await flows.start(kept, request.cookies));
  return chooserReply(request, settings, flow, { organizations, isKept: kept === whole });
}

/** The organization chooser. Its links lead to the callback, which exchanges the choice for tokens. */
function chooserReply(
  request: AuthRequest,
  settings: B2bContext['settings'],
  flow: Flow,
  { organizations, isKept }: { readonly organizations: readonly Organization[]; readonly isKept: boolean },
): Reply {
  const { state, returnTo } = flow;
  const action = request.localPath(settings.callbackPath);
  request.signIn = askedAfter(askedOf(flow));
  const hrefOf = ({ id }: Organization): string =>
    `${action}?${new URLSearchParams({ state, organization_id: id }).toString()}`;
  if (request.wantsJson) {
    const choices = organizations.map((each) => ({ id: each.id, name: each.name, redirectTo: hrefOf(each) }));
    return json(200, { organizations: choices });
  }
  const last = request.cookies.get(lastName(settings))?.[0];
  const choices = organizations.map((each) => ({ name: each.name, href: hrefOf(each), isLast: each.id === last }));
  // Only the flow's cookie can give the list again, also in another process.
  const search = isKept ? { action, state, words: request.query.get('search') ?? '' } : undefined;
  return chooserPage(request, choices, otherAccountUrl(request, request.returnTo(returnTo)), search);
}

const lastMaxAge = 365 * 24 * 60 * 60;

/** The cookie with the id of the organization that this browser chose last in a long list. It decides nothing but the order. */
function lastName({ cookieName }: Pick<B2bContext['settings'], 'cookieName'>): string {
  return `${cookieName}-organization`;
}

/** @param offered the organizations of the choice; `undefined` where they were too many for the flow's cookie */
function rememberChoice(
  { settings }: B2bContext,
  request: AuthRequest,
  id: string,
  offered: readonly Organization[] | undefined,
): void {
  if (offered !== undefined && offered.length < longListFrom) return;
  const attributes = { ...flowAttributes(settings.cookieOptions?.sameSite), maxAge: lastMaxAge };
  request.writeCookies([{ name: lastName(settings), value: id, attributes }]);
}
