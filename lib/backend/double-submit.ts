import { createHash } from 'node:crypto';
import { createBoundedMap, createOnce, stringBytes } from '../core/bounded-map.ts';
import type { CookieWrite } from '../core/cookies.ts';
import { readFields } from '../http/body.ts';
import type { Fields } from '../http/body.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { requestTarget } from '../http/message.ts';
import type { Reply } from '../http/reply.ts';
import type { AuthRoute, RouteHandler } from '../http/router.ts';
import type { BackendOptions } from './options.ts';

/** What a form's first POST led to. */
type Outcome =
  | { readonly kind: 'replied'; readonly reply: Reply; readonly writes: readonly CookieWrite[] }
  | { readonly kind: 'failed'; readonly error: unknown; readonly errorReturnTo: string | undefined };

type Replied = Extract<Outcome, { kind: 'replied' }>;

/** How long after its answer the same form is a double submit, in milliseconds. */
const repeatMs = 2_000;
/** Longer than any call to the backend, in milliseconds. */
const runningMs = 60_000;
/** Bytes of stored outcomes together, and of one: a page with a QR code. */
const [maxBytes, maxBytesOfOne] = [4 * 1024 * 1024, 256 * 1024];

/**
 * A double click posts a form twice, and the browser shows the second response: it shares the first one's outcome.
 *
 * Both must have the same URL, fields, address and browser. While the first runs, they also have the same cookies. Afterward
 * the outcome is kept only for the cookies that the first request had and that its response left, which no other browser has;
 * a failure is not kept.
 *
 * @returns a function that wraps a route's POST
 */
export function createDoubleSubmit({
  now,
  cookieName,
}: Pick<BackendOptions, 'now' | 'cookieName'>): (route: AuthRoute) => AuthRoute {
  const runOnce = createOnce<Outcome>({ ttlMs: runningMs, max: 10_000, now, keeps: 'none' });
  const kept = createBoundedMap<Replied>({
    max: maxBytes,
    maxSizeOfOne: maxBytesOfOne,
    sizeOf: (outcome) => 2 * stringBytes(JSON.stringify(outcome)),
    ttlMs: repeatMs,
    now,
  });

  /** An outcome is over with the session that it left: after a sign-out the same form is a new sign-in. */
  async function keptFor(request: AuthRequest, own: OwnCookies, key: string): Promise<Replied | undefined> {
    const outcome = kept.get(key);
    if (outcome === undefined) return undefined;
    const hasSession = [...own.keys()].some((name) => name === cookieName || name.startsWith(`${cookieName}.`));
    const isOver = hasSession && (await request.resolveSession().catch(() => null)) === null;
    return isOver ? undefined : outcome;
  }

  function share(post: RouteHandler): RouteHandler {
    return async (request) => {
      const fields = await readFields(request.req, request.res);
      const form = formOf(request, fields);
      const own = cookiesOf(request, cookieName);
      const known = await keptFor(request, own, hashOf(form, own));
      if (known !== undefined) return replay(request, known);
      let isFirst = false as boolean;
      const outcome = await runOnce([...form, textOf(own)], () => {
        isFirst = true;
        return run(post, request);
      });
      if (outcome.kind === 'failed') {
        request.errorReturnTo ??= outcome.errorReturnTo;
        throw outcome.error;
      }
      if (!isFirst) return replay(request, outcome);
      // A second click may have left before the first response arrived. Without a cookie, nothing tells this browser
      // from another one at the same address.
      for (const cookies of [own, cookiesOf(request, cookieName, outcome.writes)]) {
        if (outcome.reply.status < 400 && cookies.size > 0) kept.set(hashOf(form, cookies), outcome);
      }
      return outcome.reply;
    };
  }

  return (route) => (route.post === undefined ? route : { ...route, post: share(route.post) });
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

/** Everything but the cookies that makes two POSTs the same form of the same browser. */
function formOf({ req, wantsJson, prefix, peer = '' }: AuthRequest, fields: Fields): readonly string[] {
  const { host = '', 'user-agent': browser = '' } = req.headers;
  return [host, prefix, requestTarget(req), String(wantsJson), peer, browser, JSON.stringify([...fields])];
}

async function run(post: RouteHandler, request: AuthRequest): Promise<Outcome> {
  try {
    return { kind: 'replied', reply: await post(request), writes: [...request.written] };
  } catch (error) {
    return { kind: 'failed', error, errorReturnTo: request.errorReturnTo };
  }
}

/** Each response stores the cookies itself: browsers drop those of a navigation that another one replaced. */
function replay(request: AuthRequest, { reply, writes }: Replied): Reply {
  request.writeCookies(writes);
  return reply;
}

function textOf(own: OwnCookies): string {
  return JSON.stringify([...own].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** A hash, because the fields include passwords. */
function hashOf(form: readonly string[], own: OwnCookies): string {
  return createHash('sha256')
    .update(JSON.stringify([...form, textOf(own)]))
    .digest('base64url');
}
