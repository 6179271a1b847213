import { jest } from '@jest/globals';
import express from 'express';
import type { Express } from 'express';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';

/** Two copies of this package in one process, as a `node_modules` of a workspace may hold them. */
const here = await import('../../lib/index.ts');
jest.resetModules();
const there = await import('../../lib/index.ts');

const { options } = createB2bTestKit();
const copies = 'it comes from another copy of express-auth-adapters; npm ls express-auth-adapters shows where';

const started = closeAfterEach();

async function errorAt(app: Express): Promise<string> {
  const onError: express.ErrorRequestHandler = (error: Error, _req, res, next) => {
    if (res.headersSent) next(error);
    else res.status(500).type('text').send(`${error.name}: ${error.message}`);
  };
  app.use(onError);
  const { origin } = await started(serve(app));
  return (await createVisitor(origin).get('/')).text;
}

it('are two copies', () => expect(there.b2bAuth).not.toBe(here.b2bAuth));

it.each([
  ['requireSession', (app: Express) => app.use(here.requireSession())],
  ['getSession', (app: Express) => app.get('/', async (req, res) => void res.json(await here.getSession(req)))],
])('%s behind the adapter of another copy names the copy', async (name, use) => {
  const app = express();
  app.use(there.b2bAuth(options));
  use(app);
  const said = await errorAt(app);
  expect(said).toContain(`ConfigurationError: ${name}: no adapter of this copy has seen this request`);
  expect(said).toContain(copies);
});

it('a function that takes an adapter names the copy of another one’s', () => {
  expect(() => here.forwardAuth(there.b2bAuth(options))).toThrow(copies);
  expect(() => here.forwardAuth(express.Router())).toThrow(/must be what b2bAuth\(\) or backendAuth\(\) returned$/);
});

it('an adapter of the same copy is not taken for another one’s', async () => {
  const app = express();
  app.use('/elsewhere', here.b2bAuth(options));
  app.get('/', async (req, res) => void res.json(await here.getSession(req)));
  expect(await errorAt(app)).not.toContain('copy');
});
