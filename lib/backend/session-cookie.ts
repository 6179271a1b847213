import { chunkNames, createChunksFinder, sessionCandidates } from '../core/cookie-chunks.ts';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../core/cookie-codec.ts';
import { parseContentText } from './content.ts';
import type { StoredContent } from './content.ts';

/** The session in cookies as @supabase/ssr writes and reads them: `base64-` and base64url JSON, in chunks of its own size. */
export interface SessionCookie {
  readonly name: string;
  /** The raw value in the header, chunks joined, without decoding. */
  peek(cookieHeader: string): string | undefined;
  isPresent(cookies: RequestCookies): boolean;
  /** Every session that the cookies may hold, with the raw value it came from. */
  read(cookies: RequestCookies): readonly { readonly content: StoredContent; readonly cookie: string }[];
  write(content: StoredContent, cookies: RequestCookies): Promise<readonly CookieWrite[]>;
  clear(cookies: RequestCookies): readonly CookieWrite[];
}

const prefix = 'base64-';
/** One session, and room for those that a sibling domain or an earlier configuration left behind. */
const maxSessions = 4;

export function createSessionCookie(name: string, attributes: Pick<CookieAttributes, 'domain'>): SessionCookie {
  const remove = (names: readonly string[]): CookieWrite[] =>
    names.flatMap((present) => [
      { name: present, value: undefined },
      // A cookie from the time before `domain` was set would outlive the deletion and come back.
      ...(attributes.domain === undefined
        ? []
        : [{ name: present, value: undefined, attributes: { domain: undefined } }]),
    ]);

  return {
    name,
    peek: createChunksFinder(name),
    isPresent: (cookies) => chunkNames(cookies, name).length > 0,
    read(cookies) {
      const sessions: { content: StoredContent; cookie: string }[] = [];
      for (const cookie of sessionCandidates(cookies, name)) {
        const content = parseContentText(decode(cookie));
        if (content === undefined) continue;
        sessions.push({ content, cookie });
        if (sessions.length === maxSessions) break;
      }
      return sessions;
    },
    async write(content, cookies) {
      const { createChunks, stringToBase64URL } = await import('@supabase/ssr');
      const chunks = createChunks(name, prefix + stringToBase64URL(JSON.stringify(content)));
      const written = new Set(chunks.map((chunk) => chunk.name));
      return [...remove(chunkNames(cookies, name).filter((present) => !written.has(present))), ...chunks];
    },
    clear: (cookies) => remove(chunkNames(cookies, name)),
  };
}

/** Older versions of @supabase/ssr, and `cookieEncoding: 'raw'`, leave the JSON as it is. */
function decode(cookie: string): string {
  return cookie.startsWith(prefix) ? Buffer.from(cookie.slice(prefix.length), 'base64url').toString('utf8') : cookie;
}
