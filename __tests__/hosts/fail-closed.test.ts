import type { RequestListener } from 'node:http';
import { b2bAuth, requireSession } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions, RequireSessionOptions } from '../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { hosts, sendText } from '../support/hosts.ts';
import type { Handler } from '../support/handler-list.ts';
import { serve } from '../support/servers.ts';
import { hostNames } from '../support/variant.ts';
import type { HostName } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer } from '../support/visitor.ts';

const kit = createB2bTestKit();

/** What this host answers behind these handlers; an error that reaches the host is a 500. */
async function answerOf(
  hostName: HostName,
  handlers: readonly Handler[],
  path: string,
  cookie?: string,
): Promise<Answer> {
  const server = await serve(listenerOf(hostName, handlers));
  try {
    const headers = { accept: 'application/json', ...(cookie === undefined ? {} : { cookie }) };
    return await createVisitor(server.origin).get(path, { headers });
  } finally {
    await server.close();
  }
}

/** Any value where the types expect an error. */
const reject = async (value: unknown): Promise<never> => raise(value);
const raise = (value: unknown): never => {
  throw value as Error;
};
const secret: Handler = (_req, res) => sendText(res, 'SECRET');

function listenerOf(hostName: HostName, handlers: readonly Handler[]): RequestListener {
  const host = hosts[hostName]();
  for (const handler of handlers) host.use(handler);
  host.onError((_error, _req, res) => sendText(res, 'failed', 500));
  return host.listener;
}

const adapter = (options: B2bAuthOptions = {}): Handler => b2bAuth({ ...options, ...kit.options }) as Handler;
/** As an application without TypeScript may call it. */
const guard = (options: object): Handler => requireSession(options as RequireSessionOptions) as Handler;

const refusals: readonly (readonly [string, () => unknown])[] = [undefined, null, false, 0, '', NaN, 0n].map(
  (value) => [String(value), () => value] as const,
);
const noBooleans: readonly (readonly [string, () => unknown])[] = [1, 'yes', {}, [], Symbol('true'), Object(true)].map(
  (value) => [`a truthy ${typeof value}`, () => value] as const,
);
const falsyFailures = [undefined, null, false, 0, '', 'route', 'router'];

describe.each(hostNames)('on %s', (hostName) => {
  const behind = async (options: object, adapterOptions?: B2bAuthOptions): Promise<Answer> =>
    answerOf(hostName, [adapter(adapterOptions), guard(options), secret], '/x', await kit.cookie());

  it('a check that returns true, also as a promise, lets a session pass', async () => {
    expect((await behind({ check: () => true })).text).toBe('SECRET');
    expect((await behind({ check: () => Promise.resolve(true) })).text).toBe('SECRET');
  });

  it.each([...refusals, ...noBooleans])('only true passes a check: %s', async (_what, check) => {
    expect((await behind({ check })).status).toBe(403);
    expect((await behind({ check: () => Promise.resolve(check()) })).status).toBe(403);
  });

  it.each(falsyFailures)('a check that throws %j, or rejects with it, keeps the request out', async (failure) => {
    for (const check of [() => raise(failure), () => reject(failure)]) {
      const answer = await behind({ check });
      expect([answer.status, answer.text]).toEqual([500, 'failed']);
    }
  });

  it.each(falsyFailures)('an onError that passes on %j keeps the request out', async (failure) => {
    const onErrors: unknown[] = [
      (_error: unknown, _req: unknown, _res: unknown, next: (value?: unknown) => void) => next(failure),
      () => reject(failure),
      () => raise(failure),
    ];
    for (const onError of onErrors) {
      const options = { onError } as B2bAuthOptions;
      const refused = await behind({ check: () => false }, options);
      expect([refused.status, refused.text]).toEqual([500, 'failed']);
      const signedOut = await answerOf(hostName, [adapter(options), guard({}), secret], '/x');
      expect([signedOut.status, signedOut.text]).toEqual([500, 'failed']);
      const ownRoute = await answerOf(hostName, [adapter(options), secret], '/auth/session');
      expect([ownRoute.status, ownRoute.text]).toEqual([500, 'failed']);
    }
  });

  it.each(falsyFailures)('a hook that throws %j refuses the sign-in and does not continue', async (failure) => {
    const onSignIn = (): never => raise(failure);
    const server = await serve(listenerOf(hostName, [adapter({ onSignIn }), secret]));
    try {
      const visitor = createVisitor(server.origin);
      const start = await visitor.get('/login');
      const done = await visitor.get(kit.authorize(start.location));
      expect([done.status, done.text]).toEqual([500, 'failed']);
      expect((await visitor.getJson('/auth/session')).status).toBe(401);
    } finally {
      await server.close();
    }
  });

  it('an onError that calls next twice continues once', async () => {
    let count = 0;
    const onError = (error: unknown, _req: unknown, _res: unknown, next: (error?: unknown) => void): unknown => {
      next(error);
      next();
      return reject(new Error('after that'));
    };
    const counted: Handler = (req, res, next) =>
      guard({})(req, res, (error) => {
        count += 1;
        next(error);
      });
    expect((await answerOf(hostName, [adapter({ onError }), counted, secret], '/x')).text).toBe('failed');
    expect(count).toBe(1);
  });
});
