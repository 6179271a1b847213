import type { Request } from 'express';
import { withDeadline } from '../../tools/deadline.ts';
import { isRecord, isTooDeep } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/request.ts';
import { outOfTime } from '../supabase/connection.ts';
import type { SignUpOptions } from './options.ts';

/** Bytes of JSON: metadata is in every access token, and so in every cookie. */
const maxBytes = 4 * 1024;

/**
 * Asks `signUp.check` and `signUp.data`.
 *
 * @returns the user's metadata; `undefined` where there is none
 * @throws {AuthError} `invalid_request` for a body that is too deep to be written as JSON again; `form_refused` with the messages of
 * `check`, or for more than 4 KB; whatever the two functions throw, and an `Error` where they return something else than an object
 */
export async function readSignUpData(
  signUp: boolean | SignUpOptions,
  request: AuthRequest,
  fields: Fields,
): Promise<object | undefined> {
  if (typeof signUp === 'boolean') return undefined;
  const { check, data } = signUp;
  const req = bodyAsObject(request.req as Request, fields);
  if (isTooDeep(req.body)) throw new AuthError('invalid_request');
  const limited = (ask: () => unknown): Promise<unknown> =>
    withDeadline(async () => await ask(), request.definition.timeoutMs, outOfTime);
  const messages = messagesOf(await limited(() => check?.(req)));
  if (messages !== undefined) throw new AuthError('form_refused', { fields: messages });
  return metadataOf(await limited(() => data?.(req)));
}

/**
 * An application may have read the body as text or bytes, and an empty one not at all. Its functions see the address that is sent to
 * Supabase: they must not pass another spelling of one that they refuse.
 */
function bodyAsObject(req: Request, fields: Fields): Request {
  const body: unknown = req.body;
  const email = fields.get('email');
  if (!isRecord(body) || Buffer.isBuffer(body)) req.body = Object.fromEntries(fields);
  else if (email !== undefined && body['email'] !== email) req.body = { ...body, email };
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
  if (isRecord(found) && 'password' in found)
    throw new Error('signUp.data must not return the password; name the fields that you need');
  const json = JSON.stringify(found);
  if (Buffer.byteLength(json) > maxBytes) {
    throw new AuthError('form_refused', {
      message: 'This is too much text. Shorten what you entered.',
      reason: 'data_too_large',
    });
  }
  // As Supabase receives it: something else than was returned, where that has a `toJSON`.
  const stored: unknown = JSON.parse(json, withoutDangers);
  if (!isRecord(stored)) throw new Error('signUp.data must return an object');
  return stored;
}

const dangers: ReadonlySet<string> = new Set([
  // It would replace the prototype wherever the metadata is copied.
  '__proto__',
  // Metadata is no secret: it is in every token, and the user's browser may read it. A form's field `profile[password]` gets here, too.
  'password',
]);

function withoutDangers(key: string, value: unknown): unknown {
  return dangers.has(key) ? undefined : value;
}
