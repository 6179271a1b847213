import { totp } from '../../../stand-ins/supabase/totp.ts';
import { ownRoutes } from '../../support/own-sign-in.ts';
import type { OwnSignIn } from '../../support/own-sign-in.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { enrollApp, sessionOf, useRealApp } from '../support/application.ts';
import type { Setup } from '../support/application.ts';
import { describeGoTrue, describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey, phoneProvider } from '../support/gotrue.ts';
import type { Project, User } from '../support/project.ts';
import { thirdPartyTokens } from '../support/third-party.ts';

const own: OwnSignIn = { tokens: undefined };
const hooks: unknown[] = [];
const setup: Setup = {
  mount: (host, auth) => ownRoutes(host, () => auth, own),
  options: { onSignIn: ({ session, ...others }) => void hooks.push([session.user.id, Object.keys(others)]) },
};

beforeEach(() => void hooks.splice(0));

async function tokensOf(project: Project, { email, password }: User) {
  const { body } = await project.ask('/token?grant_type=password', 'POST', { email, password });
  return body as { access_token: string; refresh_token: string };
}

const store = (visitor: Visitor, tokens: unknown, returnTo?: string): Promise<Answer> => {
  Object.assign(own, { tokens, returnTo });
  return visitor.postJson('/own');
};

const whoIs = async (visitor: Visitor): Promise<unknown> => {
  const { status, json } = await visitor.getJson('/auth/session');
  return status === 200 ? json.user.id : status;
};

describeGoTrue('tokens that the application has, of a project with a shared secret', () => {
  const real = useRealApp(setup);

  it('become a session, which is renewed', async () => {
    const user = await real.project.addUser();
    const visitor = real.app.visitor();
    const done = await store(visitor, await tokensOf(real.project, user), '/account');
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account' }]);
    expect(await whoIs(visitor)).toBe(user.id);
    expect(hooks).toEqual([[user.id, ['req', 'returnTo', 'identities']]]);
    const { data } = await real.app.asVisitor(visitor, (client) => client.auth.getUser());
    expect(data.user.id).toBe(user.id);
    expect((await real.project.refresh(sessionOf(visitor).refresh_token)).status).toBe(200);
  });

  it('replace the former session, which ends at GoTrue', async () => {
    const [one, other] = [await real.project.addUser(), await real.project.addUser()];
    const visitor = await real.app.signedIn(one);
    const former = sessionOf(visitor).refresh_token;
    await store(visitor, await tokensOf(real.project, other));
    expect(await whoIs(visitor)).toBe(other.id);
    // GoTrue finds the token and no session while its sign-out is not done: {"code":"session_not_found"}
    const { code } = (await real.project.refresh(former)).body;
    expect(['refresh_token_not_found', 'session_not_found']).toContain(code);
  });

  it('are refused where they are another application’s, and the former session stays', async () => {
    const [one, other] = [await real.project.addUser(), await real.project.addUser()];
    const visitor = await real.app.signedIn(one);
    const answer = await store(visitor, await thirdPartyTokens(real.project, other));
    expect([answer.status, answer.json.code, answer.setCookies]).toEqual([422, 'tokens_refused', []]);
    expect(await whoIs(visitor)).toBe(one.id);
  });

  it('are refused where GoTrue has ended their session', async () => {
    const user = await real.project.addUser();
    const tokens = await tokensOf(real.project, user);
    await real.project.ask('/logout?scope=local', 'POST', undefined, tokens.access_token);
    const visitor = real.app.visitor();
    const answer = await store(visitor, tokens);
    expect([answer.status, answer.json.code, answer.setCookies]).toEqual([422, 'tokens_refused', []]);
  });

  it('are refused where they are made up', async () => {
    const user = await real.project.addUser();
    const tokens = await tokensOf(real.project, user);
    const forged = { ...tokens, access_token: `${tokens.access_token.slice(0, -6)}AAAAAA` };
    for (const bad of [forged, { access_token: 'a.b.c', refresh_token: 'd' }]) {
      const answer = await store(real.app.visitor(), bad);
      expect([answer.status, answer.json.code]).toEqual([422, 'tokens_refused']);
    }
    expect((await real.project.refresh(tokens.refresh_token)).status).toBe(200);
  });

  it('need the second factor of their user, and onSignIn runs with it', async () => {
    const user = await real.project.addUser();
    const owner = await real.app.signedIn(user);
    const secret = await enrollApp(owner);
    hooks.splice(0);
    const visitor = real.app.visitor();
    const first = await store(visitor, await tokensOf(real.project, user), '/account');
    expect(first.json).toEqual({ redirectTo: '/auth/verify?returnTo=%2Faccount' });
    expect([await whoIs(visitor), hooks]).toEqual([401, []]);
    const done = await visitor.postJson('/auth/verify', { code: totp(secret) });
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account' }]);
    expect([await whoIs(visitor), hooks.length]).toEqual([user.id, 1]);
    expect((await visitor.getJson('/secure')).status).toBe(200);
  });
});

describeOwnGoTrue('tokens that the application has, of a project with signing keys and a phone provider', () => {
  const phone = '15550001111';
  const real = useRealApp({
    ...setup,
    gotrue: {
      keys: [createSigningKey('one')],
      settings: phoneProvider(phone),
    },
  });

  it('sign in with a code by text message', async () => {
    expect((await real.project.ask('/otp', 'POST', { phone: `+${phone}` })).status).toBe(200);
    const answer = { phone: `+${phone}`, token: '123456', type: 'sms' };
    const { body } = await real.project.ask('/verify', 'POST', answer);
    const visitor = real.app.visitor();
    expect((await store(visitor, body)).status).toBe(200);
    const { user } = (await visitor.getJson('/auth/session')).json;
    expect([user.phone, user.email]).toEqual([phone, null]);
  });

  it('cost GoTrue no call where they are made up, and one where they are good', async () => {
    const user = await real.project.addUser();
    const tokens = await tokensOf(real.project, user);
    await store(real.app.visitor(), { ...tokens, access_token: `${tokens.access_token.slice(0, -6)}AAAAAA` });
    expect(real.project.proxy.to('/user')).toEqual([]);
    expect((await store(real.app.visitor(), tokens)).status).toBe(200);
    expect(real.project.proxy.to('/user')).toHaveLength(1);
  });
});
