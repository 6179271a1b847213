import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import type { CookieWrite, RequestCookies } from '../core/cookie-codec.ts';
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
  /** Set while the visitor chooses among several organizations. */
  selection: v.optional(
    v.object({
      pendingAuthenticationToken: v.string(),
      organizations: v.array(v.object({ id: v.string(), name: v.string() })),
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
  clearAll(cookies: RequestCookies): readonly CookieWrite[];
}

/** Seconds from the start of a sign-in to its callback. */
const flowMaxAge = 600;
const maxFlows = 5;

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
  const namesIn = (cookies: RequestCookies): string[] => [...cookies.keys()].filter((name) => name.startsWith(prefix));

  async function open(name: string, cookies: RequestCookies): Promise<Flow | undefined> {
    for (const sealed of (cookies.get(name) ?? []).slice(0, 4)) {
      const parsed = v.safeParse(schema, await seal.unseal(sealed));
      if (parsed.success && parsed.output.startedAt + flowMaxAge * 1000 > now()) return parsed.output;
    }
    return undefined;
  }

  async function startTimes(names: readonly string[], cookies: RequestCookies): Promise<StartedFlow[]> {
    const flows: StartedFlow[] = [];
    for (const name of names) flows.push({ name, startedAt: (await open(name, cookies))?.startedAt ?? 0 });
    return flows;
  }

  return {
    async start(flow, cookies) {
      const own = nameOf(flow.state);
      const others = namesIn(cookies).filter((name) => name !== own);
      const stale = others.length < maxFlows ? [] : selectStale(await startTimes(others, cookies), maxFlows - 1);
      const value = await seal.seal({ ...flow, purpose: 'sign-in-flow' }, flowMaxAge);
      return [...stale.map(remove), { name: own, value, attributes }];
    },
    async find(state, cookies) {
      const flow = await open(nameOf(state), cookies);
      return flow !== undefined && isSame(flow.state, state) ? flow : undefined;
    },
    async hasRestart(cookies) {
      for (const name of namesIn(cookies).slice(0, maxFlows)) {
        if ((await open(name, cookies))?.isRestart === true) return true;
      }
      return false;
    },
    finish: (state) => [remove(nameOf(state))],
    clearAll: (cookies) => namesIn(cookies).map(remove),
  };
}

export interface StartedFlow {
  readonly name: string;
  /** Milliseconds since the epoch; 0 for what cannot be opened. */
  readonly startedAt: number;
}

/** The names to drop so that the newest `max` remain. */
export function selectStale(flows: readonly StartedFlow[], max: number): string[] {
  return [...flows]
    .sort((one, other) => other.startedAt - one.startedAt)
    .slice(max)
    .map((flow) => flow.name);
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
