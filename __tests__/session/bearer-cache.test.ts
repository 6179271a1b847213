import { definitionOf } from '../../lib/http/adapter.ts';
import { adapters, startResourceApp } from '../support/resource-app.ts';

/** As `storeSession` gets it: from the application's own code, in whatever form. */
const prefixes = ['', '\n', '\n\n', ' ', '\nsession ', '\nresource ', 'session ', 'resource ', '\r\n', '\0'];

it.each(adapters)('no spelling of a token that opened a resource of %s is found as a session', async (adapter) => {
  const app = await startResourceApp();
  const bound = { client: 'client_agent', audience: adapter === 'b2b' ? app.identifiers.b2b : 'authenticated' };
  const header = await app.kits[adapter].bearer({ user: { email: 'ada@example.com' } }, bound);
  const token = header.replace('Bearer ', '');
  expect((await app.call(adapter, header)).status).toBe(200);
  const { resolver } = definitionOf('test', app.auths[adapter]);
  for (const prefix of adapter === 'b2b' ? prefixes : prefixes.slice(1)) {
    const found = await resolver.resolveBearer(prefix + token, {});
    expect({ prefix, found: found?.user.id }).toEqual({ prefix, found: undefined });
  }
  await app.close();
});
