import { createHash } from 'node:crypto';

/** A route's response; only the server sends it. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function json(status: number, body: unknown): Reply {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}

/** An OAuth error (RFC 6749 §5.2) of WorkOS' token endpoint. */
export function oauthError(status: number, error: string, description: string): Reply {
  return json(status, { error, error_description: description });
}

/** 303: a browser continues with GET, whatever the request's method. */
export function redirect(location: string): Reply {
  return { status: 303, headers: { location, 'cache-control': 'no-store' }, body: '' };
}

/** A page with one inline style sheet, allowed by its hash, and no script. */
export function page(status: number, { markup, style }: { markup: string; style: string }): Reply {
  const styleHash = createHash('sha256').update(style).digest('base64');
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      // No form-action: the redirect after a button crosses origins, and Chromium applies the form's policy to it.
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
    },
    body: markup,
  };
}
