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

/** What a page that depends on the session gets by default; its handler may say otherwise. */
export function keepPrivate(res: ServerResponse): void {
  if (res.headersSent) return;
  if (!res.hasHeader('cache-control')) res.setHeader('Cache-Control', 'private, no-store');
  varyOn(res, 'Cookie');
}
