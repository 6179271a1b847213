import type { RequestHandler } from 'express';

interface Origins {
  readonly formTargets: readonly string[];
  readonly pictures: readonly string[];
}

/**
 * The headers of `helmet`, written out: only the app's own files may load, run or be framed.
 *
 * @param formTargets origins of a form's redirects: Chromium applies `form-action` to each of them,
 * so the sign-out form needs the provider's origin
 * @param pictures origins of the stand-ins, which serve pictures without https
 */
export function securityHeaders({ formTargets, pictures }: Origins): RequestHandler {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    // The providers' profile pictures have various origins.
    `img-src ${["'self' https:", ...pictures].join(' ')}`,
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
