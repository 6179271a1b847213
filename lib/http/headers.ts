import type { ServerResponse } from 'node:http';

/** Adds a field to `Vary` and keeps what is there (RFC 9110 §12.5.5). */
export function varyOn(res: ServerResponse, field: string): void {
  const present = res.getHeader('vary');
  if (present === undefined) {
    res.setHeader('Vary', field);
    return;
  }
  const fields = [present].flat().join(', ');
  const listed = fields.split(',').map((each) => each.trim().toLowerCase());
  if (!listed.includes('*') && !listed.includes(field.toLowerCase())) res.setHeader('Vary', `${fields}, ${field}`);
}

/**
 * Whether headers can still be set. What Engine.IO hands to middleware for a websocket is no `ServerResponse`: it has no
 * `headersSent`, and its setters throw after the handshake.
 */
export function isHeadOpen(res: ServerResponse): boolean {
  const isSent: unknown = res.headersSent;
  return isSent === false;
}

/** What a page that depends on the session gets, whatever was set before; a handler that comes later may say otherwise. */
export function keepPrivate(res: ServerResponse): void {
  if (!isHeadOpen(res)) return;
  res.setHeader('Cache-Control', 'private, no-store');
  varyOn(res, 'Cookie');
}
