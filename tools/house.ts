/**
 * Prints what a reader of lib/ meets, as a table "then / wanted / now", and fails where a number is above what
 * tools/house.json writes down. `--write` lowers the numbers there to what they are now, and never raises one.
 *
 *     node tools/house.ts [--list | --write]
 *
 * `--list` names the files behind the numbers.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { type Capability, measure, type Measure, readTree } from './house-measures.ts';
import { addedBytes } from './install-size.ts';

/** One line of the table. */
export interface Row {
  readonly title: string;
  /** Before the rooms were built. */
  readonly then: number | null;
  /** A number, or what is wanted in words. */
  readonly wanted: number | string;
  /** What the number may not rise above; absent where the number is only told. */
  readonly most?: number | null;
}

export interface House {
  /** A capability's words are regular expressions: a file that one of them matches knows the capability. */
  readonly capabilities: readonly Capability[];
  /** The folders directly below these are rooms, but for those that are listed in `notRooms`. */
  readonly roomsIn: readonly string[];
  readonly notRooms: readonly string[];
  readonly rows: readonly Row[];
}

/** Rows whose number is above what is written down, or not written down at all. */
export function risen(rows: readonly Row[], now: Readonly<Record<string, Measure>>): string[] {
  return rows.flatMap(({ title, most }) => {
    const value = now[title]?.value;
    if (value === undefined) return [`${title}: not measured`];
    if (most === undefined || value === null) return [];
    if (most === null) return [`${title}: ${value}, and tools/house.json writes down no number (--write)`];
    return value > most ? [`${title}: ${value}, and not more than ${most} is written down`] : [];
  });
}

/** The rows with the numbers that fell; a number that is not written down yet is written down. */
export function lowered(rows: readonly Row[], now: Readonly<Record<string, Measure>>): Row[] {
  return rows.map((row) => {
    const value = now[row.title]?.value ?? null;
    if (row.most === undefined || value === null) return row;
    return { ...row, most: row.most === null ? value : Math.min(row.most, value) };
  });
}

export function table(rows: readonly Row[], now: Readonly<Record<string, Measure>>): string {
  const text = (value: number | string | null | undefined): string =>
    typeof value === 'number' ? value.toLocaleString('en-US') : (value ?? '–');
  const cells = rows.map(({ title, then, wanted, most }) => [
    title,
    text(then),
    `${text(wanted)}${most === undefined ? ' (told)' : ''}`,
    `${text(now[title]?.value)}${now[title]?.note === undefined ? '' : ` (${now[title].note})`}`,
  ]);
  const all = [['', 'then', 'wanted', 'now'], ...cells];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** What the files say, and what only a request or an installation tells. */
function measureAll(house: House): Record<string, Measure> {
  const sources = readTree(globSync('lib/**/*.ts'));
  const tests = readTree(globSync('__tests__/**/*.test.ts', { exclude: ['**/node_modules'] }));
  const walks: Record<string, number> = JSON.parse(
    execFileSync(process.execPath, [join(import.meta.dirname, 'request-files.ts'), '--json'], { encoding: 'utf8' }),
  );
  const walked = Object.entries(walks).map(([title, value]) => [`files of a request: ${title}`, { value }] as const);
  const megabytes = Math.round(addedBytes() / 100_000) / 10;
  return {
    ...measure(house, sources, tests),
    ...Object.fromEntries(walked),
    'installed beside Express and one SDK, in MB': { value: megabytes },
  };
}

async function main(options: readonly string[]): Promise<void> {
  const path = 'tools/house.json';
  const house: House = JSON.parse(readFileSync(path, 'utf8'));
  const now = measureAll(house);
  if (options.includes('--write')) {
    const text = JSON.stringify({ ...house, rows: lowered(house.rows, now) });
    writeFileSync(path, await format(text, { ...(await resolveConfig(path)), parser: 'json' }));
  }
  console.log(table(house.rows, now));
  if (options.includes('--list'))
    for (const [title, { list }] of Object.entries(now))
      if (list !== undefined) console.log(`\n${title}:\n${list.map((line) => `  ${line}`).join('\n')}`);
  const rows = options.includes('--write') ? lowered(house.rows, now) : house.rows;
  const problems = risen(rows, now);
  for (const problem of problems) console.error(`Risen: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.slice(2));
