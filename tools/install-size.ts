import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

interface Installed {
  readonly dependencies?: Readonly<Record<string, string>>;
}

const blockBytes = 4096;
const sdks = [['@workos-inc/node'], ['@supabase/ssr', '@supabase/supabase-js']];

/**
 * What an installation of this package adds to node_modules beside Express and one SDK: the larger number of the two SDKs, in bytes
 * of a disk with blocks of 4 KB. The package itself is not counted.
 */
export function addedBytes(): number {
  const lock: { packages: Readonly<Record<string, Installed>> } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const own = withDependencies(Object.keys(lock.packages['']?.dependencies ?? {}), lock.packages);
  const added = sdks.map((sdk) => {
    const there = withDependencies(['express', ...sdk], lock.packages);
    return [...own].filter((place) => !there.has(place)).reduce((sum, place) => sum + bytesOf(place), 0);
  });
  return Math.max(...added);
}

/** The places of the packages and of what they depend on. */
function withDependencies(names: readonly string[], packages: Readonly<Record<string, Installed>>): Set<string> {
  const places = new Set(names.map((name) => `node_modules/${name}`));
  for (const place of places)
    for (const name of Object.keys(packages[place]?.dependencies ?? {})) places.add(placeOf(name, place, packages));
  return places;
}

/** Node looks in the package's own node_modules, and then in those around it. */
function placeOf(name: string, from: string, packages: Readonly<Record<string, Installed>>): string {
  const own = `${from}/node_modules/${name}`;
  if (own in packages) return own;
  const outer = from.slice(0, Math.max(from.lastIndexOf('/node_modules/'), 0));
  return outer === '' ? `node_modules/${name}` : placeOf(name, outer, packages);
}

/** Without the packages below it, which are counted by their own places. */
function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .reduce((sum, each) => {
      const path = join(folder, each.name);
      return (
        sum +
        (each.isDirectory() ? blockBytes + bytesOf(path) : Math.ceil(statSync(path).size / blockBytes) * blockBytes)
      );
    }, 0);
}
