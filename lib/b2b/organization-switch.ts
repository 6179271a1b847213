import { AuthError } from '../errors.ts';
import { fitForEvent } from '../session/events.ts';
import { VariantRefused, verdictReason } from '../session/source.ts';
import type { ClientFacts, RefreshOutcome, RefreshVariant } from '../session/source.ts';
import type { B2bSession } from '../types.ts';
import { readToken } from '../tokens/token.ts';
import type { B2bContext } from './context.ts';
import { classifyFailure, failedRefresh } from './provider-errors.ts';
import { renewedSession } from './sealed-session.ts';
import type { SealedSession } from './sealed-session.ts';

/** A refresh that asks for another organization, and what came of it. */
export interface OrganizationSwitch extends RefreshVariant<SealedSession> {
  /** Why the person stays in the old organization, once that is known. */
  readonly refusal: Error | undefined;
  /** Where `onSignIn` sends the person. */
  readonly redirectTo: string | undefined;
}

type Outcome = RefreshOutcome<SealedSession>;

/** @param accept asked once about the verified session of the new organization; whatever it throws refuses the switch */
export function createOrganizationSwitch(
  context: B2bContext,
  organizationId: string,
  client: ClientFacts,
  accept: (session: B2bSession) => Promise<string | undefined>,
): OrganizationSwitch {
  const { provider, source } = context;
  let refusal: Error | undefined;
  let redirectTo: string | undefined;

  /** @throws what refuses the switch */
  async function check(renewed: SealedSession): Promise<void> {
    const verdict = await source.verify(renewed, 'provider');
    if (verdict.kind !== 'live') throw new AuthError('token_rejected', { reason: verdictReason(verdict) });
    const { session } = verdict;
    if (session.organizationId !== organizationId) throw noAccess('another_organization');
    // A sign-out meanwhile ends the new tokens as well.
    if ((await context.resolver.revocationOf(session.sessionId)) !== undefined) return;
    if (!(await context.writer.fits(renewed, session.user.id))) throw new AuthError('session_too_large');
    redirectTo = await accept(session);
  }

  /** The old refresh token is spent by now, so whatever happens, the session goes on with the newest one. */
  async function goBack(renewed: SealedSession, former: SealedSession, signal: AbortSignal): Promise<Outcome> {
    if (organizationOf(renewed) === organizationOf(former)) return { kind: 'renewed', content: renewed };
    const kept: SealedSession = {
      ...former,
      refreshToken: renewed.refreshToken,
      organizationId: organizationOf(former),
    };
    try {
      const outcome = await source.refresh(kept, signal, client);
      if (outcome.kind === 'renewed') return inOrganizationOf(former, outcome);
      return outcome.kind === 'ended' ? outcome : keptOutcome(kept);
    } catch {
      return keptOutcome(kept);
    }
  }

  return {
    name: `organization:${organizationId}`,
    isReached: (session) => session.adapter === 'b2b' && session.organizationId === organizationId,
    get refusal() {
      return refusal;
    },
    get redirectTo() {
      return redirectTo;
    },
    async refresh(former, signal) {
      let renewed: SealedSession;
      try {
        const response = await provider.refresh({ refreshToken: former.refreshToken, organizationId }, client, signal);
        renewed = renewedSession(response, former);
      } catch (error) {
        if (error instanceof AuthError) throw error;
        const failure = classifyFailure(error);
        if (failure.kind !== 'refused') return failedRefresh(error);
        if (failure.code !== 'invalid_grant') throw new VariantRefused(this.name, error);
        refusal = noAccess(failure.code);
        // The organization may be what was refused: without one the token says whether the session goes on.
        const outcome = await source.refresh({ ...former, organizationId: undefined }, signal, client);
        return outcome.kind === 'renewed' ? inOrganizationOf(former, outcome) : outcome;
      }
      try {
        await check(renewed);
        return { kind: 'renewed', content: renewed };
      } catch (error) {
        refusal =
          error instanceof Error ? error : new Error('onSignIn threw a value that is no Error', { cause: error });
        return goBack(renewed, former, signal);
      }
    },
  };
}

/** The next refresh asks for the organization by name. Without one it would lead to the organization that was refused. */
function keptOutcome(kept: SealedSession): Outcome {
  return kept.organizationId === undefined
    ? { kind: 'ended', reason: 'organization_refused' }
    : { kind: 'renewed', content: kept };
}

/** WorkOS refreshes a token for its last organization. Where there is no way back from a refused one, the session ends. */
function inOrganizationOf(former: SealedSession, outcome: Extract<Outcome, { kind: 'renewed' }>): Outcome {
  const isSame = organizationOf(outcome.content) === organizationOf(former);
  return isSame ? outcome : { kind: 'ended', reason: 'organization_refused' };
}

/** As the access token says, which counts, unlike what stands beside it. */
function organizationOf({ accessToken }: SealedSession): string | undefined {
  const { org_id: organizationId } = readToken(accessToken).claims;
  return typeof organizationId === 'string' && organizationId !== '' ? organizationId : undefined;
}

/** @param reason for operators */
export function noAccess(reason: string): AuthError {
  return new AuthError('forbidden', { message: 'You can’t switch to this organization.', reason: fitForEvent(reason) });
}
