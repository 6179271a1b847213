import type { RequestHandler } from 'express';

/**
 * What `helmet` would do here, written out: nothing loads, runs or frames but the app's own files.
 *
 * @param formTargets origins that a form's redirects lead to: Chromium applies `form-action` to each of them, so without
 * the provider's origin the sign-out form would be stopped on its way
 */
export function securityHeaders({ formTargets }: { readonly formTargets: readonly string[] }): RequestHandler {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    // The providers' pictures of their users come from anywhere.
    "img-src 'self' https:",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return (_req, res, next) => {
    res.set({
      'Content-Security-Policy': policy,
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Referrer-Policy': 'same-origin',
      'X-Content-Type-Options': 'nosniff',
    });
    next();
  };
}
