import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { createBoundedMap } from '../tools/bounded-map.ts';
import { AuthError } from '../errors.ts';
import type { CookieWrite, RequestCookies } from '../tools/cookies.ts';
import { flowAttributes, flowMaxAge } from '../http/cookie-jar.ts';
import type { Seal } from './seal.ts';

const schema = v.object({
  /** Tells a flow from a session: the same password seals both. */
  purpose: v.literal('sign-in-flow'),
  state: v.string(),
  codeVerifier: v.string(),
  returnTo: v.string(),
  /** Milliseconds since the epoch. */
  startedAt: v.number(),
  /** When the sign-in began, where its ten minutes were restarted since; default: `startedAt`. */
  beganAt: v.optional(v.number()),
  organizationId: v.optional(v.string()),
  /** What else the sign-in was asked with. */
  asked: v.optional(v.record(v.string(), v.string())),
  /** Set when the flow was started because a callback came without state: the next such callback is an error. */
  isRestart: v.optional(v.boolean()),
  /** Set when the code exchange failed with an outage: the code may be used, so the next callback starts over. */
  isCodeUsed: v.optional(v.boolean()),
  /** Set when a script's request started it, such as a poll of an old tab that a guard sent to sign in. */
  isScripted: v.optional(v.boolean()),
  /** What the room of a question keeps while the person answers it. */
  selection: v.optional(v.unknown()),
});

/** The data of one sign-in until its callback, sealed in its own cookie. */
export type Flow = Omit<v.InferOutput<typeof schema>, 'purpose'>;

export interface FlowCookies {
  /**
   * The cookie that stores `flow`, and deletions of older flows that exceed the limits.
   *
   * @throws {AuthError} `rate_limited` where a script's flow has no room beside those of navigations: its URL could not lead to a session
   */
  start(flow: Flow, cookies: RequestCookies): Promise<readonly CookieWrite[]>;
  /** The flow that this browser started with exactly this state. */
  find(state: string, cookies: RequestCookies): Promise<Flow | undefined>;
  /** Those of this browser that can be opened. */
  pending(cookies: RequestCookies): Promise<readonly Flow[]>;
  /** Deletes one flow; the flows of other tabs stay. */
  finish(state: string): readonly CookieWrite[];
  /** Deletes every flow of this browser and cancels those whose callback is running. */
  cancelAll(cookies: RequestCookies): Promise<readonly CookieWrite[]>;
  /** Whether the flow was canceled while its callback was running. */
  isCanceled(state: string): boolean;
}

/**
 * Allows five flows of the usual size. A link can set a return path of 2,048 characters. Node
 * rejects requests whose headers exceed 16 KB, of which a session may take 12 KB.
 */
const limits = { flows: 5, scripted: 2, bytes: 4096 };
const maxCanceled = 10_000;
const noRoom = { reason: 'open_flows', retryAfter: 60 };
/** Maximum bytes of JSON that fit a cookie of 4,096 bytes after sealing, encoding, name and attributes. */
const maxFlowJson = 2_600;

const idForm = /^[0-9a-f]{16}$/;

/** 256 random bits: the `state` parameter (RFC 6749 §10.12). */
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
  const attributes = flowAttributes(parts.sameSite);
  const nameOf = (state: string): string => prefix + createHash('sha256').update(state).digest('hex').slice(0, 16);
  const remove = (name: string): CookieWrite => ({ name, value: undefined, attributes });
  const canceled = createBoundedMap<true>({ max: maxCanceled, ttlMs: flowMaxAge * 1000, now });

  async function open(name: string, cookies: RequestCookies): Promise<Flow | undefined> {
    for (const sealed of (cookies.get(name) ?? []).slice(0, 4)) {
      const parsed = v.safeParse(schema, await seal.unseal(sealed));
      if (!parsed.success || nameOf(parsed.output.state) !== name) continue;
      if (parsed.output.startedAt + flowMaxAge * 1000 > now()) return parsed.output;
    }
    return undefined;
  }

  async function startedFlow(name: string, cookies: RequestCookies): Promise<StartedFlow> {
    const values = cookies.get(name) ?? [];
    const bytes = values.reduce((total, value) => total + name.length + value.length, 0);
    const flow = await open(name, cookies);
    return { name, bytes, startedAt: flow?.startedAt ?? 0, isScripted: flow === undefined || flow.isScripted === true };
  }

  return {
    async start(flow, cookies) {
      const own = nameOf(flow.state);
      const value = await seal.seal({ ...shortened(flow), purpose: 'sign-in-flow' }, flowMaxAge);
      const others: StartedFlow[] = [];
      for (const name of flowNames(cookies, prefix)) if (name !== own) others.push(await startedFlow(name, cookies));
      const stale = selectStale(others, roomBeside(flow, own.length + value.length));
      if (flow.isScripted === true && stale.some((other) => !other.isScripted))
        throw new AuthError('rate_limited', noRoom);
      return [...stale.map(({ name }) => remove(name)), { name: own, value, attributes }];
    },
    async find(state, cookies) {
      const flow = await open(nameOf(state), cookies);
      return flow !== undefined && isSame(flow.state, state) ? flow : undefined;
    },
    async pending(cookies) {
      const names = flowNames(cookies, prefix).slice(0, limits.flows);
      return (await Promise.all(names.map((name) => open(name, cookies)))).filter((flow) => flow !== undefined);
    },
    finish: (state) => [remove(nameOf(state))],
    async cancelAll(cookies) {
      const names = flowNames(cookies, prefix);
      for (const name of names.slice(0, limits.flows)) {
        // Only flows that can be unsealed: a forged name is not a flow.
        if ((await open(name, cookies)) !== undefined) canceled.set(name, true);
      }
      return names.map(remove);
    },
    isCanceled: (state) => canceled.has(nameOf(state)),
  };
}

/** Only names that `nameOf` can produce; other cookies are neither read nor deleted. */
function flowNames(cookies: RequestCookies, prefix: string): string[] {
  return [...cookies.keys()].filter((name) => name.startsWith(prefix) && idForm.test(name.slice(prefix.length)));
}

/** Whether browsers take the flow's cookie. They would drop a larger one, which would lose the sign-in. */
export function fitsCookie(flow: Flow): boolean {
  return Buffer.byteLength(JSON.stringify(flow)) <= maxFlowJson;
}

/** With as much of what was asked as fits the cookie, from the start of the list. */
function shortened(flow: Flow): Flow {
  let short: Flow = { ...flow, asked: undefined };
  for (const [name, value] of Object.entries(flow.asked ?? {})) {
    const longer = { ...short, asked: { ...short.asked, [name]: value } };
    if (fitsCookie(longer)) short = longer;
  }
  return short;
}

interface StartedFlow {
  readonly name: string;
  /** Bytes that the cookie adds to every request. */
  readonly bytes: number;
  /** Milliseconds since the epoch; 0 where the cookie cannot be unsealed. */
  readonly startedAt: number;
  /** Also one that cannot be unsealed: it can never return. */
  readonly isScripted: boolean;
}

interface Room {
  readonly flows: number;
  readonly scripted: number;
  readonly bytes: number;
}

function roomBeside({ isScripted }: Flow, bytes: number): Room {
  const scripted = limits.scripted - (isScripted === true ? 1 : 0);
  return { flows: limits.flows - 1, scripted, bytes: limits.bytes - bytes };
}

/** Those to delete so that the newest fit the limits, and those of navigations before those of scripts. */
function selectStale(flows: readonly StartedFlow[], room: Room): readonly StartedFlow[] {
  const newestFirst = [...flows].sort((one, other) => other.startedAt - one.startedAt);
  const navigated = newestFirst.filter((flow) => !flow.isScripted);
  const scripted = newestFirst.filter((flow) => flow.isScripted);
  const wanted = [...navigated, ...scripted.slice(0, room.scripted)];
  let bytes = 0;
  const firstStale = wanted.findIndex((flow, index) => {
    bytes += flow.bytes;
    return index >= room.flows || bytes > room.bytes;
  });
  const stale = firstStale === -1 ? [] : wanted.slice(firstStale);
  return [...stale, ...scripted.slice(room.scripted)];
}

/** In constant time. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
