import { globSync, readFileSync } from 'node:fs';
import { WorkOS } from '@workos-inc/node';
import { routeDefaults as backendPaths } from '../../lib/backend/option-schema.ts';
import { routeDefaults as b2bPaths } from '../../lib/b2b/options.ts';
import { createB2bClient, createBackendClient } from '../../lib/client/index.ts';
import { stylesheetFor } from '../../lib/pages/style.ts';
import { everyPageState } from '../support/built-in-pages.ts';
import { render } from '../../lib/tools/html.ts';
import { codeBlocks, markdownFiles } from '../support/markdown.ts';

const read = (path: string): string => readFileSync(path, 'utf8');

/** The ratio to bare Express that bench/RESULTS.md has in this row. */
function percentOf(name: string): number {
  const row =
    read('bench/RESULTS.md')
      .split('\n')
      .find((line) => line.startsWith(`| ${name} |`)) ?? '';
  return Math.round(Number(/\| (\d\.\d+) \(/.exec(row)?.[1]) * 100);
}

/** What a page says of the code, where nothing else would notice that it is wrong. */
describe('docs/recipes/react-vite.md', () => {
  const page = read('docs/recipes/react-vite.md');
  const listed = (list = ''): string[] => [...list.matchAll(/'(\/[^']*)'/g)].map(([, path = '']) => path);
  const isProxied = (path: string, prefixes: readonly string[]): boolean =>
    prefixes.some((each) => path.startsWith(each));

  it('proxies every route of b2bAuth', () => {
    const prefixes = listed(/const paths = \[(.*)\];/.exec(page)?.[1]);
    const routes = Object.values(b2bPaths);
    expect(prefixes[0]).toBe('/api');
    expect(routes.filter((path) => !isProxied(path, prefixes))).toEqual([]);
    // None is left over from a former route.
    expect(prefixes.slice(1).filter((prefix) => !routes.some((path) => path.startsWith(prefix)))).toEqual([]);
  });

  it('names the prefixes of backendAuth’s routes', () => {
    const [sentence = ''] = /^With `backendAuth`, .*$/m.exec(page) ?? [];
    const prefixes = listed(sentence.replaceAll('`', ''));
    expect(prefixes).toEqual(['/api', '/auth', '/oauth']);
    expect(Object.values(backendPaths).filter((path) => !isProxied(path, prefixes))).toEqual([]);
  });
});

it('docs/pages.md lists every class of the built-in pages, and no other', () => {
  const [, sentence = ''] = /the classes ([^.]*)\./.exec(read('docs/pages.md')) ?? [];
  const listed = [...sentence.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name);
  const markup = Object.values(everyPageState({ title: 'Northwind', links: { help: '/help' } }))
    .map(({ body }) => (body?.kind === 'page' ? render(body.markup) : ''))
    .join('');
  const used = [...markup.matchAll(/ class="([^"]*)"/g)]
    .flatMap(([, names = '']) => names.split(' '))
    // After how many seconds a button appears, and how many places a code has.
    .filter((name) => !/^(?:in|of)-\d+$/.test(name));
  const styled = [...stylesheetFor(new URLSearchParams()).text.matchAll(/\.([a-z][a-z-]*)(?=[^{}]*\{)/g)].map(
    ([, name = '']) => name.replace(/^in-$/, 'resend').replace(/^of-$/, 'places'),
  );
  const missing = [...new Set([...used, ...styled])].filter((name) => !listed.includes(name));
  expect(missing).toEqual([]);
  const source = globSync('lib/**/*.ts').map(read).join('');
  expect(listed.filter((name) => !new RegExp(`[ ."']${name}\\b`).test(source))).toEqual([]);
});

describe('what the pages say of Node', () => {
  const { engines } = JSON.parse(read('package.json')) as { readonly engines: { readonly node: string } };
  const least = engines.node.replace('>=', '');

  it('is the version of package.json wherever this package needs one', () => {
    const needs = /(?:(?:needs?|[Rr]equires|[Uu]se) Node|Node is older than|[Ss]ince version) ([\d.]+\d)/g;
    const named = markdownFiles().flatMap(({ path, text }) =>
      [...text.matchAll(needs)].map(([, version]) => `${path}: ${version ?? ''}`),
    );
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((each) => !each.endsWith(` ${least}`))).toEqual([]);
  });
});

it('docs/recipes/modules.md imports `test` as the runners of docs/testing.md need it', () => {
  const importsOf = (path: string): string[] =>
    [...read(path).matchAll(/`(import \{ test \} from '[^']+');?`/g)].map(([, line = '']) => line).sort();
  const imports = importsOf('docs/testing.md');
  expect(imports).toHaveLength(2);
  expect(importsOf('docs/recipes/modules.md')).toEqual(imports);
});

describe('README', () => {
  const readme = read('README.md');
  const [intro = ''] = readme.split('\n## ');
  const [install, code, otherInstall, otherCode] = codeBlocks({ path: 'README.md', text: intro });

  it('begins with both adapters: the installation and the stand-ins, then the code, then the page that it makes', () => {
    for (const commands of [install, otherInstall]) {
      expect(commands?.language).toBe('sh');
      expect(commands?.code).toMatch(
        /^npm install express-auth-adapters .*\nnpx express-auth-adapters providers --env\n$/,
      );
    }
    for (const lines of [code, otherCode]) {
      expect(lines?.language).toBe('ts');
      expect(lines?.code).toContain('app.listen(3000);');
    }
    expect(intro.indexOf('<img')).toBeGreaterThan(intro.indexOf('```ts'));
    const headings = [...readme.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings.slice(0, 2)).toEqual(['Leave at any time', 'What it does not do']);
    expect(headings.indexOf('Try it')).toBeLessThan(headings.indexOf('Fast'));
  });

  it.each([
    [install, code, 'backend', '@supabase/ssr @supabase/supabase-js'],
    [otherInstall, otherCode, 'b2b', '@workos-inc/node'],
  ])('installs what its code needs', (commands, lines, entry, sdks) => {
    expect(lines?.code).toContain(`from 'express-auth-adapters/${entry}'`);
    expect(commands?.code).toContain(`express-auth-adapters express ${sdks}\n`);
  });

  it('names the version of package.json', () => {
    const { version } = JSON.parse(read('package.json')) as { readonly version: string };
    expect(/version (\d+\.\d+)/.exec(readme)?.[1]).toBe(version.replace(/\.\d+$/, ''));
  });

  it('says how fast, as bench/RESULTS.md does', () => {
    const shares = [
      ...(/^Signed-in requests[^]*?cores\./m.exec(readme)?.[0] ?? '').matchAll(/(\d+)(?: to (\d+))? %/g),
    ].map(([, low, high]) => [Number(low), Number(high ?? low)]);
    const range = (...names: string[]): number[] => {
      const ratios = names.map(percentOf);
      return [Math.min(...ratios), Math.max(...ratios)];
    };
    expect(shares.slice(0, 2)).toEqual([
      range('signed in, B2B', 'signed in, backend'),
      range('first request of a session, B2B', 'first request of a session, backend (ES256)'),
    ]);
    const [workos, supabase] = [
      percentOf('@workos-inc/node, loadSealedSession'),
      percentOf('@supabase/ssr, getClaims (ES256)'),
    ];
    expect(shares.slice(2)).toEqual([
      [workos, workos],
      [supabase, supabase],
    ]);
  });
});

describe('docs/comparison.md', () => {
  const page = read('docs/comparison.md');
  const results = read('bench/RESULTS.md');

  it('has the throughput of bench/RESULTS.md, and its date', () => {
    const rows = [
      ['`b2bAuth`', 'signed in, B2B'],
      ['`backendAuth`', 'signed in, backend'],
      ['express-session, only a user id', 'express-session, in memory, only a user id'],
      ['express-openid-connect, `requiresAuth`', 'express-openid-connect, requiresAuth'],
      ['iron-session, no token', 'iron-session, without any token'],
      ['`b2bAuth`, first request of a session', 'first request of a session, B2B'],
      ['`backendAuth`, first request of a session', 'first request of a session, backend (ES256)'],
      ['@workos/authkit-session, `withAuth`', '@workos/authkit-session, withAuth'],
      ['@workos-inc/node, `loadSealedSession`', '@workos-inc/node, loadSealedSession'],
      ['@supabase/ssr, `getUser`', '@supabase/ssr, getUser'],
      ['@supabase/ssr, `getClaims`', '@supabase/ssr, getClaims (ES256)'],
      ['@auth/express, `getSession`', '@auth/express, getSession'],
    ] as const;
    const stated = [...page.matchAll(/^\| (\S.*?) +\| +(\d+) % \|$/gm)].map(([, name, share]) => [name, Number(share)]);
    expect(Object.fromEntries(stated)).toEqual(Object.fromEntries(rows.map(([name, row]) => [name, percentOf(row)])));
    const [, date = ''] = /npm run bench`, ([\d-]+)/.exec(results) ?? [];
    const day = new Date(date).toLocaleDateString('en-GB', {
      day: 'numeric',
      month: 'long',
      year: 'numeric',
      timeZone: 'UTC',
    });
    expect(page).toContain(day);
  });

  it('links a page of each package that it speaks of', () => {
    const [, described = ''] = /\n## What each one is\n([^]*?)\n## /.exec(page) ?? [];
    const items = described.match(/^- \*\*.*$/gm) ?? [];
    expect(items).toHaveLength(7);
    const links = new Set([...page.matchAll(/^\[([^\]]+)\]: https:/gm)].map(([, name]) => name));
    for (const item of items) expect(links).toContain(/^- \*\*\[[^\]]+\]\[([^\]]+)\]/.exec(item)?.[1]);
  });
});

describe('docs/tasks.md', () => {
  const page = read('docs/tasks.md');
  const tasks = page.split('\n## ').slice(1, -1);

  it('has twenty-one tasks, each with a few lines of code and a link', () => {
    expect(tasks).toHaveLength(21);
    for (const task of tasks) {
      const [heading = ''] = task.split('\n');
      const blocks = codeBlocks({ path: heading, text: task });
      // The first admin is made by SQL.
      expect([heading, blocks.length]).toEqual([heading, heading === 'Make an admin' ? 2 : 1]);
      for (const { code } of blocks) expect(code.split('\n').length).toBeLessThan(20);
      expect([heading, /^More: .*\]\(/m.test(task)]).toEqual([heading, true]);
    }
  });
});

it('every guard of an API in the examples answers every client in JSON', () => {
  const guards = [
    ...markdownFiles(),
    { path: 'the skill', text: read('skills/express-auth-adapters/SKILL.md') },
  ].flatMap((file) =>
    codeBlocks(file).flatMap(({ code }) =>
      (code.match(/'\/api[^']*',\s*requireSession\b[^)]*/g) ?? []).map((guard) => [file.path, guard] as const),
    ),
  );
  const paths = guards.map(([path]) => path);
  const skill = 'skills/express-auth-adapters/SKILL.md';
  expect(paths).toEqual(expect.arrayContaining(['README.md', 'docs/guards.md', 'docs/bearer.md', skill]));
  expect(guards.filter(([, guard]) => !guard.includes("respond: 'json'"))).toEqual([]);
});

it('the guides name calls of the typed client that it has', () => {
  const has = { ...createB2bClient(), ...createBackendClient() };
  const cells = globSync('docs/moving/*.md').flatMap((path) => read(path).match(/\[the typed client\][^|]*/g) ?? []);
  const calls = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)\(/g)].map(([, name = '']) => name));
  expect(calls).toContain('session');
  expect(calls.filter((name) => !(name in has))).toEqual([]);
});

describe('docs/moving/passport.md', () => {
  const page = read('docs/moving/passport.md');

  it('renews the id of express-session in both hooks', () => {
    for (const hook of ['onSignIn', 'onSignOut']) expect(page).toContain(`${hook}: ({ req }) => renewId(req),`);
  });

  it('says what to install first where npm refuses Express below 4.20', () => {
    expect(page).toContain('npm install express@4');
  });
});

it('docs/moving/workos-sdk.md names calls that the SDK of today has, and former ones that it has not', () => {
  const sdk: object = new WorkOS('sk_test_names');
  const has = (path: string): boolean =>
    path.split('.').reduce<unknown>((value, name) => Reflect.get(Object(value) as object, name), sdk) !== undefined;
  const [, table = ''] = /## From SDK 7[^]*?\n(\|[^]*?)\n\n/.exec(read('docs/moving/workos-sdk.md')) ?? [];
  const rows = table.split('\n').map((row) => row.split('|'));
  const callsOf = (cell = ''): string[] =>
    [...cell.matchAll(/`(?:workos\.)?((?:[a-z]\w+\.)?[a-z]\w+)[^`]*`/gi)]
      .map(([, call = '']) => call)
      .filter((call) => call.includes('.') || ['mfa', 'portal', 'multiFactorAuth', 'adminPortal'].includes(call));
  const now = rows.flatMap(([, , cell]) => callsOf(cell));
  const former = rows.flatMap(([, cell]) => callsOf(cell)).filter((call) => !now.includes(call));
  expect(now.length).toBeGreaterThan(7);
  expect(now.filter((call) => !has(call))).toEqual([]);
  expect(former.filter((call) => has(call) && !call.endsWith('.listOrganizationMemberships'))).toEqual([]);
});

it('docs/mcp.md leads to the consent pages', () => {
  expect(read('docs/mcp.md')).toContain('](consent.md)');
});

it('no diagram has a semicolon: Mermaid ends the statement there, and draws the rest as further states', () => {
  const diagrams = markdownFiles()
    .flatMap(codeBlocks)
    .filter(({ language }) => language === 'mermaid');
  expect(diagrams.length).toBeGreaterThan(5);
  expect(diagrams.filter(({ code }) => code.includes(';')).map(({ path, line }) => `${path}:${line}`)).toEqual([]);
});
