import { setTimeout as wait } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import express from 'express';
import { decodeJwt } from 'jose';
import { backendAuth, endSession, protectResource } from '../../../lib/backend/index.ts';
import type { ProtectResourceOptions } from '../../../lib/backend/index.ts';
import { codeBlocks } from '../../support/markdown.ts';
import { allowInPages, disconnectInPages, open } from '../../support/person.ts';
import { serve } from '../../support/servers.ts';
import { createVisitor } from '../../support/visitor.ts';
import type { Visitor } from '../../support/visitor.ts';
import { runSql } from '../support/database.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { startProject } from '../support/project.ts';
import type { Project, User } from '../support/project.ts';
import { consentPageOf } from '../support/third-party.ts';

/** Where `npm ci --prefix __tests__/mcp` has not run, there is no agent. */
const hasAgents = existsSync('__tests__/mcp/node_modules/@modelcontextprotocol/sdk');
const describeAgents = hasAgents ? describeOwnGoTrue : describe.skip;

const versions = ['1.x', '2.x'] as const;
const hookName = `bind_to_resource_${randomUUID().replaceAll('-', '')}`;

/** The function of docs/mcp.md for a resource, in a schema where the suite's user may create it. */
function hookFor(resource: string): string {
  const [sql] = codeBlocks({ path: 'docs/mcp.md', text: readFileSync('docs/mcp.md', 'utf8') }).filter(
    ({ language }) => language === 'sql',
  );
  const [definition = ''] = (sql?.code ?? '').split('\ngrant usage');
  return definition
    .replace('public.bind_to_resource', `auth.${hookName}`)
    .replace('https://app.example.com/mcp', resource);
}

async function startApp(
  project: Project,
  options: Partial<ProtectResourceOptions>,
  resourceOf: (url: string) => object,
) {
  const { handlers } = await import('../../mcp/support/servers.ts');
  const settings = { url: project.url, anonKey: project.publishableKey, throttle: false } as const;
  const auth = backendAuth({ ...settings, oauthConsent: true });
  const app = express();
  // The port is known once it listens, and the audience names it.
  const server = await serve(app);
  const url = `${server.origin}/mcp`;
  app.use(protectResource(auth, { path: '/mcp', clients: 'any', attach: true, ...options, ...resourceOf(url) }));
  app.use(auth);
  app.all('/mcp', ...handlers['2.x']());
  /** A person signs in on the application's pages, and allows an agent there. @returns where the browser is sent */
  const allow = async (user: User, signIn: URL, visitor: Visitor = createVisitor(server.origin)): Promise<URL> =>
    allowInPages(visitor, user, await consentPageOf(server.origin, signIn));
  return { ...server, url, auth, allow };
}

const signingKeys = { 'a shared secret': [], keys: [createSigningKey('only')] } as const;

describeAgents('an agent that knows nothing but the URL, at a project with', () => {
  describe.each(['a shared secret', 'keys'] as const)('%s', describeFlow);
});

function describeFlow(kind: keyof typeof signingKeys): void {
  let project: Project;
  let user: User;
  beforeAll(async () => {
    project = await startProject({ keys: signingKeys[kind], settings: { GOTRUE_JWT_EXP: '6' } });
  });
  beforeEach(async () => {
    user = await project.addUser();
  });
  afterAll(() => project.close());

  it.each(versions)(
    'client %s: finds the metadata, registers, signs in, calls, refreshes, is revoked, is refused',
    async (version) => {
      const { createAgent } = await import('../../mcp/support/agents.ts');
      const app = await startApp(project, { scopes: ['email'], audience: 'authenticated' }, () => ({}));
      const agent = createAgent(version, app.url);

      const signIn = await agent.findSignIn();
      expect(signIn.origin + signIn.pathname).toBe(`${project.url}/auth/v1/oauth/authorize`);
      expect(signIn.searchParams.get('resource')).toBe(app.url);
      const browser = createVisitor(app.origin);
      await agent.finish(await app.allow(user, signIn, browser));

      const who = await agent.call('whoami');
      expect(who).toMatchObject({
        clientId: agent.kept.client.client_id,
        scopes: expect.arrayContaining(['email']),
        extra: { userId: user.id },
      });
      expect(who.resource).toBeUndefined();
      expect(await agent.tools()).toEqual(['whoami', 'echo']);

      // The token expires by itself; the client refreshes it.
      const first = String(agent.kept.tokens.access_token);
      const { exp = 0 } = decodeJwt(first);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, exp * 1000 + 1_000 - Date.now())));
      expect((await agent.call('whoami')).token).not.toBe(first);

      // The person disconnects it: its access token is refused at once, its refresh token gone, and it has to ask again.
      const last = String(agent.kept.tokens.access_token);
      const list = await disconnectInPages(browser, app.origin, `Agent ${version}`);
      expect(list.page.text).toContain('You haven’t allowed any app.');
      const refused = await createVisitor(app.origin).get('/mcp', { headers: { authorization: `Bearer ${last}` } });
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([
        401,
        expect.stringContaining('invalid_token'),
      ]);
      delete agent.kept.asked;
      const again = await agent.findSignIn();
      expect(again.pathname).toBe('/auth/v1/oauth/authorize');
      // It is asked for again, although the person has allowed it before.
      const question = await open(browser, await consentPageOf(app.origin, again));
      expect(question.page.text).toContain(`Agent ${version}`);
      await app.close();
    },
  );

  it('endSession ends what the agent has, and its refreshed tokens, until the person signs in to it again', async () => {
    const { createAgent } = await import('../../mcp/support/agents.ts');
    const app = await startApp(project, { audience: 'authenticated' }, () => ({}));
    const agent = createAgent('2.x', app.url);
    await agent.finish(await app.allow(user, await agent.findSignIn()));
    expect((await agent.call('whoami')).extra.userId).toBe(user.id);
    await endSession(app.auth, { userId: user.id });
    await expect(agent.call('whoami')).rejects.toThrow();
    // GoTrue's tokens begin in whole seconds, so one of the same second is refused.
    await wait(1_000);
    const again = createAgent('2.x', app.url);
    await again.finish(await app.allow(user, await again.findSignIn()));
    expect((await again.call('whoami')).extra.userId).toBe(user.id);
    await app.close();
  });

  it('the session of the person’s own app is refused, unless the resource is for it, too', async () => {
    const signedIn = await project.ask('/token?grant_type=password', 'POST', user);
    const call = ({ origin }: { readonly origin: string }) =>
      createVisitor(origin).post('/mcp', { headers: { authorization: `Bearer ${signedIn.body.access_token}` } });
    const strict = await startApp(project, { audience: 'authenticated' }, () => ({}));
    expect((await call(strict)).status).toBe(401);
    await strict.close();
    const open = await startApp(project, { audience: 'authenticated', firstParty: true }, () => ({}));
    // The SDK's own answer to a request without a message.
    expect((await call(open)).status).toBe(406);
    await open.close();
  });
}

describeAgents('the access token hook of docs/mcp.md', () => {
  let project: Project;
  beforeAll(async () => {
    project = await startProject({
      keys: [createSigningKey('only')],
      settings: {
        GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED: 'true',
        GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI: `pg-functions://postgres/auth/${hookName}`,
      },
    });
  });
  afterAll(async () => {
    await runSql(`drop function if exists auth.${hookName}(jsonb)`, {});
    await project.close();
  });

  it.each(versions)('binds the tokens of agents to the resource, client %s', async (version) => {
    const { createAgent } = await import('../../mcp/support/agents.ts');
    const user = await project.addUser();
    const app = await startApp(project, {}, (audience) => ({ audience }));
    const other = await startApp(project, {}, (audience) => ({ audience }));
    await runSql(hookFor(app.url), {});
    const agent = createAgent(version, app.url);
    await agent.finish(await app.allow(user, await agent.findSignIn()));
    expect(await agent.call('whoami')).toMatchObject({ resource: app.url, extra: { userId: user.id } });
    const headers = { authorization: `Bearer ${agent.kept.tokens.access_token}` };
    expect((await createVisitor(other.origin).get('/mcp', { headers })).status).toBe(401);
    // A session of the person's own app keeps its audience.
    const visitor = createVisitor(app.origin);
    expect((await visitor.postJson('/auth/login', { email: user.email, password: user.password })).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    await Promise.all([app.close(), other.close()]);
  });
});
