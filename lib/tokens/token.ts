import { isRecord } from '../core/json.ts';

/** A decoded JWT (RFC 7519) whose signature has **not** been checked. */
export interface Token {
  readonly text: string;
  /** Nothing where it cannot be read; the claims likewise. */
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** `undefined` for what is not written exactly in the compact form: what to make of it is left to jose. */
  readonly signed: SignedText | undefined;
}

/** The two halves of the compact form (RFC 7515 §7.1). */
export interface SignedText {
  /** Header and claims as they were sent. */
  readonly text: string;
  readonly signature: Buffer;
}

const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const utf8 = new TextDecoder('utf-8', { fatal: true });
const nothing: Readonly<Record<string, unknown>> = Object.freeze({});

/** What a token says of itself: without trust, for session ids and lifetimes, never for access. */
export function readToken(text: string): Token {
  const [encodedHeader, encodedClaims] = text.split('.', 2);
  const header = parseObject(encodedHeader);
  const claims = parseObject(encodedClaims);
  const isReadable = header !== undefined && claims !== undefined;
  const signed = isReadable && compactForm.test(text) ? takeApart(text) : undefined;
  return { text, header: header ?? nothing, claims: claims ?? nothing, signed };
}

const sessionIdForm = /^[\x21-\x7e]{1,100}$/;

/** A provider's session id as a claim has it; `undefined` for what could not be one, or could forge a line in a log. */
export function readSessionId(claim: unknown): string | undefined {
  return typeof claim === 'string' && sessionIdForm.test(claim) ? claim : undefined;
}

function takeApart(token: string): SignedText {
  const end = token.lastIndexOf('.');
  return { text: token.slice(0, end), signature: Buffer.from(token.slice(end + 1), 'base64url') };
}

function parseObject(encoded = ''): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(Buffer.from(encoded, 'base64url')));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
