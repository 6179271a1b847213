import express from 'express';
import { requireBearerAuth as requireBearerAuth1 } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import * as sdkExpress from '@modelcontextprotocol/express';
import { OAuthError } from '@modelcontextprotocol/server';
import { b2bAuth, createTokenVerifier } from '../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import type { B2bTestKit } from '../../lib/testing/index.ts';
import { sendJson } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';

const { requireBearerAuth: requireBearerAuth2 } = sdkExpress as any;
const resource = new URL('https://app.example.com/mcp');
const resourceMetadataUrl = 'https://app.example.com/.well-known/oauth-protected-resource/mcp';

/** The SDK's own guard, with our verifier. */
const guards = {
  '1.x': { TokenError: InvalidTokenError, requireBearerAuth: requireBearerAuth1 },
  '2.x': { TokenError: OAuthError, requireBearerAuth: requireBearerAuth2 },
} as const;

async function start(version: keyof typeof guards) {
  const { TokenError, requireBearerAuth } = guards[version];
  const kit = createB2bTestKit();
  const auth = b2bAuth(kit.options);
  const verifier = createTokenVerifier(auth, { InvalidTokenError: TokenError, resource });
  const app = express();
  app.use('/mcp', requireBearerAuth({ verifier, expectedResource: resource, resourceMetadataUrl }));
  app.use('/mcp', (req, res) => sendJson(res, (req as any).auth));
  const server = await serve(app);
  const visitor = createVisitor(server.origin);
  return {
    ...server,
    kit,
    call: (authorization: string) => visitor.get('/mcp', { headers: { authorization } }),
  };
}

describe.each(['1.x', '2.x'] as const)('requireBearerAuth of %s', (version) => {
  it('lets in what the verifier verifies', async () => {
    const app = await start(version);
    const answer = await app.call(await app.kit.bearer({}, { client: 'client_1', audience: resource.href }));
    expect([answer.status, answer.json.clientId, answer.json.resource]).toEqual([200, 'client_1', resource.href]);
    await app.close();
  });

  it.each([
    ['garbage', async () => 'Bearer x.y.z'],
    ['a session', async (kit: B2bTestKit) => kit.bearer()],
    ['another resource', async (kit: B2bTestKit) => kit.bearer({}, { audience: 'https://x.test' })],
    ['an old token', async (kit: B2bTestKit) => kit.bearer({ expired: true }, { audience: resource.href })],
  ] as const)('answers %s with 401 and the metadata, not with 500', async (_, mint) => {
    const app = await start(version);
    const { status, headers } = await app.call(await mint(app.kit));
    expect([status, headers['www-authenticate']]).toEqual([401, expect.stringContaining(resourceMetadataUrl)]);
    expect(headers['www-authenticate']).toMatch(/error="invalid_token"/);
    await app.close();
  });

  it('answers 500 in an outage: a client keeps its token', async () => {
    const app = await start(version);
    const token = await app.kit.bearer({}, { audience: resource.href });
    app.kit.simulate('down');
    expect((await app.call(token)).status).toBe(500);
    await app.close();
  });
});
