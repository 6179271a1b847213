import type { Router } from 'express';
import { b2bAuth, backendAuth } from '../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import type { Handler } from '../support/handler-list.ts';
import { hosts, sendText } from '../support/hosts.ts';
import { ownRoutes } from '../support/own-sign-in.ts';
import type { OwnSignIn } from '../support/own-sign-in.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';
import { hostNames } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';

const b2bKit = createB2bTestKit();
const backendKit = createBackendTestKit();
const user = { email: 'ada@example.com' };

const adapters = {
  b2b: { auth: () => b2bAuth(b2bKit.options), tokens: () => b2bKit.tokens({ user }) },
  backend: { auth: () => backendAuth(backendKit.options), tokens: () => backendKit.tokens({ user }) },
};

describe.each(hostNames)('on %s', (hostName) => {
  describe.each(['b2b', 'backend'] as const)('with %s', (name) => {
    const own: OwnSignIn = { tokens: undefined };
    let server: RunningServer;

    beforeAll(async () => {
      const auth: Router = adapters[name].auth();
      const host = hosts[hostName]();
      host.use(auth as Handler);
      ownRoutes(host, () => auth, own);
      const missing: Handler = (_req, res) => sendText(res, 'not found', 404);
      host.use(missing);
      server = await serve(host.listener);
    });
    afterAll(() => server.close());

    it('an application’s own route signs in', async () => {
      own.tokens = await adapters[name].tokens();
      own.returnTo = '/inbox';
      const visitor = createVisitor(server.origin);
      const done = await visitor.postJson('/own');
      expect([done.status, done.json]).toEqual([200, { redirectTo: '/inbox' }]);
      expect((await visitor.getJson('/auth/session')).json.user.email).toBe(user.email);
    });

    it('refused tokens are a 422, and the former session stays', async () => {
      own.tokens = await adapters[name].tokens();
      const visitor = createVisitor(server.origin);
      await visitor.postJson('/own');
      own.tokens = { access_token: 'a.b.c', refresh_token: 'd', accessToken: 'a.b.c', refreshToken: 'd', user };
      const answer = await visitor.postJson('/own');
      expect([answer.status, answer.json.code, answer.setCookies]).toEqual([422, 'tokens_refused', []]);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
    });

    it('another site is refused', async () => {
      own.tokens = await adapters[name].tokens();
      const answer = await createVisitor(server.origin).post('/own', { headers: { 'sec-fetch-site': 'cross-site' } });
      expect([answer.status, answer.json.code, answer.setCookies]).toEqual([403, 'cross_site_request', []]);
    });

    it('a nonce is made and taken once', async () => {
      const visitor = createVisitor(server.origin);
      const { nonce } = (await visitor.getJson('/own/nonce')).json;
      expect((await visitor.postJson('/own/take')).json).toEqual({ nonce, again: null });
      expect((await visitor.postJson('/own/take')).json.nonce).toBeNull();
    });
  });
});
