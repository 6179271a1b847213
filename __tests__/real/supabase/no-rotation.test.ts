import { renewSession } from '../../../lib/index.ts';
import { sessionOf, useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';

const refreshes = '/token?grant_type=refresh_token';

describeOwnGoTrue('a project with its rotation of refresh tokens switched off', () => {
  let auth: Parameters<typeof renewSession>[0];
  const settings = { GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: 'false' };
  const real = useRealApp({
    gotrue: { keys: [createSigningKey('only')], settings },
    mount: (_host, router) => {
      auth = router;
    },
  });

  it('gives a new token each time all the same, once for all requests', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const first = sessionOf(visitor);
    const tokens = new Set([first.refresh_token]);
    for (let times = 1; times <= 3; times += 1) {
      await renewSession(auth, { userId: first.user.id });
      const answers = await Promise.all(Array.from({ length: 8 }, () => visitor.getJson('/api/me')));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(real.project.proxy.to(refreshes)).toHaveLength(times);
      tokens.add(sessionOf(visitor).refresh_token);
    }
    expect(tokens.size).toBe(4);
    expect(real.app.eventTypes()).not.toContain('session_rejected');
  });
});
