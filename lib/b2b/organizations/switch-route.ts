import { createSharedOutcomes } from '../../tools/shared-outcomes.ts';
import type { SharedOutcomes } from '../../tools/shared-outcomes.ts';
import { withQuery } from '../../tools/url.ts';
import { AuthError, isOutage } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { readFields } from '../../http/body.ts';
import { redirect, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import { clientFacts } from '../../http/message.ts';
import type { AuthRoute } from '../../http/router.ts';
import { fitForEvent } from '../../session/events.ts';
import type { Resolution } from '../../session/source.ts';
import { refuseLarge, verifyIssued } from '../../session/sign-in.ts';
import { VariantRefused } from '../../session/refresh/exchange.ts';
import type { ClientFacts, RefreshOutcome, RefreshVariant } from '../../session/source.ts';
import { readToken } from '../../session/jwt.ts';
import type { B2bContext } from '../context.ts';
import { classifyFailure, failedRefresh } from '../provider-errors.ts';
import type { ProviderFailure } from '../provider-errors.ts';
import { refusals } from '../refusals.ts';
import { renewedSession } from '../seal.ts';
import type { SealedSession } from '../seal.ts';
import { organizationOf } from '../session.ts';
import type { Provider } from '../workos.ts';

interface SwitchContext extends B2bContext {
  readonly refreshInto: Provider['refresh'];
}

/** The requested organization and the page to open afterwards. */
interface Wish {
  readonly organizationId: string;
  readonly returnTo: string;
}

/** The result of a switch; `refusal` is set where the user stays in the old organization. */
interface SwitchOutcome {
  readonly resolution: Resolution;
  readonly refusal: AuthError | undefined;
}

/** A form that is submitted twice causes one switch. */
type Switches = SharedOutcomes<SwitchOutcome>;

/** `POST /organization`: switches the session to another organization of the same user. */
export function organizationRoute(context: B2bContext): AuthRoute {
  const switches: Switches = createSharedOutcomes({ now: context.settings.now });
  // A limit on switches, which one user can reach, delays no refresh of another session.
  const switching = { ...context, refreshInto: context.provider.createRefresh() };
  return {
    path: context.settings.paths.organization,
    option: 'paths.organization',
    post: (request) => answerSwitch(switching, switches, request),
  };
}

async function answerSwitch(context: SwitchContext, switches: Switches, request: AuthRequest): Promise<Reply> {
  const fields = await readFields(request.req, request.res);
  const organizationId = fields.get('organizationId') ?? '';
  const asked = fields.get('returnTo') ?? request.query.get('returnTo');
  const returnTo = asked === null ? request.wayBack : request.returnTo(asked);
  request.errorReturnTo = returnTo;
  if (!/^[\w-]{1,100}$/.test(organizationId)) throw new AuthError('invalid_request');
  const { organizationId: onlyOne } = context.settings;
  if (onlyOne !== undefined && onlyOne !== organizationId) {
    const isSignedOut = (await request.resolveSession()) === null && request.visit.is !== 'refused';
    if (isSignedOut) return signedOutReply(request, returnTo);
    throw new AuthError('organization_required');
  }
  const wish = { organizationId, returnTo };
  try {
    const outcome = await switches.share([request.req.headers.cookie ?? '', organizationId], () =>
      switchOrganization(context, request, wish),
    );
    const { cookies, isCurrent, onDelivered, session } = outcome.resolution;
    request.writeCookies(cookies, { isCurrent, onDelivered });
    if (outcome.refusal !== undefined) throw outcome.refusal;
    if (session !== null) return redirectOrJson(request, returnTo);
    return await overReply(request, outcome.resolution, wish);
  } catch (error) {
    if (error instanceof VariantRefused) return refusalReply(context, request, classifyFailure(error.failure), wish);
    // A sign-in to the organization is the way on.
    if (isOutage(error)) request.signIn = { organization_id: organizationId };
    throw error;
  }
}

async function switchOrganization(context: SwitchContext, request: AuthRequest, wish: Wish): Promise<SwitchOutcome> {
  const { req, peer } = request;
  const { organizationId } = wish;
  const client = clientFacts(req, peer);
  let refusal: AuthError | undefined;
  const variant: RefreshVariant<SealedSession> = {
    name: `organization:${organizationId}`,
    isReached: (session) => session.adapter === 'b2b' && session.organizationId === organizationId,
    async refresh(former, signal) {
      const switched = await refreshInto({ context, client, organizationId, former, signal });
      refusal = switched.refusal;
      return switched.outcome;
    },
  };
  const resolution = await context.resolver.switchSession(req.headers.cookie, variant, client);
  // Signed out meanwhile: the switch no longer matters.
  return { resolution, refusal: resolution.session === null ? undefined : refusal };
}

type Outcome = RefreshOutcome<SealedSession>;

/** With a refusal, the outcome is that of the session in its former organization. */
interface Switched {
  readonly outcome: Outcome;
  readonly refusal?: AuthError;
}

/** One refresh of a session for another organization. */
interface Switch {
  readonly context: SwitchContext;
  readonly client: ClientFacts;
  readonly organizationId: string;
  readonly former: SealedSession;
  readonly signal: AbortSignal;
}

/**
 * It is no sign-in; the next request asks `accept` about the new token.
 *
 * @throws {VariantRefused} where WorkOS refuses the organization, and the former session goes on
 */
async function refreshInto(asked: Switch): Promise<Switched> {
  const { client, organizationId, former, signal } = asked;
  const { source } = asked.context;
  let renewed: SealedSession;
  try {
    const { refreshToken } = former;
    const response = await asked.context.refreshInto({ refreshToken, organizationId }, client, signal);
    renewed = renewedSession(response, former);
  } catch (error) {
    if (error instanceof AuthError) throw error;
    const failure = classifyFailure(error);
    if (failure.kind !== 'refused') return { outcome: failedRefresh(error) };
    if (failure.code !== 'invalid_grant') throw new VariantRefused(`organization:${organizationId}`, error);
    // The refusal may concern only the organization. A refresh without one shows whether the session is still valid.
    const outcome = await source.refresh({ ...former, organizationId: undefined }, signal, client);
    const back = outcome.kind === 'renewed' ? inOrganizationOf(former, outcome) : outcome;
    return { outcome: back, refusal: noAccess(failure.code) };
  }
  try {
    await checkSwitched(asked, renewed);
    return { outcome: { kind: 'renewed', content: renewed } };
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    return { outcome: await goBack(asked, renewed), refusal: error };
  }
}

/** @throws {AuthError} the reason for refusing the switch */
async function checkSwitched({ context, organizationId }: Switch, renewed: SealedSession): Promise<void> {
  const session = await verifyIssued(context, renewed);
  if (session.organizationId !== organizationId) throw noAccess('another_organization');
  await refuseLarge(context, renewed, session);
}

/** The old refresh token is spent, so the session always continues with the newest one. */
async function goBack({ context, client, former, signal }: Switch, renewed: SealedSession): Promise<Outcome> {
  if (tokenOrganization(renewed) === tokenOrganization(former)) return { kind: 'renewed', content: renewed };
  const kept = { ...former, refreshToken: renewed.refreshToken, organizationId: tokenOrganization(former) };
  try {
    const outcome = await context.source.refresh(kept, signal, client);
    if (outcome.kind === 'renewed') return inOrganizationOf(former, outcome);
    return outcome.kind === 'ended' ? outcome : keptOutcome(kept);
  } catch {
    return keptOutcome(kept);
  }
}

/** The next refresh names the organization. Without a name it would use the organization that was refused. */
function keptOutcome(kept: SealedSession): Outcome {
  return kept.organizationId === undefined
    ? { kind: 'ended', reason: 'organization_refused' }
    : { kind: 'renewed', content: kept };
}

/** WorkOS refreshes a token for its last organization. The session ends where it cannot return from a refused one. */
function inOrganizationOf(former: SealedSession, outcome: Extract<Outcome, { kind: 'renewed' }>): Outcome {
  const isSame = tokenOrganization(outcome.content) === tokenOrganization(former);
  return isSame ? outcome : { kind: 'ended', reason: 'organization_refused' };
}

/** Read from the access token; the organization id stored beside it is not authoritative. */
function tokenOrganization({ accessToken }: SealedSession): string | undefined {
  return organizationOf(readToken(accessToken).claims);
}

/** @param reason for operators */
function noAccess(reason: string): AuthError {
  return new AuthError('forbidden', { message: 'You can’t switch to this organization.', reason: fitForEvent(reason) });
}

/** The response to a refused switch; the session is unchanged. */
function refusalReply(
  { settings }: B2bContext,
  request: AuthRequest,
  failure: ProviderFailure,
  { organizationId, returnTo }: Wish,
): Reply {
  if (failure.kind !== 'refused') throw new AuthError('forbidden');
  const { authkit_redirect_url: url } = failure.details;
  if (typeof url === 'string' && /^https?:$/.test(URL.parse(url)?.protocol ?? '')) return redirectOrJson(request, url);
  if (refusals.get(failure.code)?.organization !== 'sign_in') throw noAccess(failure.code);
  const query = { organization_id: organizationId, ...(returnTo === request.home ? {} : { returnTo }) };
  return redirectOrJson(request, withQuery(request.localPath(settings.loginPath), query));
}

/** The answer where no session is left to switch. */
async function overReply(
  request: AuthRequest,
  { cookies }: Resolution,
  { organizationId, returnTo }: Wish,
): Promise<Reply> {
  // Clears the cookie of a session that was over before, as a guard does.
  if (cookies.length === 0) await request.resolveSession();
  request.signIn = { organization_id: organizationId };
  return signedOutReply(request, returnTo);
}

function signedOutReply(request: AuthRequest, returnTo: string): Reply {
  if (request.wantsJson) throw new AuthError('unauthenticated');
  return redirect(303, request.signInUrl(returnTo));
}
