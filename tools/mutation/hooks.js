// What jest resolves by its configuration, for Node's own loader: the package's own name and '@jest/globals'.
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const globals = new URL('./globals.js', import.meta.url).href;

/** Sources below `root` are loaded as they are: Node strips the types. */
export function resolveLikeJest(root) {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier === '@jest/globals') return { url: globals, shortCircuit: true };
      const own = /^express-auth-adapters(?:\/(.+))?$/.exec(specifier);
      if (own !== null) {
        const source = join(root, 'lib', own[1] ?? '', 'index.ts');
        if (existsSync(source)) return { url: pathToFileURL(source).href, shortCircuit: true };
      }
      return nextResolve(specifier, context);
    },
  });
}
