import type { RequestHandler, Response } from 'express';
import type { EventLog, RequestStep } from './event-log.ts';
import { experimentAgent } from './lab.ts';

/** Logs each step of a sign-in: responses that redirect, or that set or clear a cookie. */
export function requestTrail(log: EventLog): RequestHandler {
  return (req, res, next) => {
    if (req.get('user-agent') === experimentAgent || req.path.startsWith('/lab/')) {
      next();
      return;
    }
    res.on('finish', () => {
      const cookies = changedCookies(res);
      const location = res.getHeader('location');
      if (cookies.length === 0 && typeof location !== 'string') return;
      log.addRequest({
        method: req.method,
        path: withoutValues(req.originalUrl),
        status: res.statusCode,
        location: typeof location === 'string' ? withoutValues(location) : undefined,
        cookies,
      });
    });
    next();
  };
}

/** `/callback?code=…&state=…` as `/callback?code&state`: codes and states are secrets while they are valid. */
export function withoutValues(url: string): string {
  const end = url.indexOf('?');
  if (end === -1) return url.slice(0, 200);
  const names = [...new Set(new URLSearchParams(url.slice(end + 1)).keys())];
  return `${url.slice(0, end)}?${names.join('&')}`.slice(0, 200);
}

function changedCookies(res: Response): RequestStep['cookies'] {
  return [res.getHeader('set-cookie') ?? []].flat().map((line) => {
    const text = String(line);
    return { name: text.slice(0, text.indexOf('=')), isCleared: /; *Max-Age=0(?:;|$)/i.test(text) };
  });
}
