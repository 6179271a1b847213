import { createHash } from 'node:crypto';

/** The hosts of tools/jest.variants.config.ts. */
export type HostVariant = 'Express 4' | 'node:http' | 'Connect' | 'OpenTelemetry';
/** What tools/peers.js installs. */
export type PeerVersions =
  'express4-oldest' | 'express4-newest' | 'express5-oldest' | 'express5-newest' | 'sdks-oldest';

/** What tools/without.ts makes of the tree. */
export type TreeVariant = 'without a room';

/** Every suite has these. */
const everywhere = ['Express 4', 'node:http', 'Connect', 'OpenTelemetry', 'without a room'] as const;
/** On what else the suites of a folder run. */
const peers: Readonly<Record<string, readonly PeerVersions[]>> = {
  b2b: ['sdks-oldest'],
  backend: ['sdks-oldest'],
  doors: ['sdks-oldest'],
  hostile: ['express4-oldest', 'express4-newest', 'express5-oldest', 'express5-newest'],
};

/** Where a suite runs besides `npm test`. @param file its path from the root, with forward slashes */
export function variantsOf(file: string): readonly (HostVariant | PeerVersions | TreeVariant)[] {
  return [...everywhere, ...(peers[file.split('/')[1] ?? ''] ?? [])];
}

/**
 * One of the variants in each turn, another one with the next, so that after as many commits as there are all were met. Without
 * TEST_VARIANT_TURN all of them.
 *
 * @param name of what has the variants
 */
export function inTurn<Variant>(name: string, variants: readonly Variant[]): readonly Variant[] {
  const turn = process.env['TEST_VARIANT_TURN'] ?? '';
  if (turn === '') return variants;
  const start = createHash('sha256').update(name).digest().readUInt32BE();
  const index = (start + Number(turn)) % variants.length;
  return variants.slice(index, index + 1);
}

/**
 * Whether a suite runs on one of its variants in this turn.
 *
 * @param file the suite's path from the root, with forward slashes
 */
export function hasTurn(file: string, variant: HostVariant | PeerVersions | TreeVariant): boolean {
  return inTurn(file, variantsOf(file)).includes(variant);
}
