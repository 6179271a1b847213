import express from 'express';
import express4 from 'express4';
import fc from 'fast-check';
import { b2bAuth, requireSession } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { isSafeMountPath } from '../../lib/http/message.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { serve } from '../support/servers.ts';
import { hostNames } from '../support/variant.ts';
import type { HostName } from '../support/variant.ts';
import { checkInputs } from '../support/inputs.ts';

const options: B2bAuthOptions = { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) };

/** Every way to mount at a path that the request can influence. */
const mounts: readonly (readonly [HostName, string | RegExp, () => express.Express])[] = [
  ['Express 5', '/*tenant/app', express],
  ['Express 5', '/{*tenant}', express],
  ['Express 5', '/:tenant', express],
  ['Express 5', '{/:lang}', express],
  ['Express 5', /^.*\/app/, express],
  ['Express 4', '/*/app', express4],
  ['Express 4', '/*?', express4],
  ['Express 4', '/:tenant', express4],
  ['Express 4', '/:lang?', express4],
  ['Express 4', /^.*\/app/, express4],
];
/** These take the whole path, so that no route is reached: every request says so. */
const refused: ReadonlySet<string | RegExp> = new Set(['/{*tenant}', '/*?']);
const targets = [
  '//evil.example/app/dash',
  '//evil.example/app/login',
  '//evil.example/login',
  '///evil.example/app/dash',
  '/\\evil.example/app/dash',
  '/\\evil.example/login',
  '/%5Cevil.example/login',
  '/%2Fevil.example/app/dash',
  '/./app/login',
  '/\u00fc/app/login',
  '//login',
];

it.each(mounts.filter(([name]) => hostNames.includes(name)))(
  'on %s, mounted at %s, no target leads elsewhere',
  async (_version, path, create) => {
    const app = create();
    const answered: express.RequestHandler = (_req, res) => void res.send('ok');
    app.use(path, b2bAuth(options) as express.RequestHandler, requireSession(), answered);
    const server = await serve(app);
    try {
      for (const method of ['GET', 'POST']) {
        for (const target of targets) {
          const { status, head } = await sendRaw(
            server.port,
            `${method} ${target} HTTP/1.1\r\nHost: app.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
          );
          const [, location] = /^location: (.*?)\r?$/im.exec(head) ?? [];
          const { origin } = new URL(
            location?.replaceAll(/%5c/gi, '\\').replaceAll(/%2f/gi, '/') ?? '/',
            'http://app.example',
          );
          const isHome = origin === 'http://app.example' || origin.endsWith('workos.com');
          expect([method, target, location, isHome]).toEqual([method, target, location, true]);
          if (refused.has(path)) expect(head).not.toMatch(/^set-cookie:/im);
          else expect([target, status < 500 && status >= 200]).toEqual([target, true]);
        }
      }
    } finally {
      await server.close();
    }
  },
);

it('a mount path is safe only if every URL below it stays on this origin', async () => {
  const piece = fc.constantFrom(
    '/',
    '\\',
    '//',
    '.',
    '..',
    '%2f',
    '%5C',
    '%255c',
    'evil.example',
    '@',
    ':',
    '?',
    '#',
    '\t',
    'ü',
    'a',
    ' ',
  );
  await checkInputs(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const prefix = pieces.join('');
      if (!isSafeMountPath(prefix)) return;
      for (const path of [`${prefix}/login`, decodeURIComponent(`${prefix}/login`)]) {
        const { origin, pathname } = new URL(path, 'http://app.example');
        expect([prefix, origin, pathname.endsWith('/login')]).toEqual([prefix, 'http://app.example', true]);
      }
    }),
    { least: 1_500, variable: 'MOUNT_PATH_RUNS' },
  );
});

it.each(['', '/app', '/a/b-c', '/~user', '/caf%C3%A9', '/a%20b', '/a;v=1'])(
  'a plain mount path is safe: %j',
  (prefix) => {
    expect(isSafeMountPath(prefix)).toBe(true);
  },
);
