import { createHash, randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import { cookieName, sessionOf, setSession, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import type { User } from '../support/project.ts';

describeGoTrue('a token that was issued to another application', () => {
  const real = useRealApp();

  /** What an application gets that the user allowed to know who they are. */
  async function thirdPartyTokens(user: User) {
    const { access_token: token } = sessionOf(await real.app.signedIn(user));
    const redirectUri = 'http://127.0.0.1:4000/back';
    const { body: client } = await real.project.ask('/oauth/clients/register', 'POST', {
      client_name: 'Another application',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
    });
    const verifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: client.client_id,
      redirect_uri: redirectUri,
      scope: 'email',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    const start = await fetch(`${real.project.url}/auth/v1/oauth/authorize?${query.toString()}`, {
      redirect: 'manual',
    });
    const id = new URL(start.headers.get('location')!).searchParams.get('authorization_id')!;
    await real.project.ask(`/oauth/authorizations/${id}`, 'GET', undefined, token);
    const { body } = await real.project.ask(
      `/oauth/authorizations/${id}/consent`,
      'POST',
      { action: 'approve' },
      token,
    );
    const answer = await fetch(`${real.project.url}/auth/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: new URL(body.redirect_url).searchParams.get('code')!,
        client_id: client.client_id,
        redirect_uri: redirectUri,
        code_verifier: verifier,
      }),
    });
    return answer.json() as Promise<{ access_token: string; refresh_token: string }>;
  }

  it('opens no session, whatever else it says', async () => {
    const user = await real.project.addUser();
    const tokens = await thirdPartyTokens(user);
    const { client_id: clientId, role, sub } = decodeJwt(tokens.access_token);
    expect([typeof clientId, role, sub]).toEqual(['string', 'authenticated', user.id]);

    real.app.events.splice(0);
    const visitor = real.app.visitor();
    setSession(visitor, { ...tokens, expires_at: 4_000_000_000, token_type: 'bearer', user: { id: user.id } });
    const answer = await visitor.getJson('/auth/session');
    expect([answer.status, visitor.cookies.has(cookieName)]).toEqual([401, false]);
    expect(real.app.events).toMatchObject([{ type: 'session_rejected', reason: 'client' }]);
    expect(real.project.proxy.to('/token?grant_type=refresh_token')).toEqual([]);
  });
});
