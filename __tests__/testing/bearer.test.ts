import express from 'express';
import { decodeJwt } from 'jose';
import request from 'supertest';
import { b2bAuth, backendAuth, currentSession, protectResource, requireSession } from '../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import { withNodeEnv } from '../support/node-env.ts';

const kits = { b2b: createB2bTestKit(), backend: createBackendTestKit() };
const auths = { b2b: b2bAuth(kits.b2b.options), backend: backendAuth(kits.backend.options) };
const person = { user: { email: 'ada@example.com' } };

describe.each(['b2b', 'backend'] as const)('kit.bearer of %s', (adapter) => {
  const kit = kits[adapter];

  function appFor(options: object = {}): express.Express {
    const app = express();
    app.use(protectResource(auths[adapter], { path: '/mcp', clients: 'any', audience: 'urn:mcp' }));
    app.use(auths[adapter]);
    app.get('/api', requireSession({ credentials: ['bearer'], ...options }), (req, res) => {
      res.json({ id: currentSession(req, adapter).user.id });
    });
    app.get('/mcp', (req, res) => void res.json({ id: currentSession(req, adapter).user.id }));
    return app;
  }

  it('resolves to the header of a signed-in user, the same as the cookie’s', async () => {
    const bearer = await kit.bearer(person);
    expect(bearer).toMatch(/^Bearer [\w.-]+$/);
    const answer = await request(appFor()).get('/api').set('Authorization', bearer).expect(200);
    const { body } = await request(appFor({ credentials: ['cookie'] }))
      .get('/api')
      .set('Cookie', await kit.cookie(person));
    expect(answer.body).toEqual(body);
    await request(appFor())
      .get('/api')
      .set('Authorization', await kit.bearer())
      .expect(200);
  });

  it('with a client and an audience is no session, and opens the resource', async () => {
    const bearer = await kit.bearer(person, { client: 'client_agent', audience: 'urn:mcp', scopes: ['a', 'b'] });
    expect(decodeJwt(bearer.replace('Bearer ', ''))).toMatchObject({
      client_id: 'client_agent',
      aud: 'urn:mcp',
      scope: 'a b',
    });
    await request(appFor()).get('/mcp').set('Authorization', bearer).expect(200);
    await request(appFor()).get('/api').set('Authorization', bearer).expect(401);
    await request(appFor({ clients: ['client_agent'] }))
      .get('/api')
      .set('Authorization', bearer)
      .expect(401);
    await request(appFor())
      .get('/mcp')
      .set('Authorization', await kit.bearer(person))
      .expect(401);
  });

  it('takes what the other helpers take', async () => {
    const options = { audience: 'urn:mcp', client: 'c' };
    await request(appFor())
      .get('/mcp')
      .set('Authorization', await kit.bearer({ expired: true }, options))
      .expect(401);
    const claims = { claims: { role: 'authenticated', plan: 'pro' } };
    expect(decodeJwt((await kit.bearer(claims, options)).replace('Bearer ', ''))).toMatchObject({ plan: 'pro' });
  });

  it('refuses to run in production', () =>
    withNodeEnv('production', () => expect(kit.bearer()).rejects.toThrow('refuses to run with NODE_ENV=production')));
});
