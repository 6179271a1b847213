import { decodeJwt } from 'jose';
import { cookieName, setSession, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { thirdPartyTokens } from '../support/third-party.ts';

describeGoTrue('a token that was issued to another application', () => {
  const real = useRealApp();

  it('opens no session, whatever else it says, and stays as a cookie that is not ours', async () => {
    const user = await real.project.addUser();
    const tokens = await thirdPartyTokens(real.project, user);
    const { client_id: clientId, role, sub } = decodeJwt(tokens.access_token);
    expect([typeof clientId, role, sub]).toEqual(['string', 'authenticated', user.id]);

    real.app.events.splice(0);
    const visitor = real.app.visitor();
    setSession(visitor, { ...tokens, expires_at: 4_000_000_000, token_type: 'bearer', user: { id: user.id } });
    const answer = await visitor.getJson('/auth/session');
    expect([answer.status, visitor.cookies.has(cookieName)]).toEqual([401, true]);
    expect(real.app.events).toMatchObject([{ type: 'session_rejected', reason: 'client' }]);
    expect(real.project.proxy.to('/token?grant_type=refresh_token')).toEqual([]);
  });
});
