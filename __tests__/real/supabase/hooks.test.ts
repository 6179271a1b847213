import { randomUUID } from 'node:crypto';
import { postForm } from '../../support/backend-app.ts';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { expiry, followTo, sessionOf, useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { startHook } from '../support/hook.ts';
import { newUser } from '../support/project.ts';

const refusal = (status: number): object => ({ error: { http_code: status, message: 'Words of the project’s owner' } });
const ownWords = 'Words of the project';

const hookSettings = (name: string, port: number): Record<string, string> => ({
  [`GOTRUE_HOOK_${name}_ENABLED`]: 'true',
  [`GOTRUE_HOOK_${name}_URI`]: `http://127.0.0.1:${port}/`,
});

describeOwnGoTrue('hooks of the project:', () => {
  const real = useRealApp({
    gotrue: {
      keys: [createSigningKey('only')],
      settings: {
        GOTRUE_JWT_EXP: '8',
        ...hookSettings('MFA_VERIFICATION_ATTEMPT', 2591),
        ...hookSettings('BEFORE_USER_CREATED', 2593),
        ...hookSettings('CUSTOM_ACCESS_TOKEN', 2594),
      },
    },
  });
  let factors: Awaited<ReturnType<typeof startHook>>;
  let users: typeof factors;
  let tokens: typeof factors;
  beforeAll(async () => {
    [factors, users, tokens] = [await startHook(2591), await startHook(2593), await startHook(2594)];
  });
  beforeEach(() => {
    factors.hook.answer = () => ({ decision: 'continue' });
    users.hook.answer = () => ({});
    tokens.hook.answer = ({ claims }) => ({ claims });
  });
  afterAll(() => Promise.all([factors.close(), users.close(), tokens.close()]));

  async function enrolled() {
    const user = await real.project.addUser();
    const owner = await real.app.signedIn(user);
    const { factorId, secret } = (await owner.postJson('/auth/enroll', {})).json;
    expect((await owner.postJson('/auth/enroll', { factorId, code: totp(secret) })).status).toBe(200);
    return { user, secret };
  }

  it('a right code that one rejects ends the sign-in, and the page offers no code again', async () => {
    const { user, secret } = await enrolled();
    const visitor = real.app.visitor();
    await postForm(visitor, '/auth/login', { email: user.email, password: user.password, returnTo: '/account' });
    factors.hook.answer = () => ({ decision: 'reject', message: 'Words of the project’s owner' });
    const page = await postForm(visitor, '/auth/verify', { code: totp(secret), returnTo: '/account' });
    expect([page.status, page.text.includes(ownWords)]).toEqual([403, false]);
    expect(page.text).not.toContain('autocomplete="one-time-code"');
    expect(page.text).toContain('/auth/login');
    factors.hook.answer = () => ({ decision: 'continue' });
    const again = await visitor.postJson('/auth/verify', { code: totp(secret) });
    expect(again.status).toBeGreaterThanOrEqual(400);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect([...visitor.cookies.keys()].filter((name) => name.endsWith('-pending'))).toEqual([]);
  });

  it('a new account that one refuses is refused in our words, and no mail is claimed', async () => {
    users.hook.answer = () => refusal(403);
    const answer = await real.app.visitor().postJson('/auth/signup', newUser());
    expect([answer.status, answer.json.error.code, answer.text.includes(ownWords)]).toEqual([
      403,
      'signup_refused',
      false,
    ]);
    // GoTrue: ?error=access_denied&error_code=&error_description=Words+of+the+project…
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const visitor = real.app.visitor();
    const start = await visitor.get('/auth/login?provider=keycloak');
    const page = await visitor.get(await followTo(real.app, start.location));
    expect([page.status, page.text.includes('signup_refused'), page.text.includes(ownWords)]).toEqual([
      403,
      true,
      false,
    ]);
    users.hook.answer = () => refusal(500);
    const failed = await real.app.visitor().postJson('/auth/signup', newUser());
    expect([failed.status < 500 || failed.status === 503, failed.text.includes(ownWords)]).toEqual([true, false]);
  });

  it('claims that one adds are there, after a refresh too', async () => {
    tokens.hook.answer = ({ claims }) => ({
      claims: { ...claims, app_metadata: { ...claims.app_metadata, plan: 'pro' } },
    });
    const visitor = await real.app.signedIn(await real.project.addUser());
    expect((await visitor.getJson('/auth/session')).json.user.appMetadata.plan).toBe('pro');
    await expiry(visitor);
    expect((await visitor.getJson('/auth/session')).json.user.appMetadata.plan).toBe('pro');
  });

  it('tokens that one does not issue are no wrong password, and no session', async () => {
    const user = await real.project.addUser();
    for (const status of [403, 500]) {
      tokens.hook.answer = () => refusal(status);
      const visitor = real.app.visitor();
      const answer = await visitor.postJson('/auth/login', user);
      expect(answer.status === 503 || (answer.status >= 400 && answer.status < 500)).toBe(true);
      expect(answer.json.error.code).not.toBe('invalid_credentials');
      expect([answer.text.includes(ownWords), sessionOf(visitor)]).toEqual([false, undefined]);
    }
  });

  // GoTrue gives a hook's own 403 the code `unknown`, so that a hook that fails cannot be told from one that refuses.
  it.each([500, 403])('a refresh that one fails with %i keeps the session until it works again', async (status) => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    await expiry(visitor, 6_000);
    tokens.hook.answer = () => refusal(status);
    expect((await visitor.getJson('/auth/session')).status).toBe(503);
    tokens.hook.answer = ({ claims }) => ({ claims });
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});
