import { readToken } from '../../../lib/session/jwt.ts';
import { sessionOf, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';

const second = 1_000;
const claimsOf = (token: string) => readToken(token).claims;

describeGoTrue('sessions with limits at GoTrue', () => {
  let aheadMs = 0;
  const options = { idleTimeout: 300, sessionMaxAge: 600, now: () => Date.now() + aheadMs };
  const real = useRealApp({ options });
  beforeEach(() => {
    aheadMs = 0;
  });
  const status = async (visitor: Awaited<ReturnType<typeof real.app.signedIn>>) =>
    (await visitor.getJson('/api/me')).status;

  it('renew their token while they are in use, and keep the time of the sign-in', async () => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    const first = sessionOf(visitor).access_token;
    // GoTrue says whole seconds.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    aheadMs = 80 * second;
    expect(await status(visitor)).toBe(200);
    const renewed = sessionOf(visitor).access_token;
    expect(claimsOf(renewed)['iat']).toBeGreaterThan(Number(claimsOf(first)['iat']));
    expect(claimsOf(renewed)['amr']).toEqual(claimsOf(first)['amr']);
    aheadMs = 295 * second;
    expect(await status(visitor)).toBe(200);
    expect(real.app.eventTypes()).toEqual(['signed_in', 'session_refreshed', 'session_refreshed']);
  });

  it('end after idleTimeout, without a call to GoTrue', async () => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    aheadMs = 301 * second;
    expect(await status(visitor)).toBe(401);
    expect(visitor.cookies.size).toBe(0);
    expect(real.app.events.at(-1)).toMatchObject({ type: 'session_ended', reason: 'idle_timeout' });
  });

  it('end sessionMaxAge after the sign-in that amr names', async () => {
    const strict = await real.app.signedIn(await real.project.addUser());
    aheadMs = 290 * second;
    expect(await status(strict)).toBe(200);
    aheadMs = 601 * second;
    expect(await status(strict)).toBe(401);
    expect(real.app.events.at(-1)).toMatchObject({ type: 'session_ended', reason: 'session_max_age' });
  });
});
