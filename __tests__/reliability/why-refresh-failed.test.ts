import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest, Fault } from '../support/apps-under-test.ts';
import { startB2bApp } from '../support/b2b-app.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { until } from '../support/until.ts';

describe.each(adapters)('$name reports why a refresh failed', ({ start }) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await start({ options: { timeoutMs: 1_500 } });
  });
  afterEach(() => app.heal());
  afterAll(() => app.close());

  it.each<[Fault, string]>([
    [429, 'rate_limited'],
    [401, 'provider_refused'],
    ['refuse', 'unanswered'],
    ['hang', 'timeout'],
  ])('%s: %s', async (fault, reason) => {
    const visitor = await app.signedIn();
    app.expireTokens();
    app.forget();
    app.fail('refresh', fault);
    expect((await visitor.getJson('/api/me')).status).toBe(503);
    await until(() => app.eventTypes().includes('refresh_failed'));
    expect(app.events.find(({ type }) => type === 'refresh_failed')).toMatchObject({ reason });
  });
});

describe('a hook that throws', () => {
  const closed = closeAfterEach();
  const onSignIn = (): never => {
    throw new Error('no database');
  };
  const failure = { type: 'sign_in_failed', code: 'internal_error' };

  it('is a failed sign-in of b2bAuth', async () => {
    const app = await closed(startB2bApp({ options: { onSignIn } }));
    await expect(app.signedIn()).rejects.toThrow('Sign-in ended with 500');
    expect(app.events).toEqual([{ ...failure, adapter: 'b2b' }]);
  });

  it('is a failed sign-in of backendAuth', async () => {
    const app = await closed(startBackendApp({ options: { onSignIn } }));
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(500);
    expect(app.events).toEqual([{ ...failure, adapter: 'backend' }]);
  });
});
