import { pathOf } from '../core/url.ts';
import type { AuthError } from '../errors.ts';
import { fitForEvent } from '../session/events.ts';
import type { AuthRequest } from './auth-request.ts';
import { header, requestTarget } from './request.ts';

/**
 * Explains with `DEBUG` what was decided about a request. The query is left out, as it may hold secrets.
 *
 * @param decision called only where it is printed
 */
export function explainDecision({ req, definition: { explain } }: AuthRequest, decision: () => string): void {
  if (explain.enabled === false) return;
  explain('%s %s: %s', req.method, pathOf(requestTarget(req)), decision());
}

/** Why a request counts as signed out. */
export function signedOutReason({ cookies, definition: { cookieName } }: AuthRequest): string {
  const isSent = [...cookies.keys()].some((name) => name === cookieName || name.startsWith(`${cookieName}.`));
  return isSent ? `the cookie ${cookieName} holds no live session` : `the browser sent no cookie ${cookieName}`;
}

/** An error's code, with what its answer does not say: the reason, the provider's status and code, a way out. */
export function refusalReason({ req }: AuthRequest, { status, code, reason, cause }: AuthError): string {
  const facts = [
    reason,
    ...causeFacts(cause),
    code === 'cross_site_request' ? siteOf(header(req, 'origin')) : undefined,
  ];
  const known = facts.filter((fact) => fact !== undefined);
  return `refused with ${status} ${code}${known.length === 0 ? '' : ` (${known.join('; ')})`}`;
}

/** A provider's texts may repeat what was sent to it; its status and code do not. */
function causeFacts(cause: unknown): string[] {
  if (typeof cause !== 'object' || cause === null) return [];
  const { status, code }: { status?: unknown; code?: unknown } = cause;
  const known = typeof code === 'string' ? fitForEvent(code) : undefined;
  return [
    ...(typeof status === 'number' ? [`the provider answered ${status}`] : []),
    ...(known === undefined ? [] : [`its code is ${known}`]),
  ];
}

/** The other site, if it is named as browsers name it. */
function siteOf(origin: string | undefined): string {
  const isOrigin = origin !== undefined && origin.length < 300 && URL.parse(origin)?.origin === origin;
  return isOrigin
    ? `it came from ${origin}; if that is your own site, add it to trustedOrigins`
    : 'it came from another site; an origin of your own belongs in trustedOrigins';
}
