import type { PageReply } from '../page.ts';

/** A route's response; only the server sends it. */
export type Reply = PageReply;

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
