import { jest } from '@jest/globals';
import express from 'express';
import express4 from 'express4';
import { b2bAuth, endSession, protectResource } from '../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { startAuthkitIssuer } from '../support/authkit-issuer.ts';
import type { AuthkitIssuer } from '../support/authkit-issuer.ts';
import { createClock } from '../support/clock.ts';
import { serve } from '../support/servers.ts';
import { createAgent, versions } from './support/agents.ts';
import type { Version } from './support/agents.ts';
import { handlers, serverNames } from './support/servers.ts';
import type { ServerName } from './support/servers.ts';

// Clients of version 2 say that they drop a refused refresh token.
beforeEach(() => void jest.spyOn(console, 'warn').mockReturnValue(undefined));
afterEach(() => jest.restoreAllMocks());

const hosts = { 'Express 5': express, 'Express 4': express4 } as const;
const ada = { id: 'user_ada', organizationId: 'org_north' };

async function start(host: keyof typeof hosts, server: ServerName) {
  const clock = createClock();
  const issuer: AuthkitIssuer = await startAuthkitIssuer({ now: clock.now });
  const kit = createB2bTestKit({ now: clock.now });
  // The kit's fetch plays WorkOS' API, which is not asked here.
  const auth = b2bAuth({ ...kit.options, authkitDomain: issuer.issuer, fetch: (...args) => fetch(...args) });
  const app = hosts[host]();
  app.use(protectResource(auth, { path: '/mcp', scopes: ['openid', 'offline_access'], attach: true }));
  app.use(auth);
  app.all('/mcp', ...handlers[server]());
  const running = await serve(app);
  const url = `${running.origin}/mcp`;
  issuer.addResource(url);
  return {
    url,
    clock,
    issuer,
    auth,
    async close() {
      await running.close();
      await issuer.close();
    },
  };
}

const cases = (Object.keys(hosts) as (keyof typeof hosts)[]).flatMap((host) =>
  serverNames.flatMap((server) => versions.map((version) => [host, server, version] as const)),
);

it.each(cases)(
  '%s, server %s, client %s: an agent that knows nothing but the URL',
  async (host, server, version: Version) => {
    const started = await start(host, server);
    const { url, clock, issuer, auth } = started;
    const agent = createAgent(version, url);

    const signIn = await agent.findSignIn();
    expect(signIn.origin).toBe(issuer.issuer);
    expect(signIn.searchParams.get('resource')).toBe(url);
    expect([...issuer.clients.values()]).toMatchObject([{ name: `Agent ${version}` }]);

    await agent.finish(issuer.approve(signIn, ada));
    expect(await agent.tools()).toEqual(['whoami', 'echo']);
    expect(await agent.call('whoami')).toMatchObject({
      token: agent.kept.tokens.access_token,
      resource: url,
      extra: { userId: ada.id, organizationId: ada.organizationId },
    });
    expect(await agent.call('echo', { text: 'hello' })).toEqual({ text: 'hello' });

    // The access token expires: the client refreshes it by itself.
    const first = agent.kept.tokens.access_token;
    clock.advance(301_000);
    expect((await agent.call('whoami')).token).not.toBe(first);

    // The application ends the user's sessions: what was issued until then is refused, and the client refreshes.
    await endSession(auth, { userId: ada.id });
    clock.advance(1_000);
    expect((await agent.call('whoami')).extra.userId).toBe(ada.id);

    // The person withdraws what they allowed: nothing is left to refresh, and the client asks them again.
    issuer.revoke(ada);
    clock.advance(301_000);
    delete agent.kept.asked;
    const again = await agent.findSignIn();
    await agent.finish(issuer.approve(again, ada));
    expect((await agent.call('whoami')).extra.userId).toBe(ada.id);
    await started.close();
  },
);
