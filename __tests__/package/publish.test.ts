import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

const run = promisify(execFile);
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const workflow = readFileSync('.github/workflows/release.yml', 'utf8');

/** What `npm publish` sends (https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md). */
interface Publication {
  readonly name: string;
  readonly access: string;
  readonly versions: Readonly<Record<string, { readonly bin: object; readonly dist: { readonly integrity: string } }>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

let registry: RunningServer;
let directory: string;
let published: Publication | undefined;

beforeAll(async () => {
  registry = await serve((req, res) => {
    if (req.method !== 'PUT') {
      res.writeHead(404, { 'Content-Type': 'application/json' }).end('{"error":"not found"}');
      return;
    }
    void textOf(req).then((text) => {
      published = JSON.parse(text);
      res.writeHead(201, { 'Content-Type': 'application/json' }).end('{"ok":true}');
    });
  });
  directory = await mkdtemp(join(tmpdir(), 'publish-'));
  const { host } = new URL(registry.origin);
  await writeFile(join(directory, 'npmrc'), `registry=${registry.origin}/\n//${host}/:_authToken=nothing\n`);
});
afterAll(async () => {
  await registry.close();
  await rm(directory, { recursive: true, force: true });
});

async function textOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** `npm publish` as the workflow calls it, except for the build and what only GitHub can sign. */
async function publish(...options: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const [, given = ''] = /npm publish (.*)$/m.exec(workflow) ?? [];
  const flags = given.split(' ').filter((flag) => flag !== '--provenance');
  return run('npm', ['publish', ...flags, '--ignore-scripts', '--json', ...options], {
    env: { PATH: process.env['PATH'], HOME: directory, npm_config_userconfig: join(directory, 'npmrc') },
  });
}

/** The names of the files in a tarball (POSIX ustar: blocks of 512 bytes, the name first, the size at 124). */
function filesIn(tarball: Buffer): string[] {
  const bytes = gunzipSync(tarball);
  const names: string[] = [];
  for (let at = 0; at < bytes.length && bytes[at] !== 0;) {
    const field = (from: number, length: number): string =>
      bytes.toString('utf8', at + from, at + from + length).replace(/\0.*$/s, '');
    const prefix = field(345, 155);
    names.push(`${prefix === '' ? '' : `${prefix}/`}${field(0, 100)}`.replace(/^package\//, ''));
    at += 512 + 512 * Math.ceil(Number.parseInt(field(124, 12), 8) / 512);
  }
  return names.sort();
}

const languages = globSync('lib/texts/*.ts').map((path) => path.slice('lib/'.length, -'.ts'.length));

/** What an application imports, and what these entries share. */
const declared = [
  ...['index', ...['b2b', 'backend', 'client', 'passport', 'redis', 'testing'].map((name) => `${name}/index`)],
  ...['core', 'session', 'http', 'b2b/adapter', 'backend/adapter'],
  ...languages,
];

/** Commands, and the parts that load on their first use. */
const undeclared = [
  ...['cli', 'add', 'arguments', 'emails', 'files', 'start-file', 'variables', 'doctor/cli', 'providers'],
  ...['doors/store-session/b2b', 'doors/store-session/backend'],
  ...['consent', 'consent/apps-route', 'consent/route', 'throttle/counter', 'throttle/store'].map(
    (name) => `backend/${name}`,
  ),
];

/** Every file of the package. */
const contents: readonly string[] = [
  'AGENTS.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'llms.txt',
  'package.json',
  'skills/express-auth-adapters/SKILL.md',
  ...globSync('docs/**/*.md').filter(
    (path) =>
      !/^docs\/(?:(?:README|comparison|contributing|faq|mcp|moving|other-services|reliability|security|sql|streams|texts|troubleshooting|watching)\.md$|(?:contributing|moving|recipes)\/)/.test(
        path,
      ) && !manifest.files.includes(`!${path}`),
  ),
  ...declared.flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`]),
  ...undeclared.map((name) => `dist/${name}.js`),
  'dist/express.cjs',
];

it('a dry run of `npm publish` finds nothing to complain about, and sends nothing', async () => {
  const { stdout, stderr } = await publish('--dry-run');
  // npm repairs a wrong package.json by itself, and says so.
  expect(stderr).not.toMatch(/npm (?:warn|error) publish|auto-?correct/i);
  const told = JSON.parse(stdout);
  const { name, version } = told[manifest.name] ?? told;
  expect({ name, version }).toEqual({ name: manifest.name, version: manifest.version });
  expect(published).toBeUndefined();
}, 60_000);

it('`npm publish` sends these files to the registry, and no other', async () => {
  await publish();
  expect(published).toMatchObject({ name: manifest.name, access: 'public' });
  const [{ data } = { data: '' }] = Object.values(published?._attachments ?? {});
  const tarball = Buffer.from(data, 'base64');
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  expect(published?.versions[manifest.version]?.dist.integrity).toBe(integrity);
  expect(published?.versions[manifest.version]?.bin).toEqual(manifest.bin);
  expect(filesIn(tarball)).toEqual([...contents].sort());
}, 60_000);

describe('the release workflow', () => {
  const [, script = ''] = /^ +run: \|\n((?: {10}.*\n)+)/m.exec(workflow) ?? [];
  const check = (tag: string) => run('bash', ['-e', '-c', script], { env: { ...process.env, GITHUB_REF_NAME: tag } });

  it('publishes only the version that its tag, package.json and the changelog name', async () => {
    expect(script).toContain('GITHUB_REF_NAME');
    await expect(check(`v${manifest.version}`)).resolves.toBeDefined();
    await expect(check('v99.0.0')).rejects.toMatchObject({ code: 1 });
    await expect(check(manifest.version)).rejects.toMatchObject({ code: 1 });
  });

  it('has what npm asks of provenance: an id token, a hosted runner, this repository, a public package', () => {
    const publishing = workflow.slice(workflow.indexOf('\n  publish:'));
    expect(publishing).toMatch(/^ {6}id-token: write$/m);
    expect(publishing).toMatch(/^ {4}runs-on: ubuntu-latest$/m);
    expect(publishing).toContain('npm publish --provenance --access public');
    expect(manifest.repository.url).toBe('git+https://github.com/express-auth-adapters/express-auth-adapters.git');
    expect(manifest.private).toBeUndefined();
    expect(manifest.publishConfig?.registry).toBeUndefined();
  });

  it('publishes after the tests of the same commit, with no stored token', () => {
    expect(workflow).toMatch(/^ {4}needs: test$/m);
    expect(workflow).toMatch(/^ {4}uses: \.\/\.github\/workflows\/ci\.yml$/m);
    expect(workflow).not.toMatch(/secrets\.|NODE_AUTH_TOKEN/);
  });

  it('every workflow has only the permissions that it uses', () => {
    for (const path of globSync('.github/workflows/*.yml')) {
      const text = readFileSync(path, 'utf8');
      expect(text).toMatch(/^permissions:\n {2}contents: read$/m);
      const granted = [...text.matchAll(/^ {6}([a-z-]+): write$/gm)].map(([, name]) => name);
      const needed = text.includes('npm publish')
        ? ['id-token']
        : text.includes('deploy-pages')
          ? ['pages', 'id-token']
          : [];
      expect({ path, granted }).toEqual({ path, granted: needed });
    }
  });
});
