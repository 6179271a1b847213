import express from 'express';
import request from 'supertest';
import { backendAuth, requireSession } from '../../../lib/backend/index.ts';
import { createBackendTestKit } from '../../../lib/testing/index.ts';

const ada = { user: { email: 'ada@example.com' } };

it('the kit creates an agent with a second factor, and one that must still give it', async () => {
  const kit = createBackendTestKit();
  const app = express();
  app.use(backendAuth(kit.options));
  app.get('/vault', requireSession({ adapter: 'backend', aal: 'aal2' }), (_req, res) => void res.send('vault'));
  const raised = await kit.signIn(request.agent(app), { ...ada, aal: 'aal2' });
  await raised.get('/vault').expect(200, 'vault');
  const agent = await kit.signIn(request.agent(app), { ...ada, pending: 'factor' });
  await agent.get('/auth/session').expect(401);
  await agent.post('/auth/verify').send({ code: '000000' }).expect(422);
  await agent.post('/auth/verify').send({ code: kit.code, returnTo: '/vault' }).expect(200, { redirectTo: '/vault' });
  await agent.get('/vault').expect(200, 'vault');
});
