/** `express-auth-adapters` is this package's source, for `node --test`. */
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, nextResolve) {
    const [isOwn, entry] = /^express-auth-adapters(?:\/(\w+))?$/.exec(specifier) ?? [];
    if (isOwn === undefined) return nextResolve(specifier, context);
    const path = entry === undefined ? '../../lib/index.ts' : `../../lib/${entry}/index.ts`;
    return nextResolve(new URL(path, import.meta.url).href, context);
  },
});
