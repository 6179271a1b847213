import { totp } from '../../../stand-ins/supabase/totp.ts';
import { useRealApp } from '../support/application.ts';
import { startAttemptHook } from '../support/attempt-hook.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';

// GoTrue judges first and asks the hook then, so each refusal of the hook is a guess that was judged.
const refusals = [
  {
    how: 'asks to slow down',
    refusal: { error: { http_code: 429, message: 'Please wait a moment before trying again.' } },
    ofCode: [429, 'unknown'],
    ofPassword: [429, 'unknown'],
  },
  {
    how: 'rejects the attempt',
    refusal: { decision: 'reject', message: 'Too many attempts' },
    ofCode: [403, 'mfa_verification_rejected'],
    ofPassword: [400, 'invalid_credentials'],
  },
] as const;

describeOwnGoTrue('guesses that the project’s own hook refuses', () => {
  const real = useRealApp({
    gotrue: {
      keys: [createSigningKey('only')],
      settings: {
        GOTRUE_HOOK_MFA_VERIFICATION_ATTEMPT_ENABLED: 'true',
        GOTRUE_HOOK_MFA_VERIFICATION_ATTEMPT_URI: 'http://127.0.0.1:2591/',
        GOTRUE_HOOK_PASSWORD_VERIFICATION_ATTEMPT_ENABLED: 'true',
        GOTRUE_HOOK_PASSWORD_VERIFICATION_ATTEMPT_URI: 'http://127.0.0.1:2592/',
      },
    },
    options: { throttle: {} },
  });
  let factors: Awaited<ReturnType<typeof startAttemptHook>>;
  let passwords: typeof factors;
  beforeAll(async () => {
    factors = await startAttemptHook(2591);
    passwords = await startAttemptHook(2592);
  });
  afterAll(() => Promise.all([factors.close(), passwords.close()]));

  /** What GoTrue itself answered to the last call of a path. */
  const answerOf = (path: RegExp): unknown[] => {
    const { status, answer } = real.project.proxy.passed.findLast((call) => path.test(call.path)) ?? { answer: '{}' };
    const { code } = JSON.parse(answer) as { code?: string };
    return [status, code];
  };

  it.each(refusals)('count where it $how: five codes', async ({ refusal, ofCode }) => {
    factors.hook.refusal = {};
    const user = await real.project.addUser();
    const owner = await real.app.signedIn(user);
    const { factorId, secret } = (await owner.postJson('/auth/enroll', {})).json;
    expect((await owner.postJson('/auth/enroll', { factorId, code: totp(secret) })).status).toBe(200);
    factors.hook.refusal = refusal;
    const answers = [];
    for (let count = 0; count < 8; count += 1) {
      // A rejection ends the user's sessions at GoTrue.
      const visitor = real.app.visitor();
      await visitor.postJson('/auth/login', user);
      answers.push(await visitor.postJson('/auth/verify', { code: totp(secret, Date.now() - 3_600_000) }));
    }
    expect(answerOf(/\/verify$/)).toEqual(ofCode);
    expect(factors.judged(user.id)).toBe(5);
    const refused = ofCode[1] === 'unknown' ? 400 : 403;
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 5 }, () => refused), 429, 429, 429]);
  });

  it.each(refusals)('count where it $how: ten passwords', async ({ refusal, ofPassword }) => {
    const user = await real.project.addUser();
    passwords.hook.refusal = refusal;
    const answers = [];
    for (let count = 0; count < 12; count += 1) {
      answers.push(await real.app.visitor().postJson('/auth/login', { ...user, password: `wrong ${count}` }));
    }
    expect(answerOf(/^\/token/)).toEqual(ofPassword);
    expect(passwords.judged(user.id)).toBe(10);
    expect(answers.map(({ status }) => status).slice(9)).toEqual([ofPassword[0] === 429 ? 400 : 401, 429, 429]);
  });
});
