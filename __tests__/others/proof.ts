import { readFileSync } from 'node:fs';

/** The number of cases that docs/contributing/proofs.md names for a set of others. */
export function casesNamed(set: string): number {
  const page = readFileSync('docs/contributing/proofs.md', 'utf8');
  const row = page.split('\n').find((line) => line.startsWith(`| [${set}]`)) ?? '';
  return Number(row.split('|')[4]?.replaceAll(',', ''));
}
