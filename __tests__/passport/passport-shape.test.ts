import { jest } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { passportShape } from '../../lib/passport/index.ts';
import type { PassportRequest, PassportShapeOptions } from '../../lib/passport/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendJson } from '../support/hosts.ts';

interface Row {
  readonly name: string;
}

interface OldRequest extends PassportRequest<Row> {
  login(user: Row, done?: (error: Error) => void): void;
  logIn(user: Row, done?: (error: Error) => void): void;
  logout(done?: (error: Error) => void): void;
  logOut(options: object, done?: (error: Error) => void): void;
}

let provider: SharedProvider;
let app: B2bApp | undefined;
beforeAll(async () => {
  provider = await startProvider();
});
afterEach(async () => {
  await app?.close();
  app = undefined;
});
afterAll(() => provider.close());

const ada = demoUsers.personal;
const adaOnly = ({ user }: { readonly user: { readonly id: string } }): Row | null =>
  user.id === ada.id ? { name: 'Ada' } : null;

/** What a route after the middleware answers, and an error handler. */
async function start(
  options: Partial<PassportShapeOptions<Row>>,
  answer: (req: OldRequest, res: { readonly locals?: { readonly user?: unknown } }) => unknown,
  before: Handler = (_req, _res, next) => next(),
): Promise<B2bApp> {
  app = await startB2bApp({
    provider,
    after: (host) => {
      host.use(before);
      host.use(passportShape<Row>({ load: adaOnly, ...options }));
      host.get('/old', (req, res) => sendJson(res, answer(req as IncomingMessage as OldRequest, res)));
      host.onError((_error, req, res) => sendJson(res, answer(req as IncomingMessage as OldRequest, res), 500));
    },
  });
  return app;
}

function fail(): never {
  throw new Error('no table');
}

const shape = (req: OldRequest, res: { readonly locals?: { readonly user?: unknown } }): unknown => [
  req.user ?? null,
  res.locals?.user ?? null,
  req.isAuthenticated(),
  req.isUnauthenticated(),
];

describe('passportShape', () => {
  it('sets the user that load returns, and the two questions', async () => {
    const visitor = await (await start({}, shape)).signedIn();
    expect((await visitor.get('/old')).json).toEqual([{ name: 'Ada' }, { name: 'Ada' }, true, false]);
  });

  it('sets no user without a session, and does not ask load', async () => {
    const load = jest.fn(adaOnly);
    const visitor = (await start({ load }, shape)).visitor();
    expect((await visitor.get('/old')).json).toEqual([null, null, false, true]);
    expect(load).not.toHaveBeenCalled();
  });

  it.each([
    ['null', () => null],
    ['a promise of null', () => Promise.resolve(null)],
    ['undefined', () => undefined],
    ['false', () => false as const],
    ['a promise of false', () => Promise.resolve(false as const)],
  ])('sets no user where load returns %s', async (_what, load) => {
    const visitor = await (await start({ load }, shape)).signedIn();
    expect((await visitor.get('/old')).json).toEqual([null, null, false, true]);
  });

  it('leaves a public page up in an outage, and tells who asks that it does not know', async () => {
    const asked = (req: OldRequest, question: 'isAuthenticated' | 'isUnauthenticated'): unknown => {
      try {
        return req[question]();
      } catch (error) {
        return (error as { status?: number }).status;
      }
    };
    const { clock, workos, ...started } = await start({}, (req, res) => [
      req.user ?? null,
      res.locals?.user ?? null,
      asked(req, 'isAuthenticated'),
      asked(req, 'isUnauthenticated'),
    ]);
    const visitor = await started.signedIn();
    clock.advance(3600_000);
    workos.switches.outage = { token: 'refuse' };
    try {
      const answer = await visitor.get('/old');
      expect([answer.status, answer.json]).toEqual([200, [null, null, 503, 503]]);
    } finally {
      workos.switches.outage = {};
    }
  });

  it('asks load once per request, with the session and the request', async () => {
    const load = jest.fn((_session: unknown, req: IncomingMessage) => ({ name: String(req.url) }));
    const visitor = await (await start({ load, adapter: 'b2b' }, shape)).signedIn();
    expect((await visitor.get('/old')).json).toMatchObject([{ name: '/old' }, {}, true, false]);
    expect(load.mock.calls.filter(([, req]) => req.url === '/old')).toHaveLength(1);
  });

  it.each<[string, Partial<PassportShapeOptions<Row>>]>([
    ['where load throws', { load: fail }],
    ['where load rejects', { load: () => Promise.reject(new Error('no table')) }],
    ['where the adapter is not mounted', { adapter: 'backend' }],
  ])('passes on the error %s, as a request without a user', async (_what, options) => {
    const forged: Handler = (req, _res, next) => {
      Object.assign(req, { user: { name: 'forged' }, isAuthenticated: () => true });
      next();
    };
    const visitor = await (await start(options, shape, forged)).signedIn();
    const { status, json } = await visitor.get('/old');
    expect([status, json]).toEqual([500, [null, null, false, true]]);
  });

  it('passes on the error where it cannot set the user', async () => {
    const locked: Handler = (req, _res, next) => {
      Object.defineProperty(req, 'user', { get: () => ({ name: 'forged' }) });
      next();
    };
    const answer = (req: OldRequest): unknown => req.user;
    const visitor = await (await start({}, answer, locked)).signedIn();
    expect((await visitor.get('/old')).status).toBe(500);
  });

  it('says what to use instead of login and logout, by their callback or by throwing', async () => {
    const messages = (req: OldRequest): string[] => {
      const said: string[] = [];
      const note = (error: Error): void => void said.push(error.message);
      req.login({ name: 'x' }, note);
      req.logIn({ name: 'x' }, note);
      req.logout(note);
      req.logOut({}, note);
      for (const call of [() => req.login({ name: 'x' }), () => req.logout()]) {
        try {
          call();
        } catch (error) {
          note(error as Error);
        }
      }
      return said;
    };
    const visitor = (await start({}, messages)).visitor();
    const said = (await visitor.get('/old')).json as string[];
    expect(said.map((text) => text.split(':', 1)[0])).toEqual([
      ...['req.login', 'req.login', 'req.logout', 'req.logout', 'req.login', 'req.logout'],
    ]);
    expect(said[0]).toContain('storeSession()');
    expect(said[2]).toContain('/logout');
  });

  it.each([
    [undefined, 'load'],
    [{}, 'load'],
    [{ load: 'user' }, 'load'],
    [{ load: adaOnly, adapter: 'workos' }, 'adapter'],
  ])('refuses the options %j', (options, name) => {
    expect(() => passportShape(options as unknown as PassportShapeOptions<Row>)).toThrow(name);
  });
});
