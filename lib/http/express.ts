import type Express from 'express';
import loaded from './express.cjs';

export const expressProblems: readonly string[] =
  loaded === undefined ? ['express must be installed beside this package: npm install express'] : [];

/** Its absence is a problem of every adapter's options, so where an adapter is, it is. */
export function useExpress(): typeof Express {
  if (loaded === undefined) throw new TypeError(expressProblems.join());
  return loaded;
}
