import type { Adapter } from '../adapter.ts';
import { partKey } from '../adapter.ts';
import { originOf } from './way-back.ts';

/** The parts of an `AuthRequest` that a hook's answer depends on. */
interface SigningIn {
  readonly definition: Adapter;
  readonly origin: string;
  returnTo(value: unknown, fallback?: string): string;
  urlOf(path: string): string;
}

/**
 * Where a hook leads: a path, or an absolute URL of `trustedOrigins`. A URL of the pages' own origin is read as its path, which an own
 * route never is. Anything else that it returns is reported, and the sign-in leads to the page where the person was.
 *
 * @param redirectTo what the hook returned
 * @param returnTo sanitized
 * @returns the final URL
 */
export function hookDestination(request: SigningIn, redirectTo: unknown, returnTo: string): string {
  const wayBack = request.urlOf(returnTo);
  if (redirectTo === undefined || redirectTo === null) return wayBack;
  const url = typeof redirectTo === 'string' ? URL.parse(redirectTo) : null;
  // The origin of a blob: URL is that of its inside.
  const isPage = url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === '';
  const isTrusted = isPage && request.definition.trustedOrigins.includes(url.origin);
  const isOwn = isTrusted && url.origin === originOf(request);
  if (isTrusted && !isOwn) return url.href;
  const path = request.returnTo(isOwn ? url.pathname + url.search + url.hash : redirectTo, '');
  if (path !== '') return request.urlOf(path);
  report(request.definition);
  return wayBack;
}

const warnedPart = partKey<true>('whether a hook has named an unusable redirectTo');

/** The value stays out of the message: it may hold what a person has entered. */
function report({ name, emit, parts }: Adapter): void {
  const message = `${name}: onSignIn returned a redirectTo that is neither a root-relative path of a page nor a URL of trustedOrigins or frontendOrigin, so the sign-in led to returnTo`;
  if (parts.find(warnedPart) === undefined) process.emitWarning(message, { code: 'EXPRESS_AUTH_ADAPTERS_REDIRECT' });
  parts.set(warnedPart, true);
  emit({ type: 'configuration_warning', message });
}
