import { spawnSync } from 'node:child_process';
import type * as v from 'valibot';
import { b2bVariables } from '../../lib/b2b/options.ts';
import type { B2bAuthOptions, B2bOptions } from '../../lib/b2b/options.ts';
import { backendSchema, env as backendVariables } from '../../lib/backend/option-schema.ts';
import type { BackendAuthOptions } from '../../lib/backend/options.ts';
import type { sharedEntries, SharedAuthOptions } from '../../lib/http/options.ts';
import { optionsOf, parseComment } from '../../tools/option-table.ts';

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type BackendInput = v.InferInput<typeof backendSchema>;
type B2bKey = Exclude<keyof B2bOptions, 'passwords' | 'isFallbackPassword'> | 'cookiePassword';

/** Each documented option is in the schema, and the other way round; what the backend's schema takes is documented so. */
const ties: readonly [
  Same<keyof SharedAuthOptions, keyof typeof sharedEntries>,
  Same<keyof B2bAuthOptions, B2bKey>,
  Same<keyof BackendAuthOptions, keyof BackendInput>,
  BackendInput extends BackendAuthOptions ? true : false,
] = [true, true, true, true];

it('ties the documented interfaces to the schemas that check them', () => {
  expect(ties).not.toContain(false);
});

it('keeps docs/options.md in sync with the code', () => {
  const { status, stderr } = spawnSync(process.execPath, ['tools/option-table.ts', '--check'], { encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 0 });
});

it.each(['B2bAuthOptions', 'BackendAuthOptions', 'SharedAuthOptions', 'CookieOptions', 'ThrottleOptions'])(
  'has a comment on every option of %s, with an explanation or a default',
  (name) => {
    const rows = optionsOf(name);
    expect(rows.length).toBeGreaterThan(1);
    const bare = rows.filter(({ meaning, fallback }) => meaning === '' && fallback === '');
    expect(bare.map((row) => row.name)).toEqual([]);
  },
);

it.each([
  ['B2bAuthOptions', b2bVariables],
  [
    'BackendAuthOptions',
    Object.fromEntries(Object.entries(backendVariables).filter(([name]) => name !== 'appBaseUrl')),
  ],
] as const)('names the variables of %s that are read, in their order', (name, variables) => {
  const documented = optionsOf(name).filter((row) => row.variables.length > 0);
  expect(Object.fromEntries(documented.map((row) => [row.name, row.variables]))).toEqual(variables);
});

it.each(['BackendAuthOptions', 'SharedAuthOptions'])('names the defaults of %s that the schema has', (name) => {
  for (const { name: option, fallback } of optionsOf(name)) {
    const entry: unknown = Reflect.get(backendSchema.entries, option);
    const inSchema: unknown =
      typeof entry === 'object' && entry !== null && 'default' in entry ? entry.default : undefined;
    if (!['string', 'number', 'boolean'].includes(typeof inSchema)) continue;
    expect({ option, fallback: fallback.replaceAll(/[`,]/g, '') }).toEqual({
      option,
      fallback: expect.stringMatching(new RegExp(`^${String(inSchema)}\\b`)),
    });
  }
});

it('parses the variables and defaults in a comment', () => {
  expect(parseComment("The provider's host. Env `A_HOST`, then `B_HOST`; default `a.example`. More.")).toEqual({
    variables: ['A_HOST', 'B_HOST'],
    fallback: '`a.example`',
    meaning: "The provider's host. More.",
  });
  expect(parseComment('A path. Default `/x`.')).toEqual({ variables: [], fallback: '`/x`', meaning: 'A path.' });
  expect(parseComment('Default: none.')).toEqual({ variables: [], fallback: 'none', meaning: '' });
});
