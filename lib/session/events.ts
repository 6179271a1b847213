import { channel } from 'node:diagnostics_channel';
import type { Channel } from 'node:diagnostics_channel';
import createDebug from 'debug';
import { AnswerTooLarge, defined } from '../tools/json.ts';
import type { CoordinatorFailure } from '../tools/coordinator-failure.ts';
import { causeOf } from '../errors.ts';
import type { AuthError } from '../errors.ts';
import type {
  AdapterName,
  AuthEvent,
  CoordinatorReason,
  OnEvent,
  RefreshMessage,
  SignInMessage,
  VerifyMessage,
} from '../types.ts';

type EventBody = AuthEvent extends infer E ? (E extends AuthEvent ? Omit<E, 'adapter'> : never) : never;

/**
 * Reports an event to the application; a listener that throws or rejects has no effect.
 *
 * @param startedAt of a sign-in: when its request arrived, as a `performance.now()` value
 */
export type Emit = (event: EventBody, startedAt?: number) => void;

/** Logs a decision with `DEBUG=express-auth-adapters*`. Never pass secrets. */
export interface Explain {
  (format: string, ...values: (string | number | boolean | undefined | Readonly<Record<string, unknown>>)[]): void;
  /** Whether anything is printed. */
  readonly enabled?: boolean;
}

/** Whether `DEBUG` is on for an adapter of this process. */
export let isExplaining = false;

export function createExplain(adapter: AdapterName): Explain {
  const explain = createDebug(`express-auth-adapters:${adapter}`);
  if (explain.enabled) isExplaining = true;
  return explain;
}

/** How long an identical warning is suppressed, in milliseconds. */
const warningMs = 60_000;

export function createEmit(
  adapter: AdapterName,
  onEvent: OnEvent | undefined,
  explain: Explain,
  now: () => number = Date.now,
): Emit {
  // A listener may be async, whatever its type says; its rejection must not end the process.
  const listen: ((event: AuthEvent) => unknown) | undefined = onEvent;
  /** The time of each warning; the texts are constants. */
  const warnings = new Map<string, number>();

  function isRepeated(body: EventBody): boolean {
    if (body.type !== 'configuration_warning') return false;
    const at = warnings.get(body.message);
    if (at !== undefined && Math.abs(now() - at) < warningMs) return true;
    warnings.set(body.message, now());
    return false;
  }

  return (body, startedAt) => {
    if (isRepeated(body)) return;
    if (startedAt !== undefined) tellSignIn(adapter, body, startedAt);
    const { type, ...fields } = body;
    explain('%s %j', type, fields);
    warnOperator(adapter, body);
    if (listen === undefined) return;
    const quietly = (failure: unknown): void => {
      explain('onEvent failed: %s', failure instanceof Error ? failure.message : typeof failure);
    };
    try {
      Promise.resolve(listen({ ...body, adapter })).catch(quietly);
    } catch (error) {
      quietly(error);
    }
  };
}

/** The message of a warning that only operators can act on. */
export const staleKeys =
  'backendAuth: Supabase refused a token whose signature its own published keys confirm (bad_jwt), as some of its processes do after a rotation of the signing keys, or where clocks differ; check BAAS_URL, and rotate the keys once more or restart Supabase Auth where it lasts';

type OperatorCause = 'provider_refused' | 'token_rejected' | 'keys_unavailable' | 'clocks_differ' | 'keys_rotated';

/** Problems that only operators can fix, with the settings to check first. */
const operatorTexts: Readonly<Record<AdapterName, Readonly<Record<Exclude<OperatorCause, 'keys_rotated'>, string>>>> = {
  b2b: {
    provider_refused:
      'WorkOS refused a request, as it does with a wrong or revoked key; check B2B_API_KEY and B2B_CLIENT_ID',
    token_rejected: 'a token that WorkOS issued failed verification; check B2B_CLIENT_ID and the option issuer',
    keys_unavailable:
      'the keys that sign tokens could not be fetched; check B2B_API_HOSTNAME (B2B_AUTHKIT_DOMAIN, if a protected resource asks) and whether the server can reach it',
    clocks_differ:
      'a user signed in at a time that is in the future here: the clock of this server is behind that of WorkOS; set it by NTP',
  },
  backend: {
    provider_refused:
      'Supabase refused a request, as it does with a wrong or revoked key; check BAAS_ANON_KEY (or BAAS_PUBLISHABLE_KEY) and BAAS_URL',
    token_rejected:
      'a token that Supabase issued failed verification; check BAAS_URL, the option issuer, and that a hook for access tokens keeps the claim amr',
    keys_unavailable:
      'the keys that sign tokens could not be fetched; check BAAS_URL and whether the server can reach it',
    clocks_differ:
      'a user signed in at a time that is in the future here: the clock of this server is behind that of Supabase; set it by NTP',
  },
};

const refusalCauses = ['provider_refused', 'token_rejected'] as const;

const warned = new Set<string>();

/** One process warning per cause, so that operators see it without a listener. */
function warnOperator(adapter: AdapterName, body: EventBody): void {
  const cause = operatorCauseOf(body);
  if (cause === undefined) return;
  const reason: unknown = Reflect.get(body, 'reason');
  warnOfCause(adapter, cause, typeof reason === 'string' && reason !== cause ? reason : undefined);
}

/** Each adapter's provider, while it is silent: when that was reported, by `performance.now()`, and whether it answered since. */
const silences = new Map<AdapterName, { readonly at: number; readonly isOver: boolean }>();

/**
 * For a call that got no answer: only the call itself knows, because a callback's query can say the same of the provider. Once in an
 * outage, and once a minute at most.
 *
 * @param url that was called
 * @param failure what the call failed with; an answer that is too large is one, and a user's own data can make it so
 */
export function warnOfSilence(adapter: AdapterName, url: string, failure: unknown): void {
  if (failure instanceof AnswerTooLarge) return;
  const last = silences.get(adapter);
  const isReported = last !== undefined && (!last.isOver || performance.now() - last.at < warningMs);
  silences.set(adapter, { at: isReported ? last.at : performance.now(), isOver: false });
  if (isReported) return;
  const { provider, setting } = adapter === 'b2b' ? workosApi : supabaseProject;
  const text = `${nameOf(adapter)}: ${provider} at ${URL.parse(url)?.host} did not answer${networkCauseOf(failure)}; check ${setting} and whether the server can reach it. To find out more: npx express-auth-adapters doctor`;
  process.emitWarning(text, { code: 'EXPRESS_AUTH_ADAPTERS_PROVIDER_UNREACHABLE' });
}

const workosApi = { provider: 'WorkOS', setting: 'B2B_API_HOSTNAME' };
const supabaseProject = { provider: 'the Supabase project', setting: 'BAAS_URL' };

/** For an answer of the provider: its next silence is another outage. */
export function noteAnswer(adapter: AdapterName): void {
  const last = silences.get(adapter);
  if (last?.isOver === false) silences.set(adapter, { ...last, isOver: true });
}

/** What the network said, such as ` (ECONNREFUSED)`; messages may quote the request. */
function networkCauseOf(failure: unknown, depth = 0): string {
  if (typeof failure !== 'object' || failure === null || depth > 4) return '';
  const { code, name, cause }: { code?: unknown; name?: unknown; cause?: unknown } = failure;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return ` (${code})`;
  return name === 'TimeoutError' || name === 'AbortError' ? ' in time' : networkCauseOf(cause, depth + 1);
}

/** For a verified token whose sign-in is in the future. */
export function warnOfClocks(adapter: AdapterName): void {
  warnOfCause(adapter, 'clocks_differ');
}

/** What a user of Redis needs. `__tests__/scale/redis-acl.test.ts` grants exactly that. */
const grants = {
  coordinator: '+hget +eval +time +hset +hmget +hdel +pexpire +pttl on the keys ~<keyPrefix>:*',
  throttle: '+eval +set +incrby +pttl +expire +multi +exec +del on the keys ~<throttle.keyPrefix>:*',
};

const coordinatorTexts: Readonly<Record<Exclude<CoordinatorReason, 'unavailable'>, string>> = {
  not_permitted: 'does not permit its user what is needed; grant',
  not_authenticated: 'does not accept the user name or password of the client; check them, or REDIS_URL',
  read_only: 'is a read-only replica; connect the client to the master',
  refused: 'refuses to work; check its memory, its disk and its replicas',
  unreadable:
    'holds what cannot be read; check that all processes have the same password, or a keyPrefix that no other program uses',
};

/** For a Redis that answers, and refuses. */
export function warnOfCoordinator(
  adapter: AdapterName,
  part: keyof typeof grants,
  { reason, answer, command }: CoordinatorFailure,
): void {
  if (reason === 'unavailable') return;
  const said = [answer, command].filter((word) => word !== undefined).join(' ');
  const what = part === 'throttle' ? "the throttle's Redis" : 'the coordinator';
  const granted = reason === 'not_permitted' ? ` ${grants[part]}` : '';
  const text = `${what}${said === '' ? '' : ` answered ${said}: it`} ${coordinatorTexts[reason]}${granted}`;
  warnOnce(adapter, `${part}_${reason}`, `${nameOf(adapter)}: ${text}. See docs/scaling.md`);
}

/**
 * Each reason is a cause of its own: what one user's data makes the provider refuse must not hide a revoked key.
 *
 * @param reason one of the provider's codes, or of our own; never a text that a request chose
 */
function warnOfCause(adapter: AdapterName, cause: OperatorCause, reason?: string): void {
  const text = cause === 'keys_rotated' ? staleKeys : `${nameOf(adapter)}: ${operatorTextOf(adapter, cause, reason)}`;
  const more = `${text}. To find out more: npx express-auth-adapters doctor`;
  warnOnce(adapter, cause, more, reason);
}

function operatorTextOf(adapter: AdapterName, cause: Exclude<OperatorCause, 'keys_rotated'>, reason?: string): string {
  const text = operatorTexts[adapter][cause];
  if (reason === undefined) return text;
  const provider = adapter === 'b2b' ? 'WorkOS' : 'Supabase';
  if (cause === 'provider_refused') return `${provider} refused a request with ${reason}; check its settings`;
  return text.replace('failed verification', `failed verification (${reason})`);
}

const nameOf = (adapter: AdapterName): string => (adapter === 'b2b' ? 'b2bAuth' : 'backendAuth');

const warningKey = (adapter: AdapterName, cause: string, reason = ''): string => `${adapter} ${cause} ${reason}`;

/** Whether a warning of this process has told why. */
export function isWarnedOf(adapter: AdapterName, { code, reason, cause }: AuthError): boolean {
  const told = refusalCauses.find((each) => each === code || each === reason);
  if (told !== undefined) return warned.has(warningKey(adapter, told, reason === told ? undefined : reason));
  // Not what a callback's query says of the provider, which has no cause here.
  return code === 'provider_unavailable' && cause !== undefined && silences.get(adapter)?.isOver === false;
}

function warnOnce(adapter: AdapterName, cause: string, text: string, reason?: string): void {
  const key = warningKey(adapter, cause, reason);
  if (warned.has(key)) return;
  warned.add(key);
  process.emitWarning(text, { code: `EXPRESS_AUTH_ADAPTERS_${cause.toUpperCase()}` });
}

function operatorCauseOf(body: EventBody): OperatorCause | undefined {
  if (body.type === 'keys_unavailable') return body.type;
  // By the whole message: a code is also in a callback's query, which anyone can write. So is the reason of a failed sign-in.
  if (body.type === 'configuration_warning') return body.message === staleKeys ? 'keys_rotated' : undefined;
  const reason: unknown = body.type === 'sign_in_failed' ? undefined : Reflect.get(body, 'reason');
  const said: readonly unknown[] = [Reflect.get(body, 'code'), reason];
  return refusalCauses.find((cause) => said.includes(cause));
}

export function signInFailed(error: unknown): EventBody {
  return { type: 'sign_in_failed', ...causeOf(error) };
}

/** A provider's code, if it has the form of one; its texts never reach an event. */
export function fitForEvent(code: string): string | undefined {
  return /^[\w.-]{1,64}$/.test(code) ? code : undefined;
}

/** A message of any channel, without the duration. */
interface Message extends Pick<SignInMessage, 'adapter'> {
  readonly outcome: (RefreshMessage | VerifyMessage | SignInMessage)['outcome'];
  readonly code?: string;
  readonly reason?: string;
}

/** How a call ended; a refusal says why. */
type Ended<Kind extends string, Refusal extends string> =
  { readonly kind: Kind } | { readonly kind: Refusal; readonly reason: string };

/** Publishes how long a call took and how it ended; without a subscriber it only calls. */
type Measure<Possible> = <Result extends Possible>(
  adapter: AdapterName,
  call: () => Promise<Result>,
) => Promise<Result>;

// Channels are global by name; Node's documentation recommends looking each one up once.
const signInChannel = channel('express-auth-adapters:sign-in');

export const measureRefresh: Measure<Ended<'renewed', 'ended'>> = measureOn(channel('express-auth-adapters:refresh'));

export const measureVerify: Measure<Ended<'live' | 'expired' | 'unverifiable', 'invalid'>> = measureOn(
  channel('express-auth-adapters:verify'),
);

function measureOn(to: Channel): Measure<{ readonly kind: Message['outcome']; readonly reason?: string }> {
  return async (adapter, call) => {
    if (!to.hasSubscribers) return call();
    // Monotonic: a change of the system clock does not affect the duration.
    const startedAt = performance.now();
    try {
      const result = await call();
      tell(to, { adapter, outcome: result.kind, ...defined({ reason: result.reason }) }, startedAt);
      return result;
    } catch (error) {
      tell(to, { adapter, outcome: 'failed', ...causeOf(error) }, startedAt);
      throw error;
    }
  };
}

/** A sign-in is measured when its event is emitted. */
function tellSignIn(adapter: AdapterName, body: EventBody, startedAt: number): void {
  if (!signInChannel.hasSubscribers) return;
  if (body.type === 'signed_in') tell(signInChannel, { adapter, outcome: 'signed_in' }, startedAt);
  if (body.type !== 'sign_in_failed') return;
  const { code, reason } = body;
  tell(signInChannel, { adapter, outcome: 'failed', code, ...defined({ reason }) }, startedAt);
}

function tell(to: Channel, message: Message, startedAt: number): void {
  to.publish({ ...message, durationMs: performance.now() - startedAt });
}
