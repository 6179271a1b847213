import type { Request } from 'express';
import { createHash } from 'node:crypto';
import { withQuery } from '../core/url.ts';
import { AuthError } from '../errors.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { readFields } from '../http/body.ts';
import { redirect, redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { clientFacts } from '../http/request.ts';
import type { AuthRoute } from '../http/router.ts';
import type { Resolution } from '../session/sessions.ts';
import { VariantRefused } from '../session/source.ts';
import type { B2bContext } from './context.ts';
import { createOrganizationSwitch, noAccess } from './organization-switch.ts';
import { classifyFailure } from './provider-errors.ts';
import type { ProviderFailure } from './provider-errors.ts';

/** What became of a switch; `refusal` where the person stays in the old organization. */
interface SwitchOutcome {
  readonly resolution: Resolution;
  readonly redirectTo: string;
  readonly refusal: Error | undefined;
}

/** Switches under way, by cookies and organization: a form that is sent twice is one switch. */
type RunningSwitches = Map<string, Promise<SwitchOutcome>>;

/** `POST /organization`: moves the session to another organization of the same person. */
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
    if ((await request.resolveSession()) === null) return signedOutReply(request, returnTo);
    throw new AuthError('organization_required');
  }
  try {
    const outcome = await runOnce(running, request, organizationId, () =>
      switchOrganization(context, request, organizationId, returnTo),
    );
    const { cookies, isCurrent, onDelivered, session } = outcome.resolution;
    request.writeCookies(cookies, { isCurrent, onDelivered });
    if (outcome.refusal !== undefined) throw outcome.refusal;
    return session === null ? signedOutReply(request, returnTo) : redirectOrJson(request, outcome.redirectTo);
  } catch (error) {
    if (!(error instanceof VariantRefused)) throw error;
    return refusalReply(context, request, classifyFailure(error.failure), { organizationId, returnTo });
  }
}

function runOnce(
  running: RunningSwitches,
  { req }: AuthRequest,
  organizationId: string,
  work: () => Promise<SwitchOutcome>,
): Promise<SwitchOutcome> {
  const key = createHash('sha256')
    .update(JSON.stringify([req.headers.cookie, organizationId]))
    .digest('base64url');
  const known = running.get(key);
  if (known !== undefined) return known;
  const outcome = work().finally(() => running.delete(key));
  running.set(key, outcome);
  return outcome;
}

async function switchOrganization(
  context: B2bContext,
  request: AuthRequest,
  organizationId: string,
  returnTo: string,
): Promise<SwitchOutcome> {
  const { req, peer } = request;
  const client = clientFacts(req, peer);
  const variant = createOrganizationSwitch(context, organizationId, client, async (session) => {
    const { onSignIn } = context.settings;
    const hook = await onSignIn?.({
      session,
      req: req as Request,
      returnTo,
      organizationId,
      requestedOrganizationId: organizationId,
      isOrganizationSwitch: true,
    });
    return hook?.redirectTo;
  });
  try {
    const resolution = await context.resolver.switchSession(req.headers.cookie, variant, client);
    // Signed out meanwhile: what the hook said no longer matters.
    const refusal = resolution.session === null ? undefined : variant.refusal;
    return { resolution, redirectTo: request.returnTo(variant.redirectTo ?? returnTo, returnTo), refusal };
  } catch (error) {
    throw variant.refusal ?? error;
  }
}

/** Refusals after which WorkOS wants the person to sign in to the organization. */
const signInCodes: ReadonlySet<string> = new Set([
  'sso_required',
  'mfa_enrollment',
  'mfa_challenge',
  'mfa_verification',
  'email_verification_required',
  'organization_authentication_methods_required',
]);

/** The session is as it was. */
function refusalReply(
  { settings }: B2bContext,
  request: AuthRequest,
  failure: ProviderFailure,
  { organizationId, returnTo }: { readonly organizationId: string; readonly returnTo: string },
): Reply {
  if (failure.kind !== 'refused') throw new AuthError('forbidden');
  const { authkit_redirect_url: url } = failure.details;
  if (typeof url === 'string' && /^https?:$/.test(URL.parse(url)?.protocol ?? '')) return redirectOrJson(request, url);
  if (!signInCodes.has(failure.code)) throw noAccess(failure.code);
  const query = { organization_id: organizationId, ...(returnTo === request.home ? {} : { returnTo }) };
  return redirectOrJson(request, withQuery(request.localPath(settings.loginPath), query));
}

function signedOutReply(request: AuthRequest, returnTo: string): Reply {
  if (request.wantsJson) throw new AuthError('unauthenticated');
  return redirect(303, request.signInUrl(returnTo));
}
