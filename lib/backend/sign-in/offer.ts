import type { AuthRequest } from '../../http/request.ts';
import { leadsToOwnPage } from '../../http/request/urls.ts';
import type { BackendContext } from '../context.ts';

/**
 * Where a sign-in by password leads: first to what a room has to offer, unless a step is missing, the hook leads elsewhere, the way goes to
 * a page of an adapter, or the application has a sign-in page of its own.
 *
 * @param next where it leads without an offer
 */
export function withOffer(
  backend: BackendContext,
  request: AuthRequest,
  { returnTo, next }: { readonly returnTo: string; readonly next: string },
): string {
  const isOwn = backend.settings.pages.signIn !== undefined;
  if (request.wantsJson || isOwn || next !== request.urlOf(returnTo) || leadsToOwnPage(request, returnTo)) return next;
  const offered = backend.signIn.map(({ offer }) => offer?.(backend, request, returnTo));
  return offered.find((url) => url !== undefined) ?? next;
}
