import { isRecord } from './is-record.ts';

/** A JWT in its compact form (RFC 7515 §7.1), taken apart and not believed. */
export interface TokenParts {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** What was signed: header and claims as they were sent. */
  readonly signed: string;
  readonly signature: Buffer;
}

const compactForm = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** `undefined` for what is not written exactly so: what to make of it is left to jose. */
export function takeApart(token: string): TokenParts | undefined {
  const [, encodedHeader, encodedClaims, signature] = compactForm.exec(token) ?? [];
  const header = parseObject(encodedHeader);
  const claims = parseObject(encodedClaims);
  if (header === undefined || claims === undefined || signature === undefined) return undefined;
  return {
    header,
    claims,
    signed: token.slice(0, -signature.length - 1),
    signature: Buffer.from(signature, 'base64url'),
  };
}

/** What a token says of itself, without trust: for session ids and lifetimes, never for access. */
export function peekClaims(token: string): Readonly<Record<string, unknown>> {
  return parseObject(token.split('.')[1]) ?? {};
}

/** The same of how it was signed. */
export function peekHeader(token: string): Readonly<Record<string, unknown>> {
  return parseObject(token.split('.')[0]) ?? {};
}

function parseObject(encoded = ''): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(Buffer.from(encoded, 'base64url')));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
