import { cookieBytes } from '../core/cookie-chunks.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import { defined } from '../core/json.ts';
import type { Emit } from './events.ts';
import type { SessionSource } from './source.ts';

/** Bytes of cookies from which the application is told. */
const largeSessionBytes = 8 * 1024;
/** Bytes of cookies over which a session is never written: Node answers requests with more than 16 KB of headers with 431. */
const maxSessionBytes = 12 * 1024;

export type SessionWriter<Content> = ReturnType<typeof createSessionWriter<Content>>;

/** The only way from a session to cookies, so that no browser gets a session that its next request cannot carry. */
export function createSessionWriter<Content>(source: SessionSource<Content>, emit: Emit) {
  /** Reports the size of newly issued tokens, and says whether they fit into cookies. Call it once per issue. */
  async function fits(content: Content, userId: string | undefined): Promise<boolean> {
    const bytes = await source.cookieBytes(content);
    if (bytes <= largeSessionBytes) return true;
    const least = bytes <= maxSessionBytes ? bytes : await source.cookieBytes(source.slim(content));
    if (least <= maxSessionBytes) {
      emit({ type: 'session_large', bytes });
      return true;
    }
    const { sessionId } = source.toStored(content);
    emit({ type: 'session_too_large', bytes: least, ...defined({ userId, sessionId }) });
    return false;
  }

  return {
    fits,
    /**
     * The cookies that hold `content`, or what is left of it without what nothing here reads. Where that is too large as well,
     * the cookies are deleted.
     */
    async write(content: Content, cookies: RequestCookies): Promise<readonly CookieWrite[]> {
      const whole = await source.write(content, cookies);
      if (cookieBytes(whole) <= maxSessionBytes) return whole;
      const slim = await source.write(source.slim(content), cookies);
      return cookieBytes(slim) <= maxSessionBytes ? slim : source.clear(cookies);
    },
  };
}
