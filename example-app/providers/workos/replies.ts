import { createHash } from 'node:crypto';

/** What a route answers; nothing but the server writes it. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function json(status: number, body: unknown): Reply {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}

/** An OAuth error (RFC 6749 §5.2), as WorkOS' token endpoint answers it. */
export function oauthError(status: number, error: string, description: string): Reply {
  return json(status, { error, error_description: description });
}

/** 303: a browser goes on with GET, whatever it came with. */
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
      // No form-action: the redirect after a button crosses origins, and Chromium holds it against the form's policy.
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
    },
    body: markup,
  };
}
