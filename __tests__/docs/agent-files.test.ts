import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import * as everything from 'express-auth-adapters';
import * as client from 'express-auth-adapters/client';
import * as redis from 'express-auth-adapters/redis';
import * as testing from 'express-auth-adapters/testing';
import { errorTable } from '../../lib/error-table.ts';
import { documentation, llmsText } from '../../tools/agent-files.ts';
import { blob, isForContributors } from '../../tools/site/links.ts';

const skillPath = 'skills/express-auth-adapters/SKILL.md';
const skill = readFileSync(skillPath, 'utf8');
/** Without the examples, which `run-blocks.test.ts` runs. */
const prose = skill.replaceAll(/^( *)```[\s\S]*?^\1```/gm, '');
const codeSpans = [...prose.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

it('llms.txt, AGENTS.md and the skill say what docs/ and their templates say', () => {
  const { status, stderr } = spawnSync(process.execPath, ['tools/agent-files.ts', '--check'], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

it('llms.txt lists each page for users once, with its title and what it is for: a packed page by its path', () => {
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] };
  const pages = globSync('docs/**/*.md').filter((path) => path !== 'docs/README.md' && !isForContributors(path));
  const isPacked = (path: string) => !files.some((name) => `!${path}`.startsWith(name) && name.startsWith('!'));
  const links = pages.map((path) => (isPacked(path) ? path : `${blob}${path}`));
  const lines = [...readFileSync('llms.txt', 'utf8').matchAll(/^- \[([^\]]+)\]\(([^)]+)\): (.+)$/gm)];
  expect(lines.map(([, , link]) => link).sort()).toEqual(links.sort());
  for (const [line] of lines) expect(line).toMatch(/: \S.{9,}$/);
});

it('every file that llms.txt links exists, and its form is that of llmstxt.org', () => {
  const text = readFileSync('llms.txt', 'utf8');
  expect(text).toMatch(/^# express-auth-adapters\n\n> .+\n\n(?:- .+\n)+\n(?:## .+\n\n(?:- .+\n)+\n?)+$/);
  const targets = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target.replace(blob, ''));
  expect(targets.length).toBeGreaterThan(30);
  expect(targets.filter((target) => !existsSync(target))).toEqual([]);
});

it('the list for a site has absolute addresses', () => {
  const text = llmsText(({ path }) => `https://example.com/${path}`);
  expect(text).toContain('](https://example.com/docs/guards.md)');
  expect(text).not.toMatch(/\]\((?!https:)/);
  expect(documentation().map(({ heading }) => heading)).toEqual(
    expect.arrayContaining(['Guide', 'Tasks', 'Recipes', 'Look up']),
  );
});

it('the skill has the front matter that agents read: its folder’s name, and when to use it', () => {
  const [, front = ''] = /^---\n([\s\S]*?)\n---\n\n# /.exec(skill) ?? [];
  const [name = '', description = '', ...others] = front.split('\n');
  expect(others).toEqual([]);
  expect(name).toBe('name: express-auth-adapters');
  expect(description).toMatch(/^description: [A-Z][^:]+\.$/);
  expect(description.length).toBeLessThan(1_024);
  expect(skill.split('\n').length).toBeLessThan(500);
});

it('the skill names only pages that exist', () => {
  const pages = codeSpans.filter((code) => /\.(?:md|txt)$/.test(code));
  expect(pages.length).toBeGreaterThan(8);
  const root = 'node_modules/express-auth-adapters/';
  const paths = pages.map((page) => (page.startsWith(root) ? page.slice(root.length) : `docs/${page}`));
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
});

it('the skill names only functions, variables and codes that exist', () => {
  const ours = new Set(Object.keys({ ...everything, ...client, ...redis, ...testing }));
  const others = ['cors', 'set', 'use'];
  const called = codeSpans.flatMap((code) => [...code.matchAll(/(\w+)\(/g)].map(([, name = '']) => name));
  expect(called.length).toBeGreaterThan(8);
  expect(called.filter((name) => !ours.has(name) && !others.includes(name))).toEqual([]);
  const options = readFileSync('docs/options.md', 'utf8');
  const variables = [...skill.matchAll(/\b(?:B2B|BAAS)_\w+/g)].map(([name]) => name);
  expect(variables.length).toBeGreaterThan(4);
  expect(variables.filter((name) => !options.includes(`\`${name}\``))).toEqual([]);
  const codes = [...skill.matchAll(/"code":"(\w+)"/g)].map(([, code = '']) => code);
  expect(codes.filter((code) => !(code in errorTable))).toEqual([]);
});
