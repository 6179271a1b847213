import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { startWorkosStandIn } from '../../stand-ins/workos/index.ts';
import { startAuthkitIssuer } from '../support/authkit-issuer.ts';
import { codeBlocks } from '../support/markdown.ts';
import { runExamples } from '../support/recipe-code.ts';
import { createVisitor } from '../support/visitor.ts';
import { createAgent, versions } from './support/agents.ts';

/** The recipe of docs/streams.md, with its reader's own domain, a tool that says that it waits, and a route that ends sessions then. */
const directory = join(process.cwd(), '__tests__', 'mcp', 'reports', 'streams');
const path = 'docs/streams.md';
const endRoute = `
import { endSession } from 'express-auth-adapters/b2b';
app.post('/end/:userId', async (req, res) => {
  while (!globalThis.isWaiting) await new Promise((resolve) => setImmediate(resolve));
  await endSession(auth, { userId: req.params.userId });
  res.sendStatus(204);
});
app.listen(3000);`;

// Clients of version 2 say that they drop a refused refresh token.
beforeEach(() => void jest.spyOn(console, 'warn').mockReturnValue(undefined));
afterEach(() => jest.restoreAllMocks());
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it.each(versions)(
  'a tool call of client %s ends with its session',
  async (version) => {
    const [block, ...others] = codeBlocks({ path, text: readFileSync(path, 'utf8') }).filter(({ code }) =>
      code.includes('@modelcontextprotocol/'),
    );
    expect(others).toEqual([]);
    const issuer = await startAuthkitIssuer();
    const workos = await startWorkosStandIn({ clientId: 'client_test', apiKey: 'sk_test_streams' });
    mkdirSync(directory, { recursive: true });
    const file = join(directory, `mcp-${version[0]}.ts`);
    const code = (block?.code ?? '')
      .replace('example.authkit.app', issuer.issuer)
      .replace('await new Promise(', 'globalThis.isWaiting = true;\n    await new Promise(')
      .replace('\napp.listen(3000);', endRoute);
    writeFileSync(file, code);
    const examples = await runExamples([file], workos);
    try {
      const origin = examples.originOf(file);
      issuer.addResource(`${origin}/mcp`);
      const agent = createAgent(version, `${origin}/mcp`);
      await agent.finish(issuer.approve(await agent.findSignIn(), { id: 'user_ada' }));
      const call = agent.call('wait').then(
        () => 'answered',
        (error: unknown) => error,
      );
      await createVisitor(origin).post('/end/user_ada');
      const tooLate = new Promise((resolve) => setTimeout(resolve, 10_000, 'still open').unref());
      expect(await Promise.race([call, tooLate])).toHaveProperty('message');
    } finally {
      examples.kill();
      await Promise.all([issuer.close(), workos.close()]);
    }
  },
  60_000,
);
