import { createHmac } from 'node:crypto';
import * as v from 'valibot';
import { AuthError } from '../../errors.ts';
import { defined, isRecord } from '../../tools/json.ts';
import type { AuthRequest } from '../../http/request.ts';
import { flowAttributes } from '../../http/cookie-jar.ts';
import { otherAccountUrl } from '../../pages/page.ts';
import { withQuery } from '../../tools/url.ts';
import { json } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import { askedAfter, askedOf } from '../asked.ts';
import type { B2bContext } from '../context.ts';
import type { Question, TokenCall } from '../feature.ts';
import { fitsCookie, isSame } from '../flow-cookie.ts';
import type { Flow } from '../flow-cookie.ts';
import { classifyFailure, signInError } from '../provider-errors.ts';
import { chooserPage, longListFrom } from './chooser-page.ts';

/** What the flow keeps while the person chooses. */
const waiting = v.object({
  pendingAuthenticationToken: v.string(),
  /** The organizations on offer; omitted where the list does not fit the cookie. */
  organizations: v.optional(v.array(v.object({ id: v.string(), name: v.string() }))),
  /** Whose organizations WorkOS lists again, where the list does not fit. */
  userId: v.optional(v.string()),
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
    const { pendingAuthenticationToken: token, organizations, userId } = parsed.output;
    const chosen = chosenOrganization(parsed.output, flow, request.query);
    if (chosen === undefined) {
      const isKept = organizations !== undefined;
      if (!isKept && userId === undefined) return undefined;
      const show = async (): Promise<Reply> => {
        const listed = organizations ?? (await organizationsOf(context, userId ?? ''));
        return chooserReply(request, context.settings, flow, { organizations: listed, isKept, canSearch: true });
      };
      return { kind: 'again', show };
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

/** A search in a long list asks WorkOS so often; each answer has up to 100 organizations. */
const maxListCalls = 10;

/** The user's organizations, as WorkOS lists them now. @throws {AuthError} where WorkOS does not answer, or refuses */
async function organizationsOf({ provider }: B2bContext, userId: string): Promise<readonly Organization[]> {
  try {
    return await provider.call(async (users) => {
      const listed: Organization[] = [];
      let after: string | undefined;
      for (let call = 0; call < maxListCalls; call += 1) {
        // Only active memberships. One page per call: the SDK's own paging pauses between pages.
        const page = await users.listOrganizationMemberships({ userId, limit: 100, ...defined({ after }) });
        // WorkOS' emulator gives no name.
        for (const { organizationId: id, organizationName: name = id } of page.data) listed.push({ id, name });
        after = page.listMetadata.after ?? undefined;
        if (after === undefined) break;
      }
      return listed;
    });
  } catch (error) {
    throw signInError(classifyFailure(error), error);
  }
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
  readonly userId?: string;
}

/** @param details the response body from WorkOS */
export function selectionOf(details: Readonly<Record<string, unknown>>): OrganizationSelection | undefined {
  const { pending_authentication_token: token, organizations, user } = details;
  if (typeof token !== 'string' || !Array.isArray(organizations)) return undefined;
  const known = organizations.filter(isOrganization).map(({ id, name }) => ({ id, name }));
  if (known.length === 0) return undefined;
  const userId = isRecord(user) && typeof user['id'] === 'string' ? user['id'] : undefined;
  return { kind: 'selection', pendingAuthenticationToken: token, organizations: known, ...defined({ userId }) };
}

/** The chosen organization, if it was offered: it is in the cookie, or its link has the mark of this flow. */
export function chosenOrganization(
  { organizations }: Waiting,
  flow: Pick<Flow, 'codeVerifier'>,
  query: URLSearchParams,
): string | undefined {
  const wanted = query.get('organization_id');
  if (wanted === null) return undefined;
  if (organizations !== undefined) return organizations.find(({ id }) => id === wanted)?.id;
  return isSame(query.get('offer') ?? '', offerOf(flow, wanted)) ? wanted : undefined;
}

/** Marks an organization as offered. Only the flow's sealed cookie and WorkOS have the key. */
export function offerOf({ codeVerifier }: Pick<Flow, 'codeVerifier'>, id: string): string {
  return createHmac('sha256', codeVerifier).update(`organization ${id}`).digest('base64url').slice(0, 22);
}

function isOrganization(value: unknown): value is Organization {
  return isRecord(value) && typeof value['id'] === 'string' && typeof value['name'] === 'string';
}

/** Stores the selection in the flow and shows the chooser. */
async function offerOrganizations(
  { flows, settings }: B2bContext,
  request: AuthRequest,
  flow: Flow,
  { pendingAuthenticationToken, organizations, userId }: OrganizationSelection,
): Promise<Reply> {
  const start = { ...flow, startedAt: settings.now(), beganAt: flow.beganAt ?? flow.startedAt };
  const whole = { ...start, selection: { pendingAuthenticationToken, organizations: [...organizations] } };
  const isKept = fitsCookie(whole);
  const kept = isKept ? whole : { ...start, selection: { pendingAuthenticationToken, ...defined({ userId }) } };
  request.writeCookies(await flows.start(kept, request.cookies));
  return chooserReply(request, settings, flow, { organizations, isKept, canSearch: isKept || userId !== undefined });
}

interface Choices {
  readonly organizations: readonly Organization[];
  /** Whether the flow's cookie has the list. */
  readonly isKept: boolean;
  /** Whether any process can show the list again. */
  readonly canSearch: boolean;
}

/** The organization chooser. Its links lead to the callback, which exchanges the choice for tokens. */
function chooserReply(
  request: AuthRequest,
  settings: B2bContext['settings'],
  flow: Flow,
  { organizations, isKept, canSearch }: Choices,
): Reply {
  const { state, returnTo } = flow;
  const action = request.localPath(settings.callbackPath);
  request.signIn = askedAfter(askedOf(flow));
  const hrefOf = ({ id }: Organization): string =>
    withQuery(action, { state, organization_id: id, ...(!isKept && { offer: offerOf(flow, id) }) });
  if (request.wantsJson) {
    const choices = organizations.map((each) => ({ id: each.id, name: each.name, redirectTo: hrefOf(each) }));
    return json(200, { organizations: choices });
  }
  const last = request.cookies.get(lastName(settings))?.[0];
  const choices = organizations.map((each) => ({ name: each.name, href: hrefOf(each), isLast: each.id === last }));
  const search = canSearch ? { action, state, words: request.query.get('search') ?? '' } : undefined;
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
