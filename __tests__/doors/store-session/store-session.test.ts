import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import express from 'express';
import type { Router } from 'express';
import { b2bAuth } from '../../../lib/b2b/index.ts';
import { backendAuth, requireSameOrigin, storeSession } from '../../../lib/backend/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../../lib/testing/index.ts';
import type { AuthEvent, BackendTokens } from '../../../lib/types.ts';
import { serve } from '../../support/servers.ts';

const tokens: BackendTokens = { access_token: 'a', refresh_token: 'b' };
const kit = createBackendTestKit();
const events: AuthEvent[] = [];
const createAuth = (): Router => backendAuth({ ...kit.options, onEvent: (event) => events.push(event) });

beforeEach(() => {
  events.length = 0;
});

/** What a route throws behind these handlers, as text; `undefined` where it throws nothing. */
async function thrownBy(
  handlers: readonly express.RequestHandler[],
  route: (req: IncomingMessage, res: ServerResponse) => unknown,
): Promise<string | undefined> {
  let thrown: string | undefined;
  const app = express();
  for (const handler of handlers) app.use(handler);
  // Goes on after the error of a second adapter.
  app.use(((_error, _req, _res, next) => next()) satisfies express.ErrorRequestHandler);
  app.use(async (req, res) => {
    await Promise.resolve()
      .then(() => route(req, res))
      .catch((error: unknown) => (thrown = String(error)));
    res.end();
  });
  const server = await serve(app);
  await fetch(server.origin);
  await server.close();
  return thrown;
}

/** Where no search of the application's stack finds it. */
const hidden =
  (auth: Router): express.RequestHandler =>
  (req, res, next) =>
    auth(req, res, next);

const storing =
  (auth: Router) =>
  (req: IncomingMessage, res: ServerResponse): Promise<unknown> =>
    storeSession(auth, req, res, tokens);

describe('storeSession', () => {
  it.each([undefined, null, {}, () => undefined, express.Router()])('takes %p for no adapter', async (auth) => {
    const req = new IncomingMessage(new Socket());
    await expect(storeSession(auth as Router, req, new ServerResponse(req), tokens)).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: 'storeSession: the first argument must be what b2bAuth() or backendAuth() returned',
    });
  });

  const missing = 'ConfigurationError: storeSession: no adapter has seen this request; mount';
  const b2b = b2bAuth(createB2bTestKit().options);

  it.each<[string, string, Router, readonly express.RequestHandler[]]>([
    ['no adapter is', 'backendAuth()', createAuth(), []],
    ['another adapter of its name is', 'backendAuth()', createAuth(), [createAuth()]],
    ['the adapter of the other provider is', 'b2bAuth()', b2b, [createAuth()]],
  ])('is an error where %s mounted before', async (_what, name, auth, handlers) => {
    expect(await thrownBy(handlers, storing(auth))).toBe(`${missing} ${name} with app.use() before it`);
  });

  it('is an error where the request has passed two adapters of one name', async () => {
    const auth = createAuth();
    expect(await thrownBy([hidden(auth), hidden(createAuth())], storing(auth))).toMatch(
      /^ConfigurationError: storeSession: backendAuth\(\) is mounted twice, and this request has passed both/,
    );
  });

  it('is an error with the response to another request', async () => {
    const auth = createAuth();
    const other = new ServerResponse(new IncomingMessage(new Socket()));
    expect(await thrownBy([auth], (req) => storeSession(auth, req, other, tokens))).toBe(
      'ConfigurationError: storeSession: res must be the response to req',
    );
  });

  it('is an error where the response is already sent', async () => {
    const auth = createAuth();
    const late = (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
      res.flushHeaders();
      return storeSession(auth, req, res, tokens);
    };
    expect(await thrownBy([auth], late)).toMatch(/^ConfigurationError: storeSession: the headers .* are already sent/);
    expect(events).toEqual([]);
  });

  it('reports a sign-in that failed, with its code, and no sign-in that was stored', async () => {
    const auth = createAuth();
    expect(await thrownBy([auth], storing(auth))).toMatch(/^AuthError: /);
    const reason = expect.any(String) as string;
    expect(events).toEqual([{ adapter: 'backend', type: 'sign_in_failed', code: 'tokens_refused', reason }]);
    events.length = 0;
    const good = await kit.tokens();
    expect(await thrownBy([auth], (req, res) => storeSession(auth, req, res, good))).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual(['signed_in']);
  });
});

describe('requireSameOrigin', () => {
  it('is an error where no adapter is mounted before', async () => {
    expect(await thrownBy([], (req) => requireSameOrigin(req))).toBe(
      'ConfigurationError: requireSameOrigin: no adapter has seen this request; mount b2bAuth() or backendAuth() with app.use() before it',
    );
  });

  it('is an error where the request has passed two adapters of one name', async () => {
    const handlers = [hidden(createAuth()), hidden(createAuth())];
    expect(await thrownBy(handlers, (req) => requireSameOrigin(req))).toMatch(
      /^ConfigurationError: requireSameOrigin: backendAuth\(\) is mounted twice/,
    );
  });
});
