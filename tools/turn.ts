import { createHash } from 'node:crypto';

/** The hosts of tools/jest.variants.config.ts. */
export type HostVariant = 'Express 4' | 'node:http' | 'Connect';
/** What tools/peers.js installs. */
export type PeerVersions =
  'express4-oldest' | 'express4-newest' | 'express5-oldest' | 'express5-newest' | 'sdks-oldest';

const hosts: readonly HostVariant[] = ['Express 4', 'node:http', 'Connect'];
/** On what else the suites of a folder run. */
const peers: Readonly<Record<string, readonly PeerVersions[]>> = {
  b2b: ['sdks-oldest'],
  backend: ['sdks-oldest'],
  hostile: ['express4-oldest', 'express4-newest', 'express5-oldest', 'express5-newest'],
};

/** Where a suite runs besides `npm test`. @param file its path from the root, with forward slashes */
export function variantsOf(file: string): readonly (HostVariant | PeerVersions)[] {
  return [...hosts, ...(peers[file.split('/')[1] ?? ''] ?? [])];
}

/**
 * Whether a suite runs on one of its variants in this turn. It has one of them in each turn, another one with the next, so that after
 * as many commits as there are it has met all. Without TEST_VARIANT_TURN it runs on all.
 *
 * @param file the suite's path from the root, with forward slashes
 */
export function hasTurn(file: string, variant: HostVariant | PeerVersions): boolean {
  const turn = process.env['TEST_VARIANT_TURN'] ?? '';
  if (turn === '') return true;
  const start = createHash('sha256').update(file).digest().readUInt32BE();
  const variants = variantsOf(file);
  return variants[(start + Number(turn)) % variants.length] === variant;
}
