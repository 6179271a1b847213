import { newSecret } from './ids.ts';
import type { StandInUser } from './people.ts';
import type { Reply } from './replies.ts';
import type { Sessions } from './sessions.ts';

/** Who is signed in at the hosted pages with one browser. */
export interface BrowserSession {
  readonly id: string;
  readonly user: StandInUser;
  /** The session that the first exchange began; a later sign-in without a question continues it, with the same `sid`. */
  sessionId?: string;
}

/** Only the hosted pages get it, not the application beside them: cookies do not tell ports apart. */
const cookiePath = '/user_management';
const cookieName = 'workos-stand-in';

/**
 * AuthKit's own session in the browser: while it lives, `GET /authorize` answers with a code at once, unless the
 * request says `prompt=login`. It ends with its session, by a sign-out in the browser or by a revocation.
 */
export function createBrowserSessions({ isActive }: Pick<Sessions, 'isActive'>) {
  const known = new Map<string, BrowserSession>();
  return {
    begin(user: StandInUser): BrowserSession {
      const browser: BrowserSession = { id: newSecret(), user };
      known.set(browser.id, browser);
      return browser;
    },
    find(cookieHeader: string | undefined): BrowserSession | undefined {
      const cookie = (cookieHeader ?? '').split(/; */).find((pair) => pair.startsWith(`${cookieName}=`));
      const browser = known.get(cookie?.slice(cookieName.length + 1) ?? '');
      if (browser === undefined) return undefined;
      return browser.sessionId === undefined || isActive(browser.sessionId) ? browser : undefined;
    },
    remember: ({ id }: BrowserSession, reply: Reply): Reply => ({
      ...reply,
      headers: { ...reply.headers, 'set-cookie': `${cookieName}=${id}; Path=${cookiePath}; HttpOnly; SameSite=Lax` },
    }),
  };
}

export type BrowserSessions = ReturnType<typeof createBrowserSessions>;
