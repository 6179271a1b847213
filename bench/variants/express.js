import { existsSync } from 'node:fs';
import { libRoot } from '../lib.ts';

/** One Express for all variants: the root's, which the package itself imports. */
export { default as express } from '../../node_modules/express/index.js';

/** An entry of the package under measurement. */
export const libUrl = (entry) => new URL(`${entry}/index.js`, libRoot);

/** What makes an adapter of options and a size of its cache. Former builds have an option for the size. */
export async function withCache(adapter) {
  const factory = `${adapter}Auth`;
  const { [factory]: create } = await import(libUrl(adapter));
  const former = (options, maxCachedSessions) => create({ ...options, maxCachedSessions });
  const parts = ['adapter', 'options'].map((name) => new URL(`${adapter}/${name}.js`, libRoot));
  if (!parts.every((url) => existsSync(url))) return former;
  const [{ [`${adapter}Router`]: router }, options] = await Promise.all(parts.map((url) => import(url)));
  const read = options[adapter === 'b2b' ? 'readB2bOptions' : 'readBackendOptions'];
  return router === undefined ? former : (given, maxCachedSessions) => router({ ...read(given), maxCachedSessions });
}
