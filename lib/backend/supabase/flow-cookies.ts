import { encodeCookieValue } from '../../tools/cookies.ts';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../../tools/cookies.ts';
import { AuthError } from '../../errors.ts';
import { parseEncodedJson } from '../../tools/json.ts';
import { flowAttributes } from '../../http/cookie-jar.ts';

/** The way back of an open sign-in: an OAuth provider, an email's link, or a link for a new password. `link` adds a provider to an account. */
export type FlowKind = 'oauth' | 'link' | 'mail' | 'recovery';

/** A sign-in that this browser started and whose PKCE verifier still exists. */
export interface SignInFlow {
  readonly id: string;
  readonly kind: FlowKind;
  /** From an unsealed cookie: sanitize it before use. */
  readonly returnTo: string;
  /** The OAuth provider that it was started with; as unsealed. */
  readonly provider?: string | undefined;
  /** The fingerprint of a code whose exchange got no answer: it must not be sent again. */
  readonly spentCode?: string | undefined;
  /** What is known of its beginning. */
  readonly mark?: FlowMark | undefined;
}

/** `scripted`: a script's request started it, such as a poll of an old tab. `restarted`: a callback of another flow has started over. */
export type FlowMark = 'scripted' | 'restarted';

const marks: ReadonlyMap<string, FlowMark> = new Map([
  ['*', 'scripted'],
  ['!', 'restarted'],
]);

/** Whether it comes back from an OAuth provider, not from an email. */
export const isOfProvider = ({ kind }: Pick<SignInFlow, 'kind'>): boolean => kind === 'oauth' || kind === 'link';

/** The cookies that an SDK call has stored for a new flow. */
export interface StartedFlow {
  /** The flow whose verifier was stored, where one was. */
  readonly id: string | undefined;
  /** The flows whose verifiers remain. */
  readonly alive: ReadonlySet<string>;
  /** The verifiers' cookies. */
  readonly writes: readonly CookieWrite[];
}

export interface FlowCookies {
  /** Attributes of every cookie that a pending sign-in needs. */
  readonly attributes: Partial<CookieAttributes>;
  /** Newest first, because that flow is most likely to return. */
  pending(cookies: RequestCookies): readonly SignInFlow[];
  /**
   * The cookies that a new flow needs until its callback. Flows whose verifier the SDK has dropped,
   * or that take too many bytes, are deleted. Of a link its kind stays.
   *
   * @throws {AuthError} `rate_limited` where a script's flow has no room beside those of navigations: its URL could not lead to a session
   */
  remember(
    started: StartedFlow,
    flow: Pick<SignInFlow, 'kind' | 'provider' | 'returnTo' | 'mark'>,
    cookies: RequestCookies,
  ): readonly CookieWrite[];
  /** Records in a flow that a code was sent and got no answer. */
  markCodeSpent(flow: SignInFlow, spentCode: string): CookieWrite;
  /** Records that a callback has started over while this flow was open. */
  markRestarted(flow: SignInFlow): CookieWrite;
  /** Makes a flow of OAuth the one of the email that came in its place. */
  markMailed(flow: SignInFlow): CookieWrite;
  /** Deletes the cookie of a flow. */
  forget(flowId: string): CookieWrite;
  /** Deletes a flow and its verifier, whose code no one will send. */
  end(flowId: string): readonly CookieWrite[];
  /** All verifiers of this browser; a code can only be exchanged with one of them. */
  verifierNames(cookies: RequestCookies): readonly string[];
  /** Deletes the only flow and every verifier, where the SDK has not. */
  drop(flowId: string, cookies: RequestCookies): readonly CookieWrite[];
}

/** The maximum number of verifiers that auth-js keeps, and how many of them scripts may have started. */
export const maxFlows = 5;
const maxScripted = 2;
const noRoom = { reason: 'open_flows', retryAfter: 60 };

/** Bytes of all state cookies together: with a session they must stay below Node's 16 KB of headers. */
const maxStateBytes = 3072;
/** Browsers drop a cookie of over 4,096 bytes: of these, the rest is for its name, its attributes, and what is marked later. */
const maxOwnBytes = 3584;

/**
 * The state of a flow until its callback, in one HttpOnly cookie per flow, so that tabs do not
 * interfere. It is not sealed: it holds no secret, and its content is not trusted.
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

  const isScripted = (cookies: RequestCookies, id: string): boolean =>
    parse(cookies.get(nameOf(id))?.[0]).mark === 'scripted';

  const verifierNames = (cookies: RequestCookies): string[] =>
    [...cookies].filter(([name, values]) => verifierIn(storageKey, name, values) !== undefined).map(([name]) => name);

  return {
    attributes,
    pending: (cookies) =>
      verifierIds(storageKey, cookies)
        .reverse()
        .map((id) => ({ id, ...parse(cookies.get(nameOf(id))?.[0]) })),
    remember({ id, alive, writes }, flow, cookies) {
      if (id === undefined) return writes;
      const value = formatShort(flow);
      const others = stateIds(cookies).filter((other) => other !== id);
      const bytesOf = (other: string): number => encodeCookieValue(cookies.get(nameOf(other))?.[0] ?? '').length;
      const room = maxStateBytes - encodeCookieValue(value).length;
      const own = { name: nameOf(id), value, attributes };
      if (flow.mark === 'scripted') {
        const kept = keptBeside(verifierIds(storageKey, cookies), (other) => isScripted(cookies, other));
        if (kept === undefined || total(kept.map(bytesOf)) > room) throw new AuthError('rate_limited', noRoom);
        const gone = others.filter((other) => !kept.includes(other));
        return [...withVerifiers(storageKey, writes, [...kept, id], cookies), ...gone.map(forget), own];
      }
      const sizes = others.map((other) => ({ id: other, bytes: alive.has(other) ? bytesOf(other) : Infinity }));
      const left = (other: string): CookieWrite =>
        alive.has(other) ? { ...forget(other), value: leftOf(cookies.get(nameOf(other))?.[0]) } : forget(other);
      return [...writes, ...selectStale(sizes, room).map(left), own];
    },
    markCodeSpent: (flow, spentCode) => ({ name: nameOf(flow.id), value: format({ ...flow, spentCode }), attributes }),
    markRestarted: (flow) => ({ name: nameOf(flow.id), value: format({ ...flow, mark: 'restarted' }), attributes }),
    markMailed: ({ id, returnTo }) => ({ name: nameOf(id), value: format({ kind: 'mail', returnTo }), attributes }),
    forget,
    end: (id) => [{ name: slotName(storageKey, id), value: undefined, attributes }, forget(id)],
    verifierNames,
    drop: (id, cookies) => [
      ...verifierNames(cookies).map((name) => ({ name, value: undefined, attributes })),
      forget(id),
    ],
  };
}

/** What stays of a flow that takes too many bytes: of a link, that it is one. */
function leftOf(value: string | undefined): string | undefined {
  return parse(value).kind === 'link' ? format({ kind: 'link', returnTo: '' }) : undefined;
}

/**
 * The flows that stay beside a new one of a script: those of navigations, and the newest of other scripts.
 *
 * @returns `undefined` where those of navigations leave no room
 */
function keptBeside(ids: readonly string[], isScripted: (id: string) => boolean): readonly string[] | undefined {
  const navigated = ids.filter((id) => !isScripted(id));
  const room = Math.min(maxFlows - navigated.length, maxScripted);
  if (room < 1) return undefined;
  const scripted = ids.filter(isScripted);
  // First in the list, so that the SDK pushes them out first.
  return [...scripted.slice(Math.max(0, scripted.length - room + 1)), ...navigated];
}

/** The SDK's writes as if it had pushed out the others, and not the oldest. @param ids of the flows that stay, as the SDK's list has them */
function withVerifiers(
  storageKey: string,
  writes: readonly CookieWrite[],
  ids: readonly string[],
  cookies: RequestCookies,
): readonly CookieWrite[] {
  const list = `base64-${Buffer.from(JSON.stringify(ids)).toString('base64url')}`;
  const kept = writes.filter(({ value }) => value !== undefined);
  const [attributes] = kept.map((write) => write.attributes);
  const gone = verifierIds(storageKey, cookies).filter((id) => !ids.includes(id));
  return [
    ...kept.filter(({ name }) => name !== listName(storageKey)),
    ...gone.map((id) => ({ name: slotName(storageKey, id), value: undefined, ...(attributes && { attributes }) })),
    { name: listName(storageKey), value: list, ...(attributes && { attributes }) },
  ];
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

/** The ids to delete, so that the newest fit. */
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
 * The verifier in a cookie, in the form that the SDK writes. For every other form the SDK logs a
 * warning with a stack trace at each read.
 */
export function verifierIn(storageKey: string, name: string, values: readonly string[]): string | undefined {
  // Besides the flows' own: the list of flows, and the single verifier of older versions of auth-js.
  const others = [listName(storageKey), `${storageKey}-code-verifier`];
  const isVerifier = others.includes(name) || verifierFlowId(storageKey, name) !== undefined;
  return isVerifier ? values.find(isEncodedJson) : undefined;
}

function isEncodedJson(value: string): boolean {
  const [, encoded] = /^base64-([\w-]+)$/.exec(value) ?? [];
  return encoded !== undefined && parseEncodedJson(encoded) !== undefined;
}

/** The flows whose verifiers the request carries, in the order of the browser's cookies: oldest first. */
export function verifierIds(storageKey: string, cookies: RequestCookies): string[] {
  return [...cookies].flatMap(([name, values]) =>
    verifierIn(storageKey, name, values) === undefined ? [] : (verifierFlowId(storageKey, name) ?? []),
  );
}

/** auth-js' list of flows, oldest first. */
function listName(storageKey: string): string {
  return `${storageKey}-flows-code-verifier`;
}

function slotName(storageKey: string, id: string): string {
  return `${storageKey}-flow-${id}-code-verifier`;
}

/** The flow of a verifier's cookie; auth-js names it `<key>-flow-<id>-code-verifier`. */
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

/** Without its way back where a browser would drop the cookie: a link must stay one. */
function formatShort(flow: Omit<SignInFlow, 'id'>): string {
  const value = format(flow);
  return encodeCookieValue(value).length > maxOwnBytes ? format({ ...flow, returnTo: '' }) : value;
}

/** `kind:returnTo`, with a mark, `@provider` and `~spentCode` after the kind where they are known. A custom provider's colon is a dot there. */
function format({ kind, provider, spentCode, mark, returnTo }: Omit<SignInFlow, 'id'>): string {
  const sign = [...marks].find(([, known]) => known === mark)?.[0] ?? '';
  const from = provider === undefined ? '' : `@${provider.replace(':', '.')}`;
  return `${kind}${sign}${from}${spentCode === undefined ? '' : `~${spentCode}`}:${returnTo}`;
}

function parse(value = ''): Omit<SignInFlow, 'id'> {
  const end = value.indexOf(':');
  const [start = '', spentCode] = value.slice(0, Math.max(0, end)).split('~');
  const [signed = '', from] = start.split('@');
  const mark = marks.get(signed.slice(-1));
  const kind = mark === undefined ? signed : signed.slice(0, -1);
  const provider = from?.replace('.', ':');
  return {
    kind: kind === 'link' || kind === 'mail' || kind === 'recovery' ? kind : 'oauth',
    returnTo: value.slice(end + 1),
    provider,
    spentCode,
    mark,
  };
}
