import { withDeadline } from '../tools/deadline.ts';
import { isRecord, maxAnswerBytes, parseJson, readText } from '../tools/json.ts';
import { isLoopback } from '../tools/url.ts';
import type { DoctorContext } from './environment.ts';
import type { Add } from './report.ts';

export type Reply =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly text: string;
      /** Milliseconds since the epoch, by the `Date` header. */
      readonly serverTime: number | undefined;
    }
  | { readonly kind: 'unreachable'; readonly reason: string };

/**
 * One request, within the time limit, without following redirects.
 *
 * @param body of a POST, as JSON; default: a GET
 */
export async function ask(
  url: string,
  { fetch, timeoutMs }: Pick<DoctorContext, 'fetch' | 'timeoutMs'>,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Reply> {
  const post = body === undefined ? {} : { method: 'POST', body };
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const send = async (signal: AbortSignal) => {
    const init = { signal, redirect: 'manual', headers: { accept: 'application/json', ...type, ...headers } } as const;
    const response = await fetch(url, { ...init, ...post });
    const date = Date.parse(response.headers.get('date') ?? '');
    const serverTime = Number.isNaN(date) ? undefined : date;
    const text = await readText(response, maxAnswerBytes);
    return { kind: 'answered' as const, status: response.status, text, serverTime };
  };
  try {
    return await withDeadline(send, timeoutMs, () => new Error(`no answer within ${timeoutMs} ms`));
  } catch (error) {
    return { kind: 'unreachable', reason: explain(error) };
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name does not exist, or there is no DNS here (ENOTFOUND)',
  EAI_AGAIN: 'DNS does not answer (EAI_AGAIN)',
  ECONNREFUSED: 'nothing listens there (ECONNREFUSED)',
  ECONNRESET: 'the connection was cut (ECONNRESET)',
  UND_ERR_SOCKET: 'the connection was cut (UND_ERR_SOCKET)',
  ETIMEDOUT: 'the connection timed out (ETIMEDOUT)',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out (UND_ERR_CONNECT_TIMEOUT)',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak https on that port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak https on that port',
};

/** Other messages may quote the request: undici's message for a malformed header contains the whole header, including the key. */
const isHarmless = /^(?:no answer within \d+ ms|bad port|The answer is larger than \d+ bytes)$/;

/** A failed connection in plain words; `fetch failed` alone does not tell the cause. */
export function explain(error: unknown): string {
  const errors = causesOf(error);
  const codes = errors.flatMap(({ code }) => (typeof code === 'string' ? [code] : []));
  const known = codes.map((code) => reasons[code]).find((reason) => reason !== undefined);
  if (known !== undefined) return known;
  if (codes.some((code) => /CERT|SELF_SIGNED|UNABLE_TO_|TLS|SSL/.test(code))) {
    return `its TLS certificate is not trusted (${codes.join(', ')})`;
  }
  const messages = errors.flatMap(({ message }) => (typeof message === 'string' ? [message] : []));
  return codes[0] ?? messages.find((message) => isHarmless.test(message)) ?? 'the connection failed';
}

/** What to do about a provider that does not answer. @param host with its port */
export function unreachableFix(host: string, elsewhere: string): string {
  const isHere = isLoopback(host.replace(/:\d+$/, ''));
  return isHere ? 'Start it; for the local stand-ins: npx express-auth-adapters providers' : elsewhere;
}

function causesOf(error: unknown, depth = 0): readonly Readonly<Record<string, unknown>>[] {
  if (typeof error !== 'object' || error === null || depth > 4) return [];
  const { cause, errors } = error as Readonly<Record<string, unknown>>;
  const below = [...(Array.isArray(errors) ? (errors as unknown[]) : []), cause];
  return [error as Readonly<Record<string, unknown>>, ...below.flatMap((each) => causesOf(each, depth + 1))];
}

/** `undefined` where it is not a JSON object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  return isRecord(value) ? value : undefined;
}

/** Algorithms of a JWKS document (RFC 7517 §5); `undefined` where the reply is not a key set. */
export function algorithmsOf(reply: Reply): readonly string[] | undefined {
  const keys = reply.kind === 'answered' && reply.status === 200 ? parseObject(reply.text)?.['keys'] : undefined;
  if (!Array.isArray(keys)) return undefined;
  const names = keys.map((key: unknown) => {
    const { alg, kty } = isRecord(key) ? key : {};
    return [alg, kty].find((name) => typeof name === 'string') ?? 'unknown';
  });
  return [...new Set(names)];
}

/** Clock difference in seconds above which the doctor reports a problem; the adapters allow 5. */
const allowedSkew = 5;

/** Reports a clock that differs from the provider's `Date` header, which has whole seconds. */
export function checkClock(reply: Reply, now: () => number, add: Add): void {
  if (reply.kind !== 'answered' || reply.serverTime === undefined) return;
  const skewSeconds = Math.round((now() - reply.serverTime) / 1000);
  if (Math.abs(skewSeconds) <= allowedSkew) return;
  const direction = skewSeconds > 0 ? 'ahead of' : 'behind';
  add('problem', 'clock', `This machine's clock is ${Math.abs(skewSeconds)} seconds ${direction} the provider's`, {
    fix: 'Synchronize it (NTP): tokens would be refused as expired or not yet valid.',
    values: { skewSeconds },
  });
}
