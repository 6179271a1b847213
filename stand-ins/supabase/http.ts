import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export interface StandInRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  /** The parsed JSON or form body; empty for anything else. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

export function page(status: number, body: string): Reply {
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body };
}

export function redirect(status: 302 | 303, location: string): Reply {
  return { status, headers: { location }, body: '' };
}

export function textField(body: Readonly<Record<string, unknown>>, name: string): string {
  const value = body[name];
  return typeof value === 'string' ? value : '';
}

export function recordField(body: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> {
  const value = body[name];
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

export function bearerOf(headers: IncomingHttpHeaders): string {
  return /^bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
}

export async function readRequest(req: IncomingMessage, origin: string): Promise<StandInRequest> {
  const body = await text(req);
  const { method = 'GET', headers } = req;
  return { method, url: new URL(req.url ?? '/', origin), headers, body: parseBody(body, headers['content-type']) };
}

function parseBody(text: string, contentType = ''): Record<string, unknown> {
  if (contentType.startsWith('application/x-www-form-urlencoded')) return Object.fromEntries(new URLSearchParams(text));
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
