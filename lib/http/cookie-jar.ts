import onHeaders from 'on-headers';
import type { ServerResponse } from 'node:http';
import { serializeCookie } from '../core/cookie-codec.ts';
import type { CookieAttributes, CookieWrite } from '../core/cookie-codec.ts';
import { varyOn } from './headers.ts';

/** The cookies that this package adds to one response: one write per name, domain and path, sent with the head. */
export interface CookieJar {
  /**
   * @param attributes the adapter's own, for what a write does not say
   * @param onLost called when the cookies do not reach the browser: the head is sent already, or the connection breaks
   */
  write(writes: readonly CookieWrite[], attributes: CookieAttributes, onLost?: (names: string[]) => void): void;
}

export function createCookieJar(res: ServerResponse): CookieJar {
  const serialized = new Map<string, string>();

  // At the head, not before: a handler may replace the header, and what carries our cookie must never be cached.
  const flush = (): void => {
    const foreign = res.getHeader('set-cookie') ?? [];
    res.setHeader('Set-Cookie', [...[foreign].flat().map(String), ...serialized.values()]);
    res.setHeader('Cache-Control', 'private, no-store');
    varyOn(res, 'Cookie');
  };

  return {
    write(writes, attributes, onLost) {
      if (writes.length === 0) return;
      const names = writes.map((write) => write.name);
      if (res.headersSent) {
        onLost?.(names);
        return;
      }
      if (serialized.size === 0) onHeaders(res, flush);
      for (const write of writes) {
        const { domain, path } = { ...attributes, ...write.attributes };
        const key = `${write.name};${domain ?? ''};${path}`;
        serialized.delete(key);
        serialized.set(key, serializeCookie(write, attributes));
      }
      if (onLost === undefined) return;
      res.once('close', () => {
        if (!res.writableFinished) onLost(names);
      });
    },
  };
}
