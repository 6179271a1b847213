import type { RequestHandler } from 'express';

/**
 * The headers of `helmet`, written out: only the app's own files may load, run or be framed.
 *
 * @param formTargets origins of a form's redirects: Chromium applies `form-action` to each of them,
 * so the sign-out form needs the provider's origin
 */
export function securityHeaders({ formTargets }: { readonly formTargets: readonly string[] }): RequestHandler {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    // The providers' profile pictures have various origins.
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
