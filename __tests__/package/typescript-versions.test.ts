import { rm } from 'node:fs/promises';
import { installTarball, typeErrors } from '../support/consumer.ts';

/** The range of docs/recipes/modules.md: the oldest TypeScript that the declarations compile with, and the newest. */
const versions = { oldest: 'typescript-oldest', newest: 'typescript-newest' } as const;
const typescript = [`${versions.oldest}@npm:typescript@5.4`, `${versions.newest}@npm:typescript@7`];

describe.each([
  {
    entry: 'b2b',
    factory: 'b2bAuth',
    kit: 'createB2bTestKit',
    client: 'createB2bClient',
    sdks: ['@workos-inc/node@11'],
  },
  {
    entry: 'backend',
    factory: 'backendAuth',
    kit: 'createBackendTestKit',
    client: 'createBackendClient',
    sdks: ['@supabase/ssr@0.12', '@supabase/supabase-js@2'],
  },
])(
  'every entry, with all declarations checked, beside the SDK of $entry alone',
  ({ entry, factory, kit, client, sdks }) => {
    let directory: string;
    beforeAll(async () => {
      directory = await installTarball(['express@5', ...sdks], typescript);
    }, 300_000);
    afterAll(() => rm(directory, { recursive: true, force: true }));

    it.each([
      [versions.oldest, 'es2020'],
      [versions.oldest, 'es2022'],
      [versions.newest, 'es2020'],
      [versions.newest, 'es2022'],
    ])(
      'compiles with %s and target %s',
      async (version, target) => {
        const source = `
        import { ${factory} as whole, getSession, requireSession } from 'express-auth-adapters';
        import { ${factory} } from 'express-auth-adapters/${entry}';
        import { ${kit} } from 'express-auth-adapters/testing';
        import { ${client} } from 'express-auth-adapters/client';
        import { passportShape } from 'express-auth-adapters/passport';
        import express from 'express';
        const app = express();
        app.use(${factory}(${kit}().options), whole(), requireSession(), passportShape({ load: ({ user }) => user }));
        app.get('/', async (req, res) => void res.json(await getSession(req)));
        void ${client}();`;
        const errors = await typeErrors(directory, source, { target, skipLibCheck: false }, version);
        // supabase-js' own declarations do not compile with the DOM of newer versions.
        expect(errors.filter((line) => !line.startsWith('node_modules/@supabase/'))).toEqual([]);
      },
      120_000,
    );
  },
);
