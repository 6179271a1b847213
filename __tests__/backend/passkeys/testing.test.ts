import express from 'express';
import request from 'supertest';
import { backendAuth, requireSession } from '../../../lib/backend/index.ts';
import { createBackendTestKit } from '../../../lib/testing/index.ts';

const ada = { user: { email: 'ada@example.com' } };

it('the kit signs in with a passkey, whatever the challenge, and asks for the second factor of who has one', async () => {
  const kit = createBackendTestKit();
  const app = express();
  app.use(backendAuth({ ...kit.options, signInMethods: ['password', 'passkey'] }));
  app.get('/fresh', requireSession({ maxAge: 300 }), (_req, res) => void res.send('fresh'));
  const signIn = async (credential: object) => {
    const agent = request.agent(app);
    const { body } = await agent.post('/auth/passkey').set('Accept', 'application/json').send({}).expect(200);
    const fields = { challengeId: body.challengeId, credential };
    return { agent, answer: await agent.post('/auth/passkey').set('Accept', 'application/json').send(fields) };
  };
  const { agent } = await signIn(kit.passkey(ada));
  expect((await agent.get('/auth/session').expect(200)).body.user.email).toBe('ada@example.com');
  await agent.get('/fresh').expect(200);
  expect((await signIn(kit.passkey({ ...ada, pending: 'factor' }))).answer.body.redirectTo).toBe('/auth/verify');
  expect((await signIn({ ...kit.passkey(ada), id: 'unknown' })).answer.status).toBe(422);
});
