import { createSharedOutcomes } from '../../tools/shared-outcomes.ts';
import { encodeCookieValue } from '../../tools/cookies.ts';
import type { CookieWrite } from '../../tools/cookies.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/request.ts';
import { clientFacts, requestTarget } from '../../http/message.ts';
import type { Reply } from '../../http/reply.ts';
import { signedOut } from '../../session/source.ts';
import type { BackendOptions } from '../options.ts';

/** One POST of a form. */
interface Submission {
  readonly fields: Fields;
  /** Whether the fields prove who sends them, as a password does. Then a browser without a cookie of ours shares a session, too. */
  readonly provesSender: boolean;
  readonly submit: () => Promise<Reply>;
}

/** Answers a form's POST, or shares the answer to the same form that the browser has just sent. */
export type SubmitOnce = (request: AuthRequest, submission: Submission) => Promise<Reply>;

/** What a form's first POST led to. */
interface Outcome {
  readonly reply: Reply;
  readonly writes: readonly CookieWrite[];
  /** Whether it is known to be of this browser: by its cookies of ours, or by the fields. Nothing else tells it from another one at the same address. */
  readonly isOfBrowser: boolean;
}

/** How long after its answer the same form is a double submit, in milliseconds. */
const repeatMs = 2_000;

/**
 * A double click posts a form twice, and the browser shows the second response: it shares the first one's outcome.
 *
 * Both have the same URL, fields, address and browser, and the same cookies. The second click may leave before or after the first
 * response arrives, so a success is kept for the cookies that the first request had, and for those that its response left.
 * A browser that had none is known by its password where a sign-up has signed it in: the second POST would find the address in use.
 */
export function createSubmitOnce({ now, cookieName }: Pick<BackendOptions, 'now' | 'cookieName'>): SubmitOnce {
  const outcomes = createSharedOutcomes<Outcome>({
    now,
    keepMs: ({ reply, isOfBrowser }) => (reply.status < 400 && isOfBrowser ? repeatMs : 0),
  });

  /** An outcome is over with the session that it left: after a sign-out the same form is a new sign-in. */
  async function isOver(request: AuthRequest, { writes }: Outcome): Promise<boolean> {
    const session = sessionIn(cookiesOf(request, cookieName, writes), cookieName);
    if (session.length === 0) return false;
    const { req, peer, definition } = request;
    // It may spend no token: this response cannot say so yet.
    const resolved = definition.resolver.resolve(headerOf(session), () => true, clientFacts(req, peer));
    return (await resolved.catch(() => signedOut)).session === null;
  }

  return async (request, { fields, provesSender, submit }) => {
    const form = formOf(request, fields);
    const own = cookiesOf(request, cookieName);
    const key = [...form, textOf(own)];
    const known = outcomes.kept(key);
    const isPast = known !== undefined && (await isOver(request, known));
    // Another request may have started the work again meanwhile.
    if (isPast && outcomes.kept(key) === known) outcomes.forget(key);
    let isFirst = false as boolean;
    const outcome = await outcomes.share(key, async () => {
      isFirst = true;
      const reply = await submit();
      const isSignedIn = sessionIn(cookiesOf(request, cookieName, request.written), cookieName).length > 0;
      return { reply, writes: request.written, isOfBrowser: own.size > 0 || (provesSender && isSignedIn) };
    });
    const { reply, writes } = outcome;
    // Each response stores the cookies itself: browsers drop those of a navigation that another one replaced.
    if (!isFirst) request.writeCookies(writes);
    const left = cookiesOf(request, cookieName, writes);
    if (isFirst && left.size > 0) {
      void outcomes.share([...form, textOf(left)], () => Promise.resolve({ ...outcome, isOfBrowser: true }));
    }
    return reply;
  };
}

type OwnCookies = ReadonlyMap<string, readonly string[]>;

/** The adapter's cookies that the browser has, or will have after these writes. */
function cookiesOf({ cookies }: AuthRequest, cookieName: string, writes: readonly CookieWrite[] = []): OwnCookies {
  const own = new Map([...cookies].filter(([name]) => name.startsWith(cookieName)));
  for (const { name, value } of writes) {
    own.delete(name);
    if (value !== undefined) own.set(name, [value]);
  }
  return own;
}

/** Those of the session, which may have several parts. */
function sessionIn(cookies: OwnCookies, cookieName: string) {
  return [...cookies].filter(([name]) => name === cookieName || name.startsWith(`${cookieName}.`));
}

/** As the browser sends them. */
function headerOf(cookies: readonly (readonly [string, readonly string[]])[]): string {
  const pairs = cookies.flatMap(([name, values]) => values.map((value) => `${name}=${encodeCookieValue(value)}`));
  return pairs.join('; ');
}

function textOf(own: OwnCookies): string {
  return JSON.stringify([...own].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Everything but the cookies that makes two POSTs the same form of the same browser. */
function formOf({ req, wantsJson, prefix, peer = '' }: AuthRequest, fields: Fields): readonly string[] {
  const { host = '', 'user-agent': browser = '' } = req.headers;
  return [host, prefix, requestTarget(req), String(wantsJson), peer, browser, JSON.stringify([...fields])];
}
