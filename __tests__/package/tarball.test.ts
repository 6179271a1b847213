import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { languages, packTarball } from '../support/consumer.ts';

const run = promisify(execFile);
const root = process.cwd();

/** The files of dist/ that a process loads for these entries. */
async function loaded(...entries: readonly string[]): Promise<string[]> {
  const program = `
    import { registerHooks } from 'node:module';
    const own = [];
    registerHooks({ load: (url, context, next) => (url.startsWith('file://${root}/dist/') && own.push(url.slice(url.indexOf('/dist/') + 6)), next(url, context)) });
    for (const entry of ${JSON.stringify(entries)}) await import('${root}/dist/' + entry);
    console.log(JSON.stringify(own));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program]);
  return JSON.parse(stdout);
}

describe('the packed tarball', () => {
  let directory: string;
  let tarball: Awaited<ReturnType<typeof packTarball>>;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tarball-'));
    tarball = await packTarball(directory);
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('contains the built code, the docs and the legal texts, and nothing else', () => {
    const tops = new Set(tarball.files.map((path) => path.split('/')[0]));
    expect([...tops].sort()).toEqual([
      'AGENTS.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'dist',
      'docs',
      'llms.txt',
      'package.json',
      'skills',
    ]);
    const internal =
      /stand-in|example-app|^show\/|\.test\.|docs\/(?:README|comparison|contributing|faq|moving|other-services|recipes|security|texts|troubleshooting)|\.map$|\.png$|\.ts$(?<!\.d\.ts)/;
    expect(tarball.files.filter((path) => internal.test(path))).toEqual([]);
    expect(tarball.size).toBeLessThan(500_000);
  });

  it('contains readable code: whole names, short lines, and nothing of other packages', async () => {
    const { dependencies, peerDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    const imported = new Set<string>();
    for (const path of tarball.files.filter((each) => /\.c?js$/.test(each))) {
      const source = await readFile(join(root, path), 'utf8');
      expect(source).not.toMatch(/from ["'][^"']*node_modules\/|^\/\/ (?:#region )?node_modules\/|^\/\/ \\0/m);
      // The longest is the list of what a floor exports. The script of the pages is served as it stands there, so it is minified.
      const lines = source.split('\n').filter((line) => !line.startsWith('const scriptText'));
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(1_700);
      for (const [, name = ''] of source.matchAll(
        /(?:from |(?:import|require)\()["']((?:@[^/"']+\/)?[^./"'][^/"':]*)(?:\/[^"']*)?["']/g,
      )) {
        imported.add(name);
      }
    }
    const declared = Object.keys({ ...dependencies, ...peerDependencies });
    expect([...imported].sort()).toEqual(declared.sort());
    for (const range of Object.values<string>(dependencies)) expect(range).toMatch(/^\^/);
  });

  it.each(['b2b', 'backend'])('loads %s from its entry, its adapter and a file for each floor', async (name) => {
    const floors = ['core.js', 'express.cjs', 'http.js', 'session.js'];
    expect((await loaded(`${name}/index.js`)).sort()).toEqual([`${name}/adapter.js`, `${name}/index.js`, ...floors]);
  });

  it('loads a translation only where it is imported, and nothing with it', async () => {
    const others = [
      'index.js',
      'b2b/index.js',
      'backend/index.js',
      'client/index.js',
      'redis/index.js',
      'testing/index.js',
    ];
    const without = await loaded(...others);
    expect(without.length).toBeGreaterThan(10);
    expect(without.filter((file) => file.startsWith('texts/'))).toEqual([]);
    // No part of a text is in a shared file either.
    const german = 'Sehen Sie im Spam-Ordner nach';
    for (const file of without) expect(await readFile(join(root, 'dist', file), 'utf8')).not.toContain(german);
    expect(await readFile(join(root, 'dist/texts/de.js'), 'utf8')).toContain(german);
    for (const language of languages) expect(await loaded(`texts/${language}.js`)).toEqual([`texts/${language}.js`]);
  });

  it('has its repository, its issue tracker and search keywords', async () => {
    const { repository, homepage, bugs, keywords } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    const address = 'https://github.com/express-auth-adapters/express-auth-adapters';
    expect([repository.url, homepage, bugs.url]).toEqual([
      `git+${address}.git`,
      `${address}#readme`,
      `${address}/issues`,
    ]);
    expect(keywords).toEqual(expect.arrayContaining(['express', 'workos', 'supabase', 'authentication']));
  });

  it('has no relative link to a file that is not packed', async () => {
    const packed = new Set(tarball.files);
    const broken: string[] = [];
    for (const path of [...packed].filter((each) => each.endsWith('.md'))) {
      const text = (await readFile(join(root, path), 'utf8')).replaceAll(/^( *)```[\s\S]*?^\1```/gm, '');
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        const [file = ''] = target.split('#');
        const isThere = /^[a-z]+:/i.test(target) || file === '' || packed.has(normalize(join(dirname(path), file)));
        if (!isThere) broken.push(`${path}: ${target}`);
      }
      // The files for agents name pages of docs/ so.
      const named = path.startsWith('skills/') ? [...text.matchAll(/`([\w-]+\.md)`/g)] : [];
      broken.push(...named.flatMap(([, page = '']) => (packed.has(`docs/${page}`) ? [] : [`${path}: ${page}`])));
    }
    expect(broken).toEqual([]);
  });

  it('satisfies publint', async () => {
    const { stdout } = await run(join(root, 'tools/node_modules/.bin/publint'), ['run', tarball.path, '--strict']);
    expect(stdout).toContain('All good!');
  }, 60_000);

  it('satisfies arethetypeswrong for an ESM package', async () => {
    const tool = join(root, 'tools/node_modules/.bin/attw');
    // Any problem is a non-zero exit, which rejects.
    const { stdout } = await run(tool, [tarball.path, '--profile', 'esm-only', '--no-color'], { cwd: root });
    expect(stdout).toContain('express-auth-adapters/backend');
  }, 120_000);

  it('has only licenses that an application may use', async () => {
    const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
    const allowed = /^\(?(?:MIT|ISC|BSD-[23]-Clause|0BSD|Apache-2\.0|BlueOak-1\.0\.0)(?: (?:AND|OR) .*)?\)?$/;
    const shipped = Object.entries<{ dev?: boolean; license?: string; link?: boolean }>(lock.packages)
      .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && dev !== true && link !== true)
      .filter(([, { license }]) => !allowed.test(license ?? ''));
    expect(shipped.map(([path, { license }]) => `${path}: ${license}`)).toEqual([]);
  });
});
