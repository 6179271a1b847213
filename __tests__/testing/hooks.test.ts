import express from 'express';
import request from 'supertest';
import { b2bAuth } from '../../lib/b2b/index.ts';
import { backendAuth } from '../../lib/backend/index.ts';
import { AuthError } from '../../lib/errors.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';

const person = { user: { email: 'eve@example.com' } };
let seen: (string | null | undefined)[];
let refuse = false as boolean;
const onSignIn = ({ session }: { session: { user: { email?: string | null } } }): void => {
  seen.push(session.user.email);
  if (refuse) throw new AuthError('forbidden');
};
beforeEach(() => {
  seen = [];
  refuse = false;
});

const b2b = (options = {}) => {
  const kit = createB2bTestKit();
  return { kit, app: express().use(b2bAuth({ ...options, ...kit.options, onSignIn })) };
};
const backend = (options = {}) => {
  const kit = createBackendTestKit();
  return { kit, app: express().use(backendAuth({ ...options, ...kit.options, onSignIn })) };
};

describe.each([
  ['B2B', b2b],
  ['backend', backend],
] as const)('kit.signIn of the %s kit', (_, start) => {
  it('does not run onSignIn, and does with hooks', async () => {
    const { kit, app } = start();
    await kit.signIn(request.agent(app), person);
    expect(seen).toEqual([]);
    const agent = await kit.signIn(request.agent(app), person, { hooks: true });
    expect(seen).toEqual(['eve@example.com']);
    expect((await agent.get('/auth/session')).body.user.email).toBe('eve@example.com');
  });

  it('finds a moved path', async () => {
    const { kit, app } = start({ pathPrefix: '/v1/auth' });
    const agent = await kit.signIn(request.agent(app), person, { hooks: true, loginPath: '/v1/auth/login' });
    expect((await agent.get('/v1/auth/session')).status).toBe(200);
  });

  it('fails where the hook refuses, or the path is wrong', async () => {
    refuse = true;
    const { kit, app } = start();
    await expect(kit.signIn(request.agent(app), person, { hooks: true })).rejects.toThrow('with 403 forbidden');
    const wrong = kit.signIn(request.agent(app), person, { hooks: true, loginPath: '/nowhere' });
    await expect(wrong).rejects.toThrow('with 404');
  });

  it('says what it needs of the agent', async () => {
    const jar = { setCookie: () => undefined };
    await expect(start().kit.signIn({ jar }, person, { hooks: true })).rejects.toThrow('needs an agent that sends');
  });
});
