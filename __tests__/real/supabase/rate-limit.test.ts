import { expiry, sessionOf, useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';

/** GoTrue lets a burst of 30 calls of /token pass and then so many in five minutes. */
const settings = { GOTRUE_JWT_EXP: '4', GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '1' };

describeOwnGoTrue('a rate limit that all visitors share', () => {
  const real = useRealApp({ gotrue: { keys: [createSigningKey('only')], settings } });

  it('ends no session, and is reported to the operators', async () => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    await expiry(visitor, 5_500);
    real.project.proxy.forwardedFor('192.0.2.1');
    for (let call = 0; call < 31; call += 1)
      await fetch(`${real.project.url}/auth/v1/token?grant_type=refresh_token`, {
        method: 'POST',
        headers: { apikey: real.project.publishableKey, 'content-type': 'application/json' },
        body: '{"refresh_token":"none"}',
      });
    const answer = await visitor.getJson('/auth/session');
    // GoTrue: 429 {"code":"over_request_rate_limit","message":"Request rate limit reached"}, without Retry-After
    expect(real.project.proxy.passed.at(-1)).toMatchObject({ status: 429 });
    expect([answer.status, answer.setCookies, sessionOf(visitor) !== undefined]).toEqual([503, [], true]);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    const failed = real.app.events.find(({ type }) => type === 'refresh_failed');
    expect(JSON.stringify(failed)).toContain('rate_limit');
    real.project.proxy.forwardedFor('192.0.2.2');
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describeOwnGoTrue('a rate limit that counts by visitor', () => {
  const real = useRealApp({
    gotrue: { keys: [createSigningKey('only')], settings: { GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '1' } },
    options: { forwardClientAddress: true, clientAddress: ({ headers }) => headers['x-visitor']?.toString() },
  });

  it('lets one visitor sign in although another one has reached it', async () => {
    const user = await real.project.addUser();
    const signIn = async (address: string, password: string): Promise<number> => {
      const answer = await real.app.visitor().ask('/auth/login', {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json', 'x-visitor': address },
        body: JSON.stringify({ email: user.email, password }),
      });
      return answer.status;
    };
    for (let guess = 0; guess < 31; guess += 1) await signIn('192.0.2.11', `guess ${guess}`);
    expect(await signIn('192.0.2.11', user.password)).toBe(429);
    expect(await signIn('192.0.2.12', user.password)).toBe(200);
  });
});
