import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { connect } from 'node:net';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import express5 from 'express';
import type { Response } from 'express';
import fc from 'fast-check';
import { createPathMatcher } from '../../lib/tools/paths/path-matcher.ts';
import { checkInputs } from '../support/inputs.ts';

// The alias comes without types of its own.
const express4 = createRequire(import.meta.url)('express4') as typeof express5;

/** What a server answers from behind a pattern; the matcher of that pattern must know every target that gets it. */
const secretOf = (pattern: string) => `SECRET<${pattern}>`;
const asked = [
  '/dashboard',
  '/dashboard/7',
  '/Admin',
  '/team',
  '/team/ann/edit',
  '/acme/settings',
  '/a/b/c',
  '/vault',
  '/vault/x',
];
const stored: Record<string, string> = {
  '/dashboard/secret.html': 'root/dashboard/secret.html',
  '/docs/Plan.html': 'root/docs/Plan.html',
  '/café/menü.html': 'root/café/menü.html',
  '/vault/(.*)': 'root/vault/deep/key.html',
  '/safe/(.*)': 'root/safe/index.html',
  '/:space/files/report.html': 'space/files/report.html',
  '/:a/:b/deep/leaf.html': 'pair/deep/leaf.html',
  '/assets/hidden/data.html': 'assets/hidden/data.html',
};
const filed = [
  '/dashboard/secret.html',
  '/docs/Plan.html',
  '/caf%C3%A9/men%C3%BC.html',
  '/vault/deep/key.html',
  '/safe/',
  '/acme/files/report.html',
  '/one/two/deep/leaf.html',
  '/assets/hidden/data.html',
];

function routes(express: typeof express5): RequestListener {
  const secret = (pattern: string) => (_req: unknown, res: Response) => void res.send(secretOf(pattern));
  const app = express();
  app.get('/dashboard', secret('/dashboard'));
  app.get('/dashboard/:id', secret('/dashboard/:id'));
  app.get('/Admin', secret('/Admin'));
  app.use('/team', express.Router().get('/', secret('/team')).get('/:member/edit', secret('/team/:member/edit')));
  app.use('/a', express.Router().use('/b', express.Router().get('/c', secret('/a/b/c'))));
  app.use('/vault', secret('/vault/(.*)'));
  app.use('/:tenant', express.Router().get('/settings', secret('/:tenant/settings')));
  return app;
}

function files(express: typeof express5, folder: string): RequestListener {
  const app = express();
  app.use(express.static(join(folder, 'root')));
  app.use('/assets', express.static(join(folder, 'assets')));
  app.use('/:space', express.static(join(folder, 'space')));
  app.use('/:a/:b', express.static(join(folder, 'pair')));
  return app;
}

/** Typical code without a framework: the WHATWG parser on `req.url`, and one decoding. */
const bare: RequestListener = (req, res) => {
  try {
    const { pathname } = new URL(req.url ?? '/', 'http://localhost');
    const pattern = ['/dashboard', '/a/b/c'].find((path) => path === decodeURIComponent(pathname));
    res.end(pattern === undefined ? 'public' : secretOf(pattern));
  } catch {
    res.writeHead(400).end();
  }
};

const segmentNoise = [
  '.',
  '..',
  '%2e',
  '%2E%2e',
  'x/..',
  'x%2f..',
  '%2e%2e%2f',
  ';',
  '\\',
  '%5c',
  'x\\..',
  '%00',
  '%20',
  'é',
  '%252e',
];
const slashes = [
  '//',
  '///',
  '\\',
  '%2f',
  '%5C',
  '%252f',
  '/./',
  '/%2e/',
  '/x/../',
  '/x//../',
  '/x/%2e%2E/',
  '/x%2f../',
  '\\..\\',
];
const endings = [
  '/',
  '//',
  '?',
  '?a=/b',
  '#',
  '#/x',
  '?#',
  '.',
  '%20',
  '\xa0',
  '\xa0#',
  ';v=1',
  '%00',
  '/.',
  '/..',
  '/%2e',
  '\\#',
  '%23',
  '%3f',
];
const origins = [
  'http://h',
  'HTTP://h:80',
  'foo://h',
  'http://u:p@h',
  'http://a:b',
  'http://*',
  'http://',
  'http://h\\',
  '//h',
  '/\\h',
  '/',
];

type Mutation = (path: string) => string;
const at = (path: string, share: number) => Math.floor(share * path.length);
const share = fc.double({ min: 0, max: 0.999, noNaN: true });
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  share.map((where) => (path: string) => {
    const i = Math.max(1, at(path, where));
    return path.slice(0, i) + escaped(path.charAt(i)) + path.slice(i + 1);
  }),
  share.map((where) => (path: string) => {
    const i = Math.max(1, at(path, where));
    return `${path.slice(0, i)}%25${escaped(path.charAt(i)).slice(1)}${path.slice(i + 1)}`;
  }),
  share.map((where) => (path: string) => {
    const i = at(path, where);
    const char = path.charAt(i);
    return (
      path.slice(0, i) + (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase()) + path.slice(i + 1)
    );
  }),
  fc.tuple(share, fc.constantFrom(...slashes)).map(
    ([where, noise]) =>
      (path: string) =>
        replaceSlash(path, where, noise),
  ),
  fc.tuple(share, fc.constantFrom(...segmentNoise)).map(
    ([where, noise]) =>
      (path: string) =>
        replaceSlash(path, where, `/${noise}/`),
  ),
  // Another value for a parameter, in the place of a whole segment.
  fc.tuple(share, fc.constantFrom(...segmentNoise)).map(([where, noise]) => (path: string) => {
    const segments = path.split('/');
    const i = 1 + Math.floor(where * (segments.length - 1));
    return segments.map((segment, n) => (n === i ? noise : segment)).join('/');
  }),
  fc.constantFrom(...endings).map((ending) => (path: string) => path + ending),
  fc.constantFrom(...origins).map((origin) => (path: string) => (path.startsWith('/') ? origin + path : path)),
);
const targetFrom = (bases: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...bases), fc.array(mutation, { maxLength: 3 }))
    .map(([base, mutations]) => mutations.reduce((path, mutate) => mutate(path), base));

function escaped(char: string): string {
  return `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

function replaceSlash(path: string, where: number, by: string): string {
  const parts = path.split('/');
  const i = 1 + Math.floor(where * (parts.length - 1));
  return `${parts.slice(0, i).join('/')}${by}${parts.slice(i).join('/')}`;
}

/** Sends a target as it is, which no HTTP client would. */
async function ask(server: Server, target: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.setEncoding('utf8');
  socket.write(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`, 'latin1'));
  let answer = '';
  for await (const text of socket) answer += String(text);
  return answer;
}

describe('what real servers serve from behind a pattern', () => {
  const servers: Record<string, Server> = {};
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'path-matcher-'));
    for (const [pattern, file] of Object.entries(stored)) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), secretOf(pattern));
    }
    const apps = {
      'the routes of Express 5': routes(express5),
      'the routes of Express 4': routes(express4),
      'the files of Express 5': files(express5, folder),
      'the files of Express 4': files(express4, folder),
      'a bare node:http server': bare,
    };
    for (const [name, app] of Object.entries(apps)) {
      servers[name] = createServer(app).listen(0, '127.0.0.1');
      await once(servers[name], 'listening');
    }
  });

  afterAll(async () => {
    for (const server of Object.values(servers)) server.close();
    await rm(folder, { recursive: true });
  });

  const matchers = new Map<string, (target: string) => boolean>();
  function isMatched(pattern: string, target: string): boolean {
    const matcher = matchers.get(pattern) ?? createPathMatcher([pattern]);
    matchers.set(pattern, matcher);
    return matcher(target);
  }

  it.each([
    ['the routes of Express 5', '/Admin', '/admin\\#'],
    ['the routes of Express 5', '/dashboard/:id', '/dashboard/..'],
    ['the routes of Express 5', '/dashboard/:id', '/dashboard/a%2fb'],
    ['the routes of Express 4', '/team/:member/edit', '/team//../edit'],
    ['the routes of Express 4', '/team/:member/edit', '/team/ann\\edit#'],
    ['the files of Express 5', '/dashboard/secret.html', '/x/..%2fdashboard//secret%2ehtml'],
    ['the files of Express 5', '/:space/files/report.html', '/a%2fb/files/repor%74.html'],
    ['the files of Express 4', '/:space/files/report.html', '/../files/q/..%2freport.html'],
    ['the files of Express 5', '/:a/:b/deep/leaf.html', '/x/../deep/q/../leaf.html'],
    ['the files of Express 4', '/:a/:b/deep/leaf.html', '/a%2f../%2e/deep/q/../leaf.html'],
    ['a bare node:http server', '/dashboard', '//host/dashboard'],
  ])('is matched, asking %s for %s as %j', async (name, pattern, target) => {
    expect(await ask(servers[name]!, target)).toContain(secretOf(pattern));
    expect(isMatched(pattern, target)).toBe(true);
  });

  it.each([
    ['the routes of Express 5', asked],
    ['the routes of Express 4', asked],
    ['the files of Express 5', filed],
    ['the files of Express 4', filed],
    ['a bare node:http server', ['/dashboard', '/a/b/c']],
  ])(
    'is matched, asking %s in any way',
    async (name, bases) => {
      const served = new Set<string>();
      await checkInputs(
        fc.asyncProperty(targetFrom(bases), async (target) => {
          const answer = await ask(servers[name]!, target);
          const pattern = /^HTTP\/1.1 200[^]*SECRET<(.*)>/.exec(answer)?.[1];
          if (pattern === undefined) return;
          served.add(target);
          expect([target, isMatched(pattern, target)]).toEqual([target, true]);
        }),
        { least: 800, variable: 'PATH_MATCHER_RUNS' },
      );
      expect(served.size).toBeGreaterThan(30);
    },
    600_000,
  );
});
