import fc from 'fast-check';
import { paths, startResourceApp } from '../../support/resource-app.ts';
import type { ResourceApp } from '../../support/resource-app.ts';
import { sendRaw } from '../../support/raw-socket.ts';
import { hostNames } from '../../support/variant.ts';

const runs = Number(process.env['RAW_REQUEST_RUNS'] ?? 150);
const ada = { user: { email: 'ada@example.com' } };

/** What routers, file servers and proxies read in different ways. */
const pieces = [
  'mcp',
  'MCP',
  'tools',
  '%6dcp',
  '%6Dcp',
  'm%63p',
  '%256dcp',
  '.',
  '..',
  '%2e',
  '%2E%2e',
  '',
  '/',
  '//',
  '\\',
  '%2f',
  '%5c',
  ';',
  ';x',
  '?',
  '#',
  '%00',
  '%',
  '%zz',
  'é',
  '.well-known',
  'oauth-protected-resource',
  'ſ',
  '%c5%bf',
  ':',
  '::$DATA',
  'x',
];
const target = fc
  .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 7 })
  .chain((parts) => fc.constantFrom('/', '//', '').map((glue) => `/${parts.join(glue)}`))
  .map((path) => path.replaceAll(/[ \r\n]/g, ''));
const hostLine = fc.constantFrom(
  '127.0.0.1',
  'localhost:80',
  'evil.example.com',
  '[::1]',
  'a b',
  '',
  'x/y',
  'x@y',
  'x"',
  ':80',
  '..',
);
const authorization = fc.constantFrom(
  undefined,
  'Bearer',
  'Bearer ',
  'Bearer x',
  'Bearer x.y.z',
  'bearer  x',
  'Basic eDp5',
  'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1c2VyXzEifQ.',
  'Bearer eyJhbGciOiJIUzI1NiIsImtpZCI6IngifQ.eyJzdWIiOiJ1c2VyXzEifQ.c2ln',
  'Bearer , Bearer x',
  '\tBearer x',
);
const method = fc.constantFrom('GET', 'POST', 'OPTIONS', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'PROPFIND');

describe.each(hostNames)('on %s', (host) => {
  let app: ResourceApp;
  beforeAll(async () => {
    app = await startResourceApp({ host });
  });
  afterAll(() => app.close());

  it('no request without a good token reaches the handler, ends in a 5xx, or gets a cookie or a redirect', async () => {
    await fc.assert(
      fc.asyncProperty(target, hostLine, authorization, method, async (path, name, token, verb) => {
        const lines = [
          `${verb} ${path} HTTP/1.1`,
          `Host: ${name}`,
          ...(token === undefined ? [] : [`Authorization: ${token}`]),
        ];
        const { status, head, body } = await sendRaw(
          app.port,
          `${lines.join('\r\n')}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
        );
        const isFine = status < 500 && !/^(?:set-cookie|location):/im.test(head) && !body.includes('"info"');
        expect({ status, head, isFine }).toEqual({ status, head, isFine: true });
        const [, named] = /resource_metadata="(.*)"\r/.exec(head) ?? [];
        if (named !== undefined) expect(named).toMatch(/^http:\/\/[\w.[\]:-]+\/\.well-known\/[\w/-]+$/);
      }),
      { numRuns: runs },
    );
  });

  it('a token for what the Host header claims opens nothing', async () => {
    for (const name of [
      'evil.example.com',
      '127.0.0.1.evil.example.com',
      'localhost.evil.example.com',
      '127.1',
      '0.0.0.0',
      '[::2]',
    ]) {
      const audience = new URL(`http://${name}${paths.b2b}`).href;
      const isLoopback = new URL(audience).hostname === '127.0.0.1';
      const token = await app.kits.b2b.bearer(ada, { audience });
      const answer = await sendRaw(
        app.port,
        `GET ${paths.b2b} HTTP/1.1\r\nHost: ${name}\r\nAuthorization: ${token}\r\n\r\n`,
      );
      expect({ name, status: answer.status }).toEqual({ name, status: isLoopback ? answer.status : 401 });
    }
  });

  it('many first requests at once fetch the keys once, and all get in', async () => {
    const other = await startResourceApp({ host });
    let fetched = 0;
    const { fetch: answer } = other.kits.b2b.options;
    const counting = await startResourceApp({
      host,
      b2b: {
        fetch(input, init) {
          fetched += 1;
          return answer!(input, init);
        },
      },
    });
    const token = await other.kits.b2b.bearer(ada, { audience: counting.identifiers.b2b });
    const answers = await Promise.all(Array.from({ length: 50 }, () => counting.call('b2b', token)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(fetched).toBe(1);
    await Promise.all([other.close(), counting.close()]);
  });

  it('made-up tokens of unknown keys cause one fetch of keys, and no outage', async () => {
    const other = await startResourceApp({ host });
    const statuses = new Set<number>();
    for (let round = 0; round < 5; round += 1) {
      const foreign = (await startForeign()).replace('Bearer ', '');
      statuses.add((await other.call('b2b', `Bearer ${foreign}`)).status);
    }
    const good = await other.kits.b2b.bearer(ada, { audience: other.identifiers.b2b });
    expect([...statuses, (await other.call('b2b', good)).status]).toEqual([401, 200]);
    await other.close();

    async function startForeign(): Promise<string> {
      const { createB2bTestKit } = await import('../../../lib/testing/index.ts');
      return createB2bTestKit().bearer(ada, { audience: other.identifiers.b2b });
    }
  });

  it('a client that hangs up harms no one', async () => {
    const { connect } = await import('node:net');
    for (let round = 0; round < 10; round += 1) {
      await new Promise<void>((resolve) => {
        const socket = connect(app.port, '127.0.0.1', () => {
          socket.write(
            `POST ${paths.b2b} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer x.y.z\r\nContent-Length: 100\r\n\r\nabc`,
          );
          socket.destroy();
        });
        socket.on('close', () => resolve());
        socket.on('error', () => resolve());
      });
    }
    expect((await app.call('b2b')).status).toBe(401);
  });
});
