import type { Request } from 'express';
import { withDeadline } from '../core/deadline.ts';
import { isRecord } from '../core/json.ts';
import { AuthError } from '../errors.ts';
import type { Fields } from '../http/body.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { outOfTime } from './connection.ts';
import type { SignUpOptions } from './account-hooks.ts';

/** Bytes of JSON: metadata is in every access token, and so in every cookie. */
const maxBytes = 4 * 1024;

/**
 * Asks `signUp.check` and `signUp.data`.
 *
 * @returns the user's metadata; `undefined` where there is none
 * @throws {AuthError} `form_refused` with the messages of `check`, or for more than 4 KB; whatever the two functions throw, and
 * an `Error` where they return something else than an object
 */
export async function readSignUpData(
  signUp: boolean | SignUpOptions,
  request: AuthRequest,
  fields: Fields,
): Promise<object | undefined> {
  if (typeof signUp === 'boolean') return undefined;
  const { check, data } = signUp;
  const req = bodyAsObject(request.req as Request, fields);
  const limited = (ask: () => unknown): Promise<unknown> =>
    withDeadline(async () => await ask(), request.definition.timeoutMs, outOfTime);
  const messages = messagesOf(await limited(() => check?.(req)));
  if (messages !== undefined) throw new AuthError('form_refused', { fields: messages });
  return metadataOf(await limited(() => data?.(req)));
}

/** An application may have read the body as text or bytes, and an empty one not at all. */
function bodyAsObject(req: Request, fields: Fields): Request {
  const body: unknown = req.body;
  if (!isRecord(body) || Buffer.isBuffer(body)) req.body = Object.fromEntries(fields);
  return req;
}

function messagesOf(found: unknown): Readonly<Record<string, string>> | undefined {
  if (found === undefined || found === null) return undefined;
  const messages = isRecord(found) ? Object.entries(found).filter(([, message]) => message !== undefined) : undefined;
  if (messages?.every((entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '') !== true) {
    throw new Error('signUp.check must return null, or an object with a message for each refused field');
  }
  return messages.length === 0 ? undefined : Object.fromEntries(messages);
}

function metadataOf(found: unknown): object | undefined {
  if (found === undefined || found === null) return undefined;
  if (!isRecord(found)) throw new Error('signUp.data must return an object');
  // Metadata is no secret: it is in every token, and the user's browser may read it.
  if ('password' in found) throw new Error('signUp.data must not return the password; name the fields that you need');
  const json = JSON.stringify(found);
  if (Buffer.byteLength(json) > maxBytes) {
    throw new AuthError('form_refused', {
      message: 'This is too much text. Shorten what you entered.',
      reason: 'data_too_large',
    });
  }
  // As Supabase receives it. A key of this name would replace the prototype wherever the metadata is copied.
  return JSON.parse(json, (key, value: unknown) => (key === '__proto__' ? undefined : value)) as object;
}
