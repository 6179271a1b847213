// ts-jest for all configurations of jest. It compiles each file by itself and checks no types: `npm run types` does. Its own cache
// has each file once for each configuration. What it writes depends on the file, the compiler and its options alone, so here the
// variants, coverage and all others read what one of them has compiled.
import { createHash } from 'node:crypto';
import { MY_DIGEST, TsJestTransformer } from 'ts-jest';
import ts from 'typescript';

class SharedTransformer extends TsJestTransformer {
  getCacheKey(text, path, { instrument, supportsStaticESM, transformerConfig }) {
    const parts = [MY_DIGEST, ts.version, transformerConfig, path, text, instrument, supportsStaticESM];
    return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  }
}

export default { createTransformer: (options) => new SharedTransformer(options) };
