import { execFileSync } from 'node:child_process';
import { libRoot } from './lib.ts';
import { imports } from './cases.ts';
import { shuffled } from './measure.ts';

export interface ImportResult {
  readonly title: string;
  readonly sdk: string;
  /** Milliseconds. */
  readonly own: number;
  readonly ofSdk: number;
  readonly ratio: number;
  readonly atMost: number;
}

/** Imports of Express and an entry, or of Express and the SDK, in fresh processes in turn: the shortest time of each. */
export function measureImports(rounds: number): ImportResult[] {
  const subjects = imports.flatMap(({ entry, sdk }) => [
    { key: entry, modules: [new URL(`${entry}/index.js`, libRoot).href] },
    { key: sdk.join(), modules: sdk },
  ]);
  const times = new Map<string, number[]>(subjects.map(({ key }) => [key, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const { key, modules } of shuffled(subjects, Math.random)) times.get(key)?.push(timeOf(modules));
  }
  return imports.map(({ title, entry, sdk, atMost }) => {
    const own = Math.min(...(times.get(entry) ?? []));
    const ofSdk = Math.min(...(times.get(sdk.join()) ?? []));
    return { title, sdk: sdk.join(' + '), own, ofSdk, ratio: own / ofSdk, atMost };
  });
}

function timeOf(modules: readonly string[]): number {
  const load = modules.map((name) => `await import(${JSON.stringify(name)});`).join(' ');
  const program = `const start = performance.now(); await import('express'); ${load} console.log(performance.now() - start);`;
  const options = { encoding: 'utf8', cwd: new URL('..', import.meta.url) } as const;
  return Number(execFileSync(process.execPath, ['--input-type=module', '--eval', program], options));
}
