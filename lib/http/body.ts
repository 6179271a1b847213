import type { IncomingMessage, ServerResponse } from 'node:http';
import { withDeadline } from '../tools/deadline.ts';
import { isTooDeep } from '../tools/json.ts';
import { AuthError } from '../errors.ts';
import { useExpress } from './express.ts';

/** The text fields of a form or a JSON object, and `credential`, whatever it is, as JSON text; other values are dropped. */
export type Fields = ReadonlyMap<string, string>;

/** Bytes: enough for any sign-in form, and small enough to be harmless. */
const maxBytes = 16 * 1024;
const maxWaitMs = 10_000;

let parsers: Readonly<Record<MediaType, Parser>> | undefined;

/** No inflating: clients do not compress a sign-in form, and a few bytes can inflate to many. */
function createParsers(): Readonly<Record<MediaType, Parser>> {
  const express = useExpress();
  const limits = { limit: maxBytes, inflate: false };
  return {
    json: express.json(limits),
    form: express.urlencoded({ ...limits, extended: false, parameterLimit: 100 }),
  };
}

/** A request after a body parser, ours or the application's. */
interface ParsedRequest extends IncomingMessage {
  body?: unknown;
  /** Under HTTP/2. */
  readonly stream?: { readonly endAfterHeaders: boolean };
}

/**
 * Reads the text fields of a POST, whether or not the application has parsed the body; without a
 * body there are no fields. Only own properties count: nothing is inherited or coerced.
 *
 * @throws {AuthError} `unsupported_media_type`, `payload_too_large`, or `invalid_request` for a malformed or endless body
 */
export async function readFields(req: IncomingMessage, res: ServerResponse): Promise<Fields> {
  if (!hasBody(req)) return new Map();
  const { 'content-length': length } = req.headers;
  const type = mediaType(req);
  if (type !== undefined && Number(length) > maxBytes) throw new AuthError('payload_too_large');
  const fields = fieldsOf(type === undefined ? parsedBody(req) : await bodyOf(req, res, type));
  if (sizeOf(fields) > maxBytes) throw new AuthError('payload_too_large');
  return fields;
}

function hasBody(req: ParsedRequest): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || Number(length ?? 0) !== 0 || isFramed(req);
}

/** Whether HTTP/2's own frames say where the body ends (RFC 9113 §8.1.1). One without a type may be an empty frame. */
function isFramed({ headers, stream }: ParsedRequest): boolean {
  return (
    stream?.endAfterHeaders === false &&
    headers['content-length'] === undefined &&
    headers['content-type'] !== undefined
  );
}

type MediaType = 'json' | 'form';

function mediaType(req: IncomingMessage): MediaType | undefined {
  const [type = ''] = (req.headers['content-type'] ?? '').split(';', 1);
  switch (type.trim().toLowerCase()) {
    case 'application/json':
      return 'json';
    case 'application/x-www-form-urlencoded':
      return 'form';
    default:
      return undefined;
  }
}

/**
 * What the application's own parser made of a type that we do not read, such as a multipart form; files are not in it.
 *
 * @throws {AuthError} `unsupported_media_type`
 */
function parsedBody({ readableEnded, body }: ParsedRequest): object {
  const isParsed = readableEnded && typeof body === 'object' && body !== null && !Buffer.isBuffer(body);
  if (!isParsed) throw new AuthError('unsupported_media_type');
  return body;
}

async function bodyOf(req: ParsedRequest, res: ServerResponse, type: MediaType): Promise<unknown> {
  // A parser for another type may have left an empty object and an unread body.
  if (!req.readableEnded) await parse((parsers ??= createParsers())[type], req, res);
  // Behind some function platforms a request is complete before it is read, and no parser reads it.
  const { body } = req;
  if (Buffer.isBuffer(body)) return decode(body.toString('utf8'), type);
  return typeof body === 'string' ? decode(body, type) : body;
}

type Parser = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

function parse(parser: Parser, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const parsed = (): Promise<void> =>
    new Promise((resolve, reject) => {
      // The parsers know HTTP/1 only, and ask for its headers before they wait for anything.
      if (isFramed(req)) req.headers['transfer-encoding'] = 'chunked';
      parser(req, res, (error) => {
        if (error === undefined) resolve();
        else reject(asAuthError(error));
      });
      if (isFramed(req)) delete req.headers['transfer-encoding'];
      // The parser reports a body that is too large only at its end, and it may never end.
      let bytes = 0;
      req.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) reject(new AuthError('payload_too_large'));
      });
    });
  return withDeadline(parsed, maxWaitMs, () => new AuthError('invalid_request'));
}

function asAuthError(cause: unknown): AuthError {
  const status = typeof cause === 'object' && cause !== null && 'status' in cause ? cause.status : undefined;
  if (status === 413) return new AuthError('payload_too_large', { cause });
  if (status === 415) return new AuthError('unsupported_media_type', { cause });
  return new AuthError('invalid_request', { cause });
}

/** For applications that read every body as text or bytes. */
function decode(text: string, type: MediaType): unknown {
  if (type === 'form') return Object.fromEntries(new URLSearchParams(text));
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AuthError('invalid_request', { cause });
  }
}

function fieldsOf(body: unknown): Fields {
  if (body === undefined || body === null) return new Map();
  if (typeof body !== 'object' || Array.isArray(body)) throw new AuthError('invalid_request');
  const entries: readonly (readonly [string, unknown])[] = Object.entries(body);
  return new Map(
    entries.flatMap(([name, value]) => {
      const text = name === 'credential' ? credentialText(value) : value;
      if (text === undefined || text === null) return [];
      // What is no text, or comes twice, is there and empty: a POST without it may mean something else.
      return [[name, typeof text === 'string' ? text : ''] as const];
    }),
  );
}

/** What is JSON in a script's body, a form's hidden field has as text. It is never read as no answer, whatever it is. */
function credentialText(value: unknown): unknown {
  if (typeof value === 'string') return value;
  if (isTooDeep(value)) throw new AuthError('invalid_request');
  return JSON.stringify(value);
}

function sizeOf(fields: Fields): number {
  let bytes = 0;
  for (const [name, value] of fields) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  return bytes;
}
