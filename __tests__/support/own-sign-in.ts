import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Router } from 'express';
import { AuthError, ConfigurationError } from '../../lib/errors.ts';
import { createNonce, takeNonce } from '../../lib/doors/store-session/nonce.ts';
import { requireSameOrigin, storeSession } from '../../lib/doors/store-session/index.ts';
import type { BackendTokens } from '../../lib/types.ts';
import type { Handler } from './handler-list.ts';
import { sendJson } from './hosts.ts';
import type { Host } from './hosts.ts';
import type { Answer, Visitor } from './visitor.ts';

/** What an application's own sign-in does, changed by the test between requests. */
export interface OwnSignIn {
  /** The tokens that it has. */
  tokens: unknown;
  returnTo?: unknown;
  /** Runs after `requireSameOrigin` and before `storeSession`. */
  before?: ((req: IncomingMessage, res: ServerResponse) => unknown) | undefined;
  /** Runs after `storeSession` and before the answer. */
  after?: (() => unknown) | undefined;
  /** Takes errors that came when the response was already sent. */
  late?: ((error: unknown) => void) | undefined;
}

/**
 * Routes of an application's own: `/own` signs in, `/own/nonce` makes a nonce, `/own/take` takes it; `/sent/…` do so too late. Errors are answered as
 * `{ code, reason, message }`.
 *
 * @param auth of the application that is about to start
 */
export function ownRoutes(host: Host, auth: () => Router, own: OwnSignIn): void {
  host.all(
    '/own',
    answering(own, async (req, res) => {
      requireSameOrigin(req);
      await own.before?.(req, res);
      // A text travels in the query, as every other one does.
      const returnTo = own.returnTo ?? new URL(req.url ?? '/', 'http://own').searchParams.get('returnTo');
      const answer = await storeSession(auth(), req, res, own.tokens as BackendTokens, { returnTo });
      await own.after?.();
      return answer;
    }),
  );
  host.all(
    '/own/nonce',
    answering(own, (req, res) => createNonce(req, res)),
  );
  host.all(
    '/own/take',
    answering(own, (req, res) => ({ nonce: takeNonce(req, res), again: takeNonce(req, res) })),
  );
  host.all(
    '/sent/create',
    answering(own, (req, res) => {
      res.end('sent');
      return createNonce(req, res);
    }),
  );
  host.all(
    '/sent/take',
    answering(own, (req, res) => {
      res.end('sent');
      return takeNonce(req, res);
    }),
  );
}

/** Signs in by `/own`. @param returnTo anything but a text stays in this process */
export async function storeBy(own: OwnSignIn, visitor: Visitor, tokens: unknown, returnTo?: unknown): Promise<Answer> {
  const isText = typeof returnTo === 'string';
  own.tokens = tokens;
  own.returnTo = isText ? undefined : returnTo;
  return visitor.postJson(isText ? `/own?${new URLSearchParams({ returnTo }).toString()}` : '/own');
}

/** The email of the session; `undefined` without one. */
export const whoIs = async (visitor: Visitor): Promise<unknown> => (await visitor.getJson('/whoami')).json.user?.email;

export const verdictOf = ({ status, json }: Answer): unknown[] => [status, json.code];

/** The verdict on tokens that are not stored. */
export const refused = [422, 'tokens_refused'];

/** Tokens that are refused store nothing, and the visitor's session stays. */
export async function expectUntouched(
  own: OwnSignIn,
  visitor: Visitor,
  tokens: unknown,
  expected: unknown[] = refused,
): Promise<Answer> {
  const email = await whoIs(visitor);
  expect(email).toBeDefined();
  const before = visitor.cookieHeader();
  const answer = await storeBy(own, visitor, tokens);
  expect([verdictOf(answer), answer.setCookies]).toEqual([expected, []]);
  expect(visitor.cookieHeader()).toBe(before);
  expect(await whoIs(visitor)).toBe(email);
  return answer;
}

function answering(own: OwnSignIn, work: (req: IncomingMessage, res: ServerResponse) => unknown): Handler {
  return (req, res) => {
    const answer = async (): Promise<void> => {
      try {
        const value = await work(req, res);
        if (!res.headersSent) sendJson(res, value);
      } catch (error) {
        if (res.headersSent) own.late?.(error);
        else sendJson(res, bodyOf(error), error instanceof AuthError ? error.status : 500);
      }
    };
    void answer();
  };
}

function bodyOf(error: unknown): object {
  if (error instanceof AuthError) return { code: error.code, reason: error.reason, message: error.message };
  return { code: error instanceof ConfigurationError ? error.code : 'thrown', message: String(error) };
}
