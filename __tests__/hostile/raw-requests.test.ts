import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import type { AuthRoute } from '../../lib/http/router.ts';
import { adapterOf } from '../../lib/http/adapter.ts';
import type { Router } from 'express';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { startB2bApp } from '../support/b2b-app.ts';
import { withoutOwnScript } from '../support/passkeys.ts';
import { startBackendApp } from '../support/backend-app.ts';
import { startBothApp } from '../support/both-app.ts';
import { fakeTimeoutSignals } from '../support/fake-timeouts.ts';
import {
  bodies,
  cookiesOf,
  halfBodies,
  headerLines,
  hosts,
  methods,
  targets,
  targetsOf,
} from '../support/hostile-input.ts';
import type { Host } from '../support/hosts.ts';
import { rawRequest, sendEndless, sendRaw } from '../support/raw-socket.ts';
import type { RawAnswer } from '../support/raw-socket.ts';
import type { RunningServer } from '../support/servers.ts';
import { describeWithoutParsers } from '../support/only.ts';
import { isExpress } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';
import { checkInputs } from '../support/inputs.ts';

interface Target extends RunningServer {
  /** Every own route, and pages of the application that ask for the session. */
  readonly routes: readonly string[];
  /** Routes that read the body of a POST. */
  readonly readers: readonly string[];
  readonly cookieNames: readonly string[];
}

type Start = (setup: Before) => Promise<Target>;

interface Before {
  readonly before?: (host: Host) => unknown;
}
const trusting: Before = { before: ({ express }) => express.set('trust proxy', true) };

/** The adapter's own routes, and what of them takes a POST. */
function routesOf(auth: Router) {
  const own: readonly Partial<AuthRoute>[] = [...(adapterOf(auth)?.ownPaths.values() ?? [])];
  const pathsOf = (routes: typeof own): string[] => routes.flatMap(({ path }) => path ?? []);
  return { all: pathsOf(own), posts: pathsOf(own.filter(({ post }) => post !== undefined)) };
}

const b2bRoutes = ['/login', '/signup', '/callback', '/logout', '/auth/session', '/auth/pages.css', '/dashboard/x'];
const backendCookies = [
  'sb-127-auth-token',
  'sb-127-auth-token-pending',
  'sb-127-auth-token-challenge',
  'sb-127-auth-token-ceremony',
];
const asking = ['/api/me', '/whoami'];
// All requests must reach the backend and not stop at the throttle.
const options: BackendAuthOptions = {
  throttle: false,
  signInMethods: ['password', 'code', 'passkey'],
  sso: true,
  oauthConsent: true,
};

const apps: readonly (readonly [string, Start])[] = [
  [
    'the B2B adapter',
    async (setup) => ({
      ...(await startB2bApp(setup)),
      routes: [...b2bRoutes, ...asking],
      readers: [],
      cookieNames: ['b2b-session'],
    }),
  ],
  [
    'the backend adapter',
    async (setup) => {
      const app = await startBackendApp({ ...setup, options });
      const { all, posts } = routesOf(app.auth);
      return {
        ...app,
        routes: [...all, '/account/x', ...asking, '/notes'],
        readers: posts,
        cookieNames: backendCookies,
      };
    },
  ],
  [
    'both adapters',
    async (setup) => {
      const app = await startBothApp({ ...setup, options });
      const { all, posts } = routesOf(app.auth);
      const guarded = ['/account/x', '/b2b/session', '/guard/b2b', '/guard/backend', '/whoami'];
      return {
        ...app,
        routes: [...new Set([...b2bRoutes, ...all, ...guarded])],
        readers: posts,
        cookieNames: ['b2b-session', ...backendCookies],
      };
    },
  ],
];

/** Forbidden outcomes: an undocumented 5xx, a crash, a hang. No answer at all means that Node refused the bytes. */
function expectSane(answer: RawAnswer, bytes: string): void {
  const isAllowed = answer.status < 500 || answer.status === 502 || answer.status === 503;
  if (!isAllowed) throw new Error(`${answer.status} for ${bytes.slice(0, 200)}\n${answer.body.slice(0, 500)}`);
  if (/<script/i.test(withoutOwnScript(answer.body))) throw new Error(`reflected: ${bytes.slice(0, 200)}`);
}

const close = 'Connection: close';

/** Everything but the timers that the adapters' time limits are made of. */
const realTimers = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
] as const;

/** Starts an application for the tests of a block. `survives` sends it bytes, and throws where its answer is a forbidden one. */
function useApp(start: Start, setup: Before): { app: () => Target; survives: (bytes: string) => Promise<void> } {
  let target: Target;
  beforeAll(async () => {
    target = await start(setup);
  });
  afterAll(() => target.close());
  afterEach(async () => {
    expect((await createVisitor(target.origin).get('/')).text).toBe('home');
  });
  return {
    app: () => target,
    survives: async (bytes) => expectSane(await sendRaw(target.port, bytes), bytes),
  };
}

describe.each(apps)('bytes that no browser sends, for %s', (_name, start) => {
  const { app, survives } = useApp(start, {});

  it.each(methods)('%s on every route', async (method) => {
    for (const route of app().routes) await survives(rawRequest(method, route, [close]));
  });

  it('targets', async () => {
    for (const path of [...targets, ...app().routes.flatMap(targetsOf)]) {
      for (const method of ['GET', 'POST']) await survives(rawRequest(method, path, [close]));
    }
  });

  it('cookies', async () => {
    for (const cookie of app().cookieNames.flatMap(cookiesOf)) {
      for (const route of app().routes) {
        for (const method of ['GET', 'POST']) await survives(rawRequest(method, route, [`Cookie: ${cookie}`, close]));
      }
      await survives(rawRequest('GET', '/callback?code=x&state=y', [`Cookie: ${cookie}`, close]));
      await survives(rawRequest('GET', '/auth/callback?code=x', [`Cookie: ${cookie}`, close]));
    }
  });

  it('bodies', async () => {
    for (const [headers, body] of bodies) {
      for (const route of answering(app())) await survives(rawRequest('POST', route, [...headers, close], body));
    }
  });

  it('random input of a generator', async () => {
    const junk = fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.replace(/[\r\n]/g, ''));
    await checkInputs(
      fc.asyncProperty(
        fc.constantFrom(...methods),
        fc.constantFrom(...app().routes),
        fc.constantFrom(...app().cookieNames),
        junk,
        junk,
        junk,
        async (method, route, name, query, cookie, accept) => {
          const line = Buffer.from(
            rawRequest(method, `${route}?returnTo=${query.replaceAll(' ', '')}`, [
              `Cookie: ${name}=${cookie}`,
              `Accept: ${accept}`,
              close,
            ]),
            'utf8',
          ).toString('latin1');
          await survives(line);
        },
      ),
      { least: 150, variable: 'RAW_REQUEST_RUNS' },
    );
  });
});

// Express believes a proxy in these headers alone.
describe.each(
  apps.flatMap(([name, start]) => [
    [name, 'without trust proxy', start, {}] as const,
    ...(isExpress ? [[name, 'with trust proxy', start, trusting] as const] : []),
  ]),
)('headers that no browser sends, for %s %s', (_name, _title, start, setup) => {
  const { app, survives } = useApp(start, setup);

  it('hosts, in Host and in forwarded headers', async () => {
    for (const host of hosts) {
      for (const route of app().routes) {
        for (const method of ['GET', 'POST']) {
          await survives(rawRequest(method, route, [`Host: ${host}`, 'Origin: http://x', close]));
          const forwarded = [`X-Forwarded-Host: ${host}`, `X-Forwarded-Proto: ${host}`, 'X-Forwarded-For: ,,,'];
          await survives(rawRequest(method, route, [...forwarded, close]));
        }
      }
    }
    for (const route of app().routes) {
      await survives(`GET ${route} HTTP/1.1\r\n${close}\r\n\r\n`);
      await survives(`GET ${route} HTTP/1.0\r\n\r\n`);
      await survives(`GET ${route} HTTP/1.1\r\nHost: a\r\nHost: b\r\n${close}\r\n\r\n`);
    }
  });

  it('negotiation and metadata headers', async () => {
    for (const line of headerLines) {
      for (const route of app().routes) {
        await survives(rawRequest('GET', route, [line, close]));
        await survives(rawRequest('POST', route, [line, close]));
      }
    }
  });
});

/** Not the pages of the application that know no POST: before its own 404, Express reads a body to its end. */
const answering = ({ routes }: Target): string[] => routes.filter((route) => route !== '/whoami' && route !== '/notes');

describeWithoutParsers.each(apps)('a body that never ends, for %s', (_name, start) => {
  let app: Target;
  let arrived = 0;
  beforeAll(async () => {
    app = await start({
      before: (host) =>
        host.use((_req, _res, next) => {
          arrived += 1;
          next();
        }),
    });
  });
  afterAll(() => app.close());

  it('is cut off at 16 KB if it is read, and otherwise ignored', async () => {
    for (const route of answering(app)) {
      for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain']) {
        const head = rawRequest('POST', route, [`Content-Type: ${type}`, 'Transfer-Encoding: chunked']);
        const answer = await sendEndless(app.port, head, `1000\r\n${'a'.repeat(4096)}\r\n`);
        expectSane(answer, head);
        if (app.readers.includes(route)) expect(answer.status).toBe(type === 'text/plain' ? 415 : 413);
        // Only the bytes in transit when the answer is sent.
        expect(answer.bytesTaken).toBeLessThan(4 * 1024 * 1024);
      }
    }
  });

  it('does not delay the answer of a route that needs no body', async () => {
    for (const [headers, body] of halfBodies) {
      for (const route of answering(app).filter((each) => !app.readers.includes(each))) {
        await sendRaw(app.port, rawRequest('POST', route, headers, body)).then((answer) => expectSane(answer, route));
      }
    }
  });

  it('is aborted after ten seconds by a route that needs it, and the connection is closed', async () => {
    const before = arrived;
    // Only the adapter's own time limit; sockets and everything else keep their real timers.
    jest.useFakeTimers({ doNotFake: [...realTimers] });
    fakeTimeoutSignals();
    try {
      const asked = app.readers.flatMap((route) =>
        halfBodies.map(async ([headers, body]) => ({
          route,
          ...(await sendRaw(app.port, rawRequest('POST', route, headers, body), 60_000)),
        })),
      );
      while (arrived < before + asked.length) await new Promise((resolve) => setImmediate(resolve));
      await jest.advanceTimersByTimeAsync(10_000);
      for (const { route, status, head } of await Promise.all(asked)) {
        expect([route, status]).toEqual([route, 400]);
        expect(head).toMatch(/\r\nconnection: close/i);
      }
    } finally {
      jest.restoreAllMocks();
      jest.useRealTimers();
    }
  });
});
