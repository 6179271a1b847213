import express from 'express';
import request from 'supertest';
import { b2bAuth, currentSession, requireSession } from '../../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../../lib/testing/index.ts';

it('the kit simulates a switch of the organization, and refuses one that is not on the list', async () => {
  const kit = createB2bTestKit();
  const session = { organizationId: 'org_1', organizations: ['org_1', 'org_2'] };
  const app = express();
  app.use(b2bAuth(kit.options));
  app.get('/claims', requireSession(), (req, res) => void res.json(currentSession(req, 'b2b').claims));
  const agent = await kit.signIn(request.agent(app), session);
  const organizationOf = async () => (await agent.get('/auth/session').expect(200)).body.organizationId;

  await agent.post('/organization').send({ organizationId: 'org_3' }).expect(403);
  expect(await organizationOf()).toBe('org_1');
  await agent.post('/organization').send({ organizationId: 'org_2' }).expect(200, { redirectTo: '/' });
  expect(await organizationOf()).toBe('org_2');
  const { body: claims } = await agent.get('/claims');
  expect(claims).toMatchObject({ org_id: 'org_2' });
});
