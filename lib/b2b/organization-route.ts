import { createHash } from 'node:crypto';
import { withQuery } from '../core/url.ts';
import { AuthError } from '../errors.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { readFields } from '../http/body.ts';
import { redirect, redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { clientFacts } from '../http/message.ts';
import type { AuthRoute } from '../http/router.ts';
import { fitForEvent } from '../session/events.ts';
import type { Resolution } from '../session/renew-candidates.ts';
import { refuseLarge, verifyIssued } from '../session/sign-in.ts';
import { VariantRefused } from '../session/source.ts';
import type { ClientFacts, RefreshOutcome, RefreshVariant } from '../session/source.ts';
import { readToken } from '../tokens/access-token.ts';
import type { Session } from '../types.ts';
import type { B2bContext } from './context.ts';
import { classifyFailure, failedRefresh } from './provider-errors.ts';
import type { ProviderFailure } from './provider-errors.ts';
import { refusals } from './refusals.ts';
import { renewedSession } from './seal.ts';
import type { SealedSession } from './seal.ts';
import { organizationOf } from './session-cookie.ts';

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

/** Running switches, by cookies and organization: a form that is submitted twice causes one switch. */
type RunningSwitches = Map<string, Promise<SwitchOutcome>>;

/** `POST /organization`: switches the session to another organization of the same user. */
export function organizationRoute(context: B2bContext): AuthRoute {
  const running: RunningSwitches = new Map();
  return {
    path: context.settings.organizationPath,
    option: 'organizationPath',
    post: (request) => answerSwitch(context, running, request),
  };
}

async function answerSwitch(context: B2bContext, running: RunningSwitches, request: AuthRequest): Promise<Reply> {
  const fields = await readFields(request.req, request.res);
  const organizationId = fields.get('organizationId') ?? '';
  const returnTo = request.returnTo(fields.get('returnTo') ?? request.query.get('returnTo'));
  request.errorReturnTo = returnTo;
  if (!/^[\w-]{1,100}$/.test(organizationId)) throw new AuthError('invalid_request');
  const { organizationId: onlyOne } = context.settings;
  if (onlyOne !== undefined && onlyOne !== organizationId) {
    const isSignedOut = (await request.resolveSession()) === null && request.refusedSession === undefined;
    if (isSignedOut) return signedOutReply(request, returnTo);
    throw new AuthError('organization_required');
  }
  const wish = { organizationId, returnTo };
  try {
    const outcome = await switchOnce(context, running, request, wish);
    const { cookies, isCurrent, onDelivered, session } = outcome.resolution;
    request.writeCookies(cookies, { isCurrent, onDelivered });
    if (outcome.refusal !== undefined) throw outcome.refusal;
    return session === null ? signedOutReply(request, returnTo) : redirectOrJson(request, returnTo);
  } catch (error) {
    if (!(error instanceof VariantRefused)) throw error;
    return refusalReply(context, request, classifyFailure(error.failure), wish);
  }
}

function switchOnce(
  context: B2bContext,
  running: RunningSwitches,
  request: AuthRequest,
  wish: Wish,
): Promise<SwitchOutcome> {
  const key = createHash('sha256')
    .update(JSON.stringify([request.req.headers.cookie, wish.organizationId]))
    .digest('base64url');
  const known = running.get(key);
  if (known !== undefined) return known;
  const outcome = switchOrganization(context, request, wish).finally(() => running.delete(key));
  running.set(key, outcome);
  return outcome;
}

async function switchOrganization(context: B2bContext, request: AuthRequest, wish: Wish): Promise<SwitchOutcome> {
  const { req, peer } = request;
  const client = clientFacts(req, peer);
  const variant = new OrganizationSwitch(context, client, wish.organizationId);
  try {
    const resolution = await context.resolver.switchSession(req.headers.cookie, variant, client);
    // Signed out meanwhile: the switch no longer matters.
    const refusal = resolution.session === null ? undefined : variant.refusal;
    return { resolution, refusal };
  } catch (error) {
    throw variant.refusal ?? error;
  }
}

type Outcome = RefreshOutcome<SealedSession>;

/** A refresh for another organization, and its result. It is no sign-in; the next request asks `accept` about the new token. */
class OrganizationSwitch implements RefreshVariant<SealedSession> {
  readonly name: string;
  /** Why the user stays in the old organization, once known. */
  refusal: AuthError | undefined;
  readonly #context: B2bContext;
  readonly #client: ClientFacts;
  readonly #organizationId: string;

  constructor(context: B2bContext, client: ClientFacts, organizationId: string) {
    this.name = `organization:${organizationId}`;
    this.#context = context;
    this.#client = client;
    this.#organizationId = organizationId;
  }

  isReached(session: Session): boolean {
    return session.adapter === 'b2b' && session.organizationId === this.#organizationId;
  }

  async refresh(former: SealedSession, signal: AbortSignal): Promise<Outcome> {
    const { provider, source } = this.#context;
    let renewed: SealedSession;
    try {
      const asked = { refreshToken: former.refreshToken, organizationId: this.#organizationId };
      renewed = renewedSession(await provider.switchOrganization(asked, this.#client, signal), former);
    } catch (error) {
      if (error instanceof AuthError) throw error;
      const failure = classifyFailure(error);
      if (failure.kind !== 'refused') return failedRefresh(error);
      if (failure.code !== 'invalid_grant') throw new VariantRefused(this.name, error);
      this.refusal = noAccess(failure.code);
      // The refusal may concern only the organization. A refresh without one shows whether the session is still valid.
      const outcome = await source.refresh({ ...former, organizationId: undefined }, signal, this.#client);
      return outcome.kind === 'renewed' ? inOrganizationOf(former, outcome) : outcome;
    }
    try {
      await this.#check(renewed);
      return { kind: 'renewed', content: renewed };
    } catch (error) {
      if (!(error instanceof AuthError)) throw error;
      this.refusal = error;
      return this.#goBack(renewed, former, signal);
    }
  }

  /** @throws the reason for refusing the switch */
  async #check(renewed: SealedSession): Promise<void> {
    const session = await verifyIssued(this.#context, renewed);
    if (session.organizationId !== this.#organizationId) throw noAccess('another_organization');
    await refuseLarge(this.#context, renewed, session);
  }

  /** The old refresh token is spent, so the session always continues with the newest one. */
  async #goBack(renewed: SealedSession, former: SealedSession, signal: AbortSignal): Promise<Outcome> {
    if (tokenOrganization(renewed) === tokenOrganization(former)) return { kind: 'renewed', content: renewed };
    const kept = { ...former, refreshToken: renewed.refreshToken, organizationId: tokenOrganization(former) };
    try {
      const outcome = await this.#context.source.refresh(kept, signal, this.#client);
      if (outcome.kind === 'renewed') return inOrganizationOf(former, outcome);
      return outcome.kind === 'ended' ? outcome : keptOutcome(kept);
    } catch {
      return keptOutcome(kept);
    }
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

function signedOutReply(request: AuthRequest, returnTo: string): Reply {
  if (request.wantsJson) throw new AuthError('unauthenticated');
  return redirect(303, request.signInUrl(returnTo));
}
