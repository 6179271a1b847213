import type { RequestListener } from 'node:http';
import { b2bAuth, backendAuth, requireSession } from '../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import { hosts, sendText } from '../support/hosts.ts';
import type { Handler } from '../support/handler-list.ts';
import { serve } from '../support/servers.ts';
import { hostNames } from '../support/variant.ts';
import type { HostName } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';

const b2bKit = createB2bTestKit();
const backendKit = createBackendTestKit();

/** As an application without TypeScript may return it. */
type Answered = (session: unknown, req: unknown) => never;

const adapters = {
  b2b: {
    cookie: () => b2bKit.cookie(),
    auth: (accept: Answered) => b2bAuth({ ...b2bKit.options, accept, protectedRoutes: '/page' }),
  },
  backend: {
    cookie: () => backendKit.cookie(),
    auth: (accept: Answered) => backendAuth({ ...backendKit.options, accept, protectedRoutes: '/page' }),
  },
};

const refusals = [undefined, null, false, 0, '', 'true', 1, {}, [], Object(true)] as const;
const failures = [new Error('down'), undefined, null, false, 0, '', 'route', 'router'] as const;

const secret: Handler = (_req, res) => sendText(res, 'SECRET');

function listenerOf(hostName: HostName, auth: Handler): RequestListener {
  const host = hosts[hostName]();
  host.use(auth);
  host.use('/guarded', requireSession as Handler);
  host.use(secret);
  host.onError((_error, _req, res) => sendText(res, 'failed', 500));
  return host.listener;
}

describe.each(hostNames)('on %s', (hostName) => {
  describe.each(['b2b', 'backend'] as const)('with %s', (name) => {
    async function answersOf(accept: Answered): Promise<unknown[]> {
      const server = await serve(listenerOf(hostName, adapters[name].auth(accept) as Handler));
      try {
        const cookie = await adapters[name].cookie();
        const answers: unknown[] = [];
        for (const [path, type] of [
          ['/page', 'text/html'],
          ['/guarded', 'text/html'],
          ['/guarded', 'application/json'],
        ] as const) {
          const { status, text } = await createVisitor(server.origin).get(path, { headers: { accept: type, cookie } });
          answers.push(text === 'SECRET' ? 'in' : status);
        }
        return answers;
      } finally {
        await server.close();
      }
    }

    it('only true accepts, also as a promise', async () => {
      expect(await answersOf(() => true as never)).toEqual(['in', 'in', 'in']);
      expect(await answersOf(() => Promise.resolve(true) as never)).toEqual(['in', 'in', 'in']);
    });

    it.each(refusals.map((value) => [value]))('%p refuses', async (value) => {
      expect(await answersOf(() => value as never)).toEqual([403, 403, 403]);
      expect(await answersOf(() => Promise.resolve(value) as never)).toEqual([403, 403, 403]);
    });

    it.each(failures.map((value) => [value]))(
      'a throw of %p, or a rejection, keeps every request out',
      async (value) => {
        const raise = (): never => {
          throw value as Error;
        };
        expect(await answersOf(raise)).toEqual([500, 500, 500]);
        expect(await answersOf((async () => raise()) as unknown as Answered)).toEqual([500, 500, 500]);
      },
    );
  });
});
