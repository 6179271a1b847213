import { isRecord } from '../core/json.ts';

/** A decoded JWT (RFC 7519) whose signature has **not** been checked. */
export interface Token {
  readonly text: string;
  /** Nothing where it cannot be read; the claims likewise. */
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Whether it is written in the compact form (RFC 7515 §7.1), with readable header and claims. */
  readonly isCompact: boolean;
}

const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const utf8 = new TextDecoder('utf-8', { fatal: true });
const nothing: Readonly<Record<string, unknown>> = Object.freeze({});

/** What a token says of itself: without trust, for session ids and lifetimes, never for access. */
export function readToken(text: string): Token {
  const [encodedHeader, encodedClaims] = text.split('.', 2);
  const header = parseObject(encodedHeader);
  const claims = parseObject(encodedClaims);
  const isCompact = header !== undefined && claims !== undefined && compactForm.test(text);
  return { text, header: header ?? nothing, claims: claims ?? nothing, isCompact };
}

const sessionIdForm = /^[\x21-\x7e]{1,100}$/;

/** A provider's session id as a claim has it; `undefined` for what could not be one, or could forge a line in a log. */
export function readSessionId(claim: unknown): string | undefined {
  return typeof claim === 'string' && sessionIdForm.test(claim) ? claim : undefined;
}

function parseObject(encoded = ''): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(Buffer.from(encoded, 'base64url')));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
