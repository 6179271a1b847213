import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConfigurationError } from '../errors.ts';
import type { AdapterName } from '../types.ts';
import type { Adapter } from './adapter.ts';
import { AuthRequest } from './request.ts';
import { isRival, passedTwice } from './mount/mounts.ts';

/** Returns the object that it is given, so that a class which extends it adds its private fields to that object. */
const Given = function (given: object): object {
  return given;
} as unknown as new (given: object) => object;

/**
 * A request with its first `AuthRequest`, which links to the others. Other code cannot read, replace or print a private field, and
 * copies of the request and objects derived from it do not have it. A symbol is as fast, but other code finds it. A `WeakMap` would do the
 * same in a line, but costs garbage collection 8 microseconds a request, twice what Express and the adapter take without a network.
 */
class PassedRequest extends Given {
  readonly #first: AuthRequest;

  constructor(first: AuthRequest) {
    super(first.req);
    this.#first = first;
  }

  static firstOf(req: object): AuthRequest | undefined {
    return #first in req ? req.#first : undefined;
  }
}

/** The `AuthRequest` of the first adapter that the request passed. */
export function firstAuthRequest(req: IncomingMessage): AuthRequest | undefined {
  return PassedRequest.firstOf(req);
}

/**
 * The `AuthRequest`s of the named adapter, or of all where none is named, in mount order. Two adapters of one name have users of
 * their own, so that a session of one must not pass as the other's, even where the application goes on after the second one's error.
 *
 * @param caller the called function's name, for the message
 * @throws {ConfigurationError} where the request has passed two adapters of the name, or one that is mounted wrongly
 */
export function passedAs(req: IncomingMessage, adapter: AdapterName | undefined, caller: string): AuthRequest[] {
  const found: AuthRequest[] = [];
  for (let request = firstAuthRequest(req); request !== undefined; request = request.following) {
    const { definition } = request;
    if (adapter !== undefined && definition.adapter !== adapter) continue;
    const rival = found.find((other) => isRival(other.definition, definition));
    if (rival !== undefined) throw new ConfigurationError(caller, [passedTwice(definition)]);
    if (request.misuse !== undefined) throw request.misuse;
    found.push(request);
  }
  return found;
}

/** Records that the request passes the adapter, or `protectResource` without `prefix`; returns the same object when it passes again. */
export function passAdapter(
  definition: Adapter,
  req: IncomingMessage,
  res: ServerResponse,
  prefix?: string,
): AuthRequest {
  let last: AuthRequest | undefined;
  for (let known = firstAuthRequest(req); known !== undefined; known = known.following) {
    const isSame = prefix === undefined || known.prefix === prefix || !known.isMounted;
    if (known.definition === definition && isSame) return known;
    last = known;
  }
  const request = new AuthRequest(definition, req, res, prefix ?? '', last);
  request.isMounted = prefix !== undefined;
  if (last === undefined) new PassedRequest(request);
  else last.following = request;
  return request;
}
