import { encodeCookieValue } from '../../core/cookies.ts';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../../core/cookies.ts';
import { parseEncodedJson } from '../../core/json.ts';

/** How a sign-in that is under way comes back: from an OAuth provider, or from an email's link, that for a new password among them. */
export type FlowKind = 'oauth' | 'mail' | 'recovery';

/** A sign-in that was started in this browser and whose PKCE verifier is still there. */
export interface SignInFlow {
  readonly id: string;
  readonly kind: FlowKind;
  /** As the unsealed cookie says: sanitize it before use. */
  readonly returnTo: string;
  /** The fingerprint of a code that was sent to the backend and got no answer: it must not be sent again. */
  readonly spentCode?: string | undefined;
}

/** What a call of the SDK has stored for a flow that it started. */
export interface StartedFlow {
  /** The flow whose verifier was stored, where one was. */
  readonly id: string | undefined;
  /** The flows whose verifiers remain. */
  readonly alive: ReadonlySet<string>;
  /** The verifiers' cookies. */
  readonly writes: readonly CookieWrite[];
}

export interface FlowCookies {
  /** Of every cookie that a sign-in needs until it is complete. */
  readonly attributes: Partial<CookieAttributes>;
  /** Newest first: the likeliest to be the one that comes back. */
  pending(cookies: RequestCookies): readonly SignInFlow[];
  /**
   * The cookies that a flow which was just started needs until its callback. Flows that the verifiers' ring has dropped or that take too
   * much room are forgotten.
   */
  remember(
    started: StartedFlow,
    flow: Pick<SignInFlow, 'kind' | 'returnTo'>,
    cookies: RequestCookies,
  ): readonly CookieWrite[];
  /** Remembers with a flow that a code was sent and got no answer. */
  markCodeSpent(flow: SignInFlow, spentCode: string): CookieWrite;
  /** Deletes what was remembered. */
  forget(flowId: string): CookieWrite;
  /** Every verifier of this browser; a code can only be exchanged with one of them. */
  verifierNames(cookies: RequestCookies): readonly string[];
  /** Deletes the only flow there is, and every verifier, where the SDK has not. */
  drop(flowId: string, cookies: RequestCookies): readonly CookieWrite[];
}

/** Seconds; verifiers live as long. */
export const flowMaxAge = 600;
/** Bytes of all state cookies together: together with a session they must stay below Node's 16 KB of headers. */
const maxStateBytes = 3072;

/**
 * What a flow must remember until its callback, in an HttpOnly cookie per flow, so that tabs do not disturb each other. Not sealed: it
 * holds nothing secret, and nothing in it is believed.
 */
export function createFlowCookies(storageKey: string, sameSite: CookieAttributes['sameSite']): FlowCookies {
  const prefix = `${storageKey}-flow-`;
  const suffix = '-state';
  const attributes = { ...flowAttributes(sameSite), httpOnly: true };
  const nameOf = (id: string): string => prefix + id + suffix;
  const forget = (id: string): CookieWrite => ({ name: nameOf(id), value: undefined, attributes });
  const stateIds = (cookies: RequestCookies): string[] =>
    [...cookies.keys()]
      .filter((name) => name.startsWith(prefix) && name.endsWith(suffix))
      .map((name) => name.slice(prefix.length, -suffix.length))
      .filter(isFlowId);

  const verifierNames = (cookies: RequestCookies): string[] =>
    [...cookies].filter(([name, values]) => verifierIn(storageKey, name, values) !== undefined).map(([name]) => name);

  return {
    attributes,
    pending: (cookies) =>
      verifierIds(storageKey, cookies)
        .reverse()
        .map((id) => ({ id, ...parse(cookies.get(nameOf(id))?.[0]) })),
    remember({ id, alive, writes }, { kind, returnTo }, cookies) {
      if (id === undefined) return writes;
      const value = `${kind}:${returnTo}`;
      const others = stateIds(cookies).filter((other) => other !== id);
      const sizes = others.map((other) => ({
        id: other,
        bytes: alive.has(other) ? encodeCookieValue(cookies.get(nameOf(other))?.[0] ?? '').length : Infinity,
      }));
      const stale = selectStale(sizes, maxStateBytes - encodeCookieValue(value).length);
      return [...writes, ...stale.map(forget), { name: nameOf(id), value, attributes }];
    },
    markCodeSpent: ({ id, kind, returnTo }, spentCode) => ({
      name: nameOf(id),
      value: `${kind}~${spentCode}:${returnTo}`,
      attributes,
    }),
    forget,
    verifierNames,
    drop: (id, cookies) => [
      ...verifierNames(cookies).map((name) => ({ name, value: undefined, attributes })),
      forget(id),
    ],
  };
}

/** The callback is a navigation from another site, on which a strict cookie would not be sent. */
export function flowAttributes(sameSite: CookieAttributes['sameSite'] | undefined): Partial<CookieAttributes> {
  return { maxAge: flowMaxAge, sameSite: sameSite === 'none' ? 'none' : 'lax' };
}

/** The ids to drop, oldest first, so that the newest fit. */
function selectStale(
  oldestFirst: readonly { readonly id: string; readonly bytes: number }[],
  maxBytes: number,
): string[] {
  let room = maxBytes;
  const stale: string[] = [];
  for (const { id, bytes } of [...oldestFirst].reverse()) {
    if (bytes <= room) room -= bytes;
    else stale.push(id);
  }
  return stale;
}

/**
 * The verifier that a cookie holds, in the form that the SDK writes: it warns about every other form on the console, with a
 * stack, each time it looks.
 */
export function verifierIn(storageKey: string, name: string, values: readonly string[]): string | undefined {
  // The flows' own, the list of them, and the only one of older versions of auth-js.
  const others = [`${storageKey}-flows-code-verifier`, `${storageKey}-code-verifier`];
  const isVerifier = others.includes(name) || verifierFlowId(storageKey, name) !== undefined;
  return isVerifier ? values.find(isEncodedJson) : undefined;
}

function isEncodedJson(value: string): boolean {
  const [, encoded] = /^base64-([\w-]+)$/.exec(value) ?? [];
  return encoded !== undefined && parseEncodedJson(encoded) !== undefined;
}

/** The flows whose verifiers the request carries, in the order in which the browser sends cookies: oldest first. */
export function verifierIds(storageKey: string, cookies: RequestCookies): string[] {
  return [...cookies].flatMap(([name, values]) =>
    verifierIn(storageKey, name, values) === undefined ? [] : (verifierFlowId(storageKey, name) ?? []),
  );
}

/** The flow that a verifier's cookie belongs to; auth-js names them `<key>-flow-<id>-code-verifier`. */
export function verifierFlowId(storageKey: string, name: string): string | undefined {
  const start = `${storageKey}-flow-`;
  const end = '-code-verifier';
  if (!name.startsWith(start) || !name.endsWith(end)) return undefined;
  const id = name.slice(start.length, -end.length);
  return isFlowId(id) ? id : undefined;
}

function isFlowId(text: string): boolean {
  return /^[A-Za-z0-9_-]{8,64}$/.test(text);
}

/** `kind:returnTo` or `kind~spentCode:returnTo`. */
function parse(value = ''): Omit<SignInFlow, 'id'> {
  const end = value.indexOf(':');
  const [kind, spentCode] = value.slice(0, Math.max(0, end)).split('~');
  return { kind: kind === 'mail' || kind === 'recovery' ? kind : 'oauth', returnTo: value.slice(end + 1), spentCode };
}
