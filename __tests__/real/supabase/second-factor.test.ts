import { jest } from '@jest/globals';
import { sessionOf, setSession, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { totp } from '../../../stand-ins/supabase/totp.ts';

describeGoTrue('a second factor', () => {
  const real = useRealApp();

  async function enrolled() {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { data } = await real.app.asVisitor(visitor, (client) => client.auth.mfa.enroll({ factorType: 'totp' }));
    const factor: { id: string; secret: string } = { id: data.id, secret: data.totp.secret };
    const verify = (code: string): Promise<any> =>
      real.app.asVisitor(visitor, (client) => client.auth.mfa.challengeAndVerify({ factorId: factor.id, code }));
    return { user, visitor, factor, verify };
  }

  it('passes a guard that requires one, from the verification on', async () => {
    const { visitor, factor, verify } = await enrolled();
    expect((await visitor.getJson('/secure')).status).toBe(403);
    expect((await verify(totp(factor.secret))).error).toBeNull();
    expect((await visitor.getJson('/secure')).status).toBe(200);
  });

  it('keeps the session unchanged after a wrong code', async () => {
    const { visitor, factor, verify } = await enrolled();
    const wrong = totp(factor.secret, Date.now() - 3_600_000);
    expect((await verify(wrong)).error).toMatchObject({ code: 'mfa_verification_failed' });
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect((await visitor.getJson('/secure')).status).toBe(403);
  });

  it('is not completed by a new sign-in with the password', async () => {
    const { user, factor, verify } = await enrolled();
    await verify(totp(factor.secret));
    const answer = await (await real.app.signedIn(user)).getJson('/secure');
    expect(answer.status).not.toBe(200);
  });

  it('leaves the token’s user in the session, whatever the cookie claims', async () => {
    const { user, visitor } = await enrolled();
    const session = sessionOf(visitor);
    setSession(visitor, { ...session, user: { id: 'admin', email: 'admin@example.com', factors: [] } });
    const warn = jest.spyOn(console, 'warn');
    const { data } = await real.app.asVisitor(visitor, (client) => client.auth.getSession());
    expect([data.session.user.id, data.session.user.email]).toEqual([user.id, user.email]);
    expect(data.session.user.factors).toBeUndefined();
    expect(warn.mock.calls).toEqual([]);
    warn.mockRestore();
  });
});
