import { libRoot } from '../lib.ts';

/** One Express for all variants: the root's, which the package itself imports. */
export { default as express } from '../../node_modules/express/index.js';

/** An entry of the package under measurement. */
export const libUrl = (entry) => new URL(`${entry}/index.js`, libRoot);
