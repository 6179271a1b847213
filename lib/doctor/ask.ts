import { withDeadline } from '../core/deadline.ts';
import type { DoctorContext } from './finding.ts';

export type Reply =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly text: string;
      readonly serverTime: number | undefined;
    }
  | { readonly kind: 'unreachable'; readonly reason: string };

/** One GET, within the time limit, without following redirects. */
export async function ask(
  url: string,
  { fetch, timeoutMs }: Pick<DoctorContext, 'fetch' | 'timeoutMs'>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  try {
    return await withDeadline(
      async (signal) => {
        const response = await fetch(url, {
          signal,
          redirect: 'manual',
          headers: { accept: 'application/json', ...headers },
        });
        const date = Date.parse(response.headers.get('date') ?? '');
        return {
          kind: 'answered' as const,
          status: response.status,
          text: await response.text(),
          serverTime: Number.isNaN(date) ? undefined : date,
        };
      },
      timeoutMs,
      () => new Error(`no answer within ${timeoutMs} ms`),
    );
  } catch (error) {
    return { kind: 'unreachable', reason: explain(error) };
  }
}

/** A failed connection in plain words; `fetch failed` alone does not help. */
export function explain(error: unknown): string {
  const codes = codesOf(error);
  const known = codes.map((code) => reasons[code]).find((reason) => reason !== undefined);
  if (known !== undefined) return known;
  if (codes.some((code) => /CERT|SELF_SIGNED|UNABLE_TO_|TLS|SSL/.test(code))) {
    return `its TLS certificate is not trusted (${codes.join(', ')})`;
  }
  return codes[0] ?? messagesOf(error).find((message) => isHarmless.test(message)) ?? 'the connection failed';
}

/** Other messages may quote what was sent: undici's for a malformed header holds the whole header, key included. */
const isHarmless = /^(?:no answer within \d+ ms|bad port)$/;

function messagesOf(error: unknown, depth = 0): readonly string[] {
  if (!(error instanceof Error) || depth > 4) return [];
  return [error.message, ...messagesOf(error.cause, depth + 1)];
}

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name does not exist, or there is no DNS here (ENOTFOUND)',
  EAI_AGAIN: 'DNS does not answer (EAI_AGAIN)',
  ECONNREFUSED: 'nothing listens there (ECONNREFUSED)',
  ECONNRESET: 'the connection was cut (ECONNRESET)',
  ETIMEDOUT: 'the connection timed out (ETIMEDOUT)',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out (UND_ERR_CONNECT_TIMEOUT)',
  UND_ERR_SOCKET: 'the connection was cut (UND_ERR_SOCKET)',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak https on that port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak https on that port',
};

function codesOf(error: unknown, depth = 0): readonly string[] {
  if (typeof error !== 'object' || error === null || depth > 4) return [];
  const own = 'code' in error && typeof error.code === 'string' ? [error.code] : [];
  const several = error instanceof AggregateError ? error.errors.flatMap((each) => codesOf(each, depth + 1)) : [];
  return [...own, ...several, ...('cause' in error ? codesOf(error.cause, depth + 1) : [])];
}

/** `undefined` for whatever is no JSON object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
