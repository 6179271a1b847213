import type { CookieWrite, RequestCookies } from '../../tools/cookies.ts';
import type { BackendOptions } from '../options.ts';
import type { SignInPart } from '../slots.ts';
import type { FlowCookies } from '../supabase/flow-cookies.ts';

/** Seconds. */
const maxAge = 365 * 24 * 60 * 60;

interface Known {
  readonly settings: Pick<BackendOptions, 'cookieName' | 'pages'>;
  readonly signIn: readonly Pick<SignInPart<never>, 'ways'>[];
}

/** The cookie with the name of the way in that this browser used last. It decides nothing but a mark on the sign-in page. */
const cookieName = ({ settings }: Known): string => `${settings.cookieName}-last`;

/** Where there is only one, a mark at it says nothing. */
function isOneOfSeveral({ signIn }: Known, way: string | undefined): way is string {
  const names = signIn.flatMap(({ ways = [] }) => ways);
  return way !== undefined && names.length > 1 && names.includes(way);
}

/** `undefined` for everything that is not the name of a way on the sign-in page. */
export function lastWayIn(known: Known, cookies: RequestCookies): string | undefined {
  const way = cookies.get(cookieName(known))?.[0];
  return isOneOfSeveral(known, way) ? way : undefined;
}

/** Remembers the way of a sign-in that succeeds, for the built-in sign-in page. */
export function lastWayWrites(
  backend: Known & { readonly flows: Pick<FlowCookies, 'attributes'> },
  way: string | undefined,
): readonly CookieWrite[] {
  if (backend.settings.pages.signIn !== undefined || !isOneOfSeveral(backend, way)) return [];
  return [{ name: cookieName(backend), value: way, attributes: { ...backend.flows.attributes, maxAge } }];
}
