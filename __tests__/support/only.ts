import { isExpress, variant } from './variant.ts';

type Register = typeof it | typeof describe;

/** A test that has nothing to ask on this variant does not exist there: it is neither run nor skipped. */
function only<Kind extends Register>(isAsked: boolean, register: Kind): Kind {
  const nothing = (): undefined => undefined;
  return isAsked ? register : (Object.assign(nothing, { each: () => nothing }) as unknown as Kind);
}

/** For what only an Express application has: settings, `trust proxy`, params, a stack to look through. */
export const itOnExpress = only(isExpress, it);
export const describeOnExpress = only(isExpress, describe);

const isParsed = variant.front === 'parsers' || variant.front === 'everything';

/** For bodies that the application's own parsers refuse, or wait for, before the adapter sees them. */
export const itWithoutParsers = only(!isParsed, it);
export const describeWithoutParsers = only(!isParsed, describe);

/** For what is about http, or about headers from an untrusted peer. */
export const itWithoutProxy = only(!variant.isProxied, it);
export const describeWithoutProxy = only(!variant.isProxied, describe);

/** For places that the application names itself, which the mapping of a prefix does not see. */
export const itAtRoot = only(variant.prefix === '', it);
export const describeAtRoot = only(variant.prefix === '', describe);
