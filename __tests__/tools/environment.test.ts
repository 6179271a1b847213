import { globSync, readFileSync } from 'node:fs';
import { isDevelopment, isProduction } from '../../lib/tools/environment.ts';

it.each<[string | undefined, boolean, boolean]>([
  ['production', true, false],
  ['"production"', true, false],
  [" 'production'\n", true, false],
  ['development', false, true],
  ['"development"', false, true],
  [undefined, false, true],
  ['', false, false],
  ['test', false, false],
  ['Production', false, false],
])('NODE_ENV %j is production: %s, development: %s', (mode, production, development) => {
  const environment = { NODE_ENV: mode };
  expect([isProduction(environment), isDevelopment(environment)]).toEqual([production, development]);
});

it('nothing else reads NODE_ENV, except to print it', () => {
  const reading = globSync('lib/**/*.ts').filter((path) => {
    const code = readFileSync(path, 'utf8').replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
    return /\['NODE_ENV'\](?! \?\? 'not set')|\.NODE_ENV\b|\{ NODE_ENV\b/.test(code);
  });
  expect(reading.map((path) => path.replaceAll('\\', '/'))).toEqual(['lib/tools/environment.ts']);
});
