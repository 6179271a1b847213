import { readFileSync } from 'node:fs';

/** The settings of `__tests__/real/gotrue.env`; a variable of the same name in the environment goes first. */
export function readSettings(): Readonly<Record<string, string>> {
  const lines = readFileSync('__tests__/real/gotrue.env', 'utf8').split('\n');
  const pairs = lines.filter((line) => /^\w+=/.test(line)).map((line) => line.split(/=(.*)/, 2) as [string, string]);
  return Object.fromEntries(pairs.map(([name, value]) => [name, process.env[name] ?? value]));
}

/** The port of a setting that is a URL on the loopback address. */
export function portOf(url: string): number {
  return Number(new URL(url).port);
}
