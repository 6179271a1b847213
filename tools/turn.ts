import { createHash } from 'node:crypto';

/**
 * Whether a suite runs on one of several hosts or versions in this turn. Each has one of them, another one with the next turn, so
 * that after as many commits as there are it has met all. Without TEST_VARIANT_TURN it runs on all.
 *
 * @param file the suite's path from the root, with forward slashes
 * @param index the host or version, of `count`
 */
export function hasTurn(file: string, index: number, count: number): boolean {
  const turn = process.env['TEST_VARIANT_TURN'] ?? '';
  if (turn === '') return true;
  const start = createHash('sha256').update(file).digest().readUInt32BE();
  return (start + Number(turn)) % count === index;
}
