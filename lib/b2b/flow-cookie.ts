import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { createBoundedMap } from '../core/bounded-map.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import type { Seal } from './seal.ts';

const schema = v.object({
  /** A session's seal opens with the same password; this is what tells the two apart. */
  purpose: v.literal('sign-in-flow'),
  state: v.string(),
  codeVerifier: v.string(),
  returnTo: v.string(),
  /** Milliseconds since the epoch. */
  startedAt: v.number(),
  organizationId: v.optional(v.string()),
  /** Set when the flow was started because a callback came without state: the next such callback is an error. */
  isRestart: v.optional(v.boolean()),
  /** Set when the token endpoint was asked and did not answer: the code is spent, and the next callback starts over. */
  isSpent: v.optional(v.boolean()),
  /** Set while the visitor chooses among several organizations. */
  selection: v.optional(
    v.object({
      pendingAuthenticationToken: v.string(),
      /** Those on offer; left out where they are too many for a cookie. */
      organizations: v.optional(v.array(v.object({ id: v.string(), name: v.string() }))),
    }),
  ),
});

/** What one sign-in must remember until its callback, sealed in a cookie of its own. */
export type Flow = Omit<v.InferOutput<typeof schema>, 'purpose'>;

export interface FlowCookies {
  /** The cookies that remember `flow`, and that make room for it where too many are open. */
  start(flow: Flow, cookies: RequestCookies): Promise<readonly CookieWrite[]>;
  /** The flow that was started in this browser with exactly this state. */
  find(state: string, cookies: RequestCookies): Promise<Flow | undefined>;
  /** Whether a flow is open that was started because a callback came without state. */
  hasRestart(cookies: RequestCookies): Promise<boolean>;
  /** Deletes one flow; the flows of other tabs stay. */
  finish(state: string): readonly CookieWrite[];
  /** Deletes every flow of this browser, and calls off those whose callback is under way. */
  cancelAll(cookies: RequestCookies): Promise<readonly CookieWrite[]>;
  /** Whether the flow was called off while its callback was under way. */
  isCancelled(state: string): boolean;
}

/** Seconds from the start of a sign-in to its callback. */
const flowMaxAge = 600;
/**
 * Room for five flows of the usual size. A flow remembers a path that any link can make 2,048 characters long, and Node
 * answers no request at all whose headers exceed 16 KB, of which a session may take 12.
 */
const limits = { flows: 5, bytes: 4096 };
const maxCancelled = 10_000;
/** Bytes of JSON that still fit a cookie of 4,096 bytes once they are sealed, encoded and given name and attributes. */
const maxFlowJson = 2_600;

const idForm = /^[0-9a-f]{16}$/;

/** 256 random bits: the state that the callback must bring back (RFC 6749 §10.12). */
export function createState(): string {
  return randomBytes(32).toString('base64url');
}

export function createFlowCookies(parts: {
  readonly cookieName: string;
  readonly sameSite: 'lax' | 'strict' | 'none';
  readonly seal: Seal;
  readonly now: () => number;
}): FlowCookies {
  const { cookieName, seal, now } = parts;
  const prefix = `${cookieName}-flow-`;
  // The callback is a navigation from the provider's site, on which a strict cookie would not be sent.
  const attributes = { maxAge: flowMaxAge, sameSite: parts.sameSite === 'none' ? 'none' : 'lax' } as const;
  const nameOf = (state: string): string => prefix + createHash('sha256').update(state).digest('hex').slice(0, 16);
  const remove = (name: string): CookieWrite => ({ name, value: undefined, attributes });

  const cancelled = createBoundedMap<true>({ max: maxCancelled, ttlMs: flowMaxAge * 1000, now });

  async function open(name: string, cookies: RequestCookies): Promise<Flow | undefined> {
    for (const sealed of (cookies.get(name) ?? []).slice(0, 4)) {
      const parsed = v.safeParse(schema, await seal.unseal(sealed));
      if (parsed.success && parsed.output.startedAt + flowMaxAge * 1000 > now()) return parsed.output;
    }
    return undefined;
  }

  async function startedFlow(name: string, cookies: RequestCookies): Promise<StartedFlow> {
    const values = cookies.get(name) ?? [];
    const bytes = values.reduce((total, value) => total + name.length + value.length, 0);
    return { name, bytes, startedAt: (await open(name, cookies))?.startedAt ?? 0 };
  }

  return {
    async start(flow, cookies) {
      const own = nameOf(flow.state);
      const value = await seal.seal({ ...flow, purpose: 'sign-in-flow' }, flowMaxAge);
      const others: StartedFlow[] = [];
      for (const name of flowNames(cookies, prefix)) if (name !== own) others.push(await startedFlow(name, cookies));
      const room = { flows: limits.flows - 1, bytes: limits.bytes - own.length - value.length };
      return [...selectStale(others, room).map(remove), { name: own, value, attributes }];
    },
    async find(state, cookies) {
      const flow = await open(nameOf(state), cookies);
      return flow !== undefined && isSame(flow.state, state) ? flow : undefined;
    },
    async hasRestart(cookies) {
      for (const name of flowNames(cookies, prefix).slice(0, limits.flows)) {
        if ((await open(name, cookies))?.isRestart === true) return true;
      }
      return false;
    },
    finish: (state) => [remove(nameOf(state))],
    async cancelAll(cookies) {
      const names = flowNames(cookies, prefix);
      for (const name of names.slice(0, limits.flows)) {
        // Only what opens: a made-up name is no flow.
        if ((await open(name, cookies)) !== undefined) cancelled.set(name, true);
      }
      return names.map(remove);
    },
    isCancelled: (state) => cancelled.has(nameOf(state)),
  };
}

/** Names of the form that `nameOf` makes; others are not ours to open or to delete. */
function flowNames(cookies: RequestCookies, prefix: string): string[] {
  return [...cookies.keys()].filter((name) => name.startsWith(prefix) && idForm.test(name.slice(prefix.length)));
}

/** Without the list of organizations where browsers would drop the cookie for its size, and the sign-in with it. */
export function fitToCookie(flow: Flow): Flow {
  const { selection } = flow;
  if (selection === undefined || Buffer.byteLength(JSON.stringify(flow)) <= maxFlowJson) return flow;
  return { ...flow, selection: { pendingAuthenticationToken: selection.pendingAuthenticationToken } };
}

interface StartedFlow {
  readonly name: string;
  /** What it adds to every request. */
  readonly bytes: number;
  /** Milliseconds since the epoch; 0 for what cannot be opened. */
  readonly startedAt: number;
}

/** The names to drop so that the newest remain, as many as there is room for. */
function selectStale(
  flows: readonly StartedFlow[],
  room: { readonly flows: number; readonly bytes: number },
): string[] {
  const newestFirst = [...flows].sort((one, other) => other.startedAt - one.startedAt);
  let bytes = 0;
  const firstStale = newestFirst.findIndex((flow, index) => {
    bytes += flow.bytes;
    return index >= room.flows || bytes > room.bytes;
  });
  return firstStale === -1 ? [] : newestFirst.slice(firstStale).map((flow) => flow.name);
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
