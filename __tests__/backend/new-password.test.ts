import { createPasswordRule, readNewPassword, weakPassword } from '../../lib/backend/forms/new-password.ts';
import { FormProblem } from '../../lib/backend/forms/fields.ts';
import { readBackendOptions } from '../../lib/backend/options.ts';
import { AuthError } from '../../lib/errors.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';

const short = (count: number) =>
  weakPassword({ message: `Password should be at least ${count} characters.`, reasons: ['length'] }, {});

function refusalOf(password: string, minLength?: number): AuthError {
  try {
    readNewPassword(new Map([['password', password]]), minLength);
  } catch (error) {
    if (error instanceof AuthError) return error;
  }
  throw new Error('it was taken');
}

describe('a new password', () => {
  it('is taken from the option’s length on, which counts characters, not bytes', () => {
    for (const password of ['12345678', 'ääääöööö', '🔑🔑🔑🔑🔑🔑🔑🔑']) {
      expect(readNewPassword(new Map([['password', password]]), 8)).toBe(password);
      const { code, message } = refusalOf(password, 9);
      expect([code, message]).toEqual(['weak_password', 'This password is too short. Use at least 9 characters.']);
    }
  });

  it('is left to the project without the option', () => {
    expect(readNewPassword(new Map([['password', 'a']]))).toBe('a');
    expect(refusalOf('').code).toBe('invalid_request');
    expect(readNewPassword(new Map([['password', 'ä'.repeat(36)]]))).toBe('ä'.repeat(36));
    expect(refusalOf('ä'.repeat(37))).toMatchObject({ code: 'weak_password', text: 'passwordTooLong' });
  });
});

describe('the length that pages say', () => {
  it('is the option’s, else that of the last refusal, else eight', () => {
    const rule = createPasswordRule(undefined);
    expect(rule.minLength()).toBe(8);
    rule.learn(short(12));
    expect(rule.minLength()).toBe(12);
    rule.learn(short(6));
    expect(rule.minLength()).toBe(6);
    const given = createPasswordRule(10);
    given.learn(short(12));
    expect(given.minLength()).toBe(10);
  });

  it.each([1, 72])('is learned where it is %i, which a password can have', (count) => {
    const rule = createPasswordRule(undefined);
    rule.learn(short(count));
    expect(rule.minLength()).toBe(count);
  });

  it.each([{}, { message: 7 }, { message: 'Password is too short' }])(
    'is not named where the refusal does not name it: %j',
    (refusal) => {
      const { message } = weakPassword({ reasons: ['length'], ...refusal }, {});
      expect(message).toBe('This password is too short. Choose a longer one.');
    },
  );

  it.each([
    ['another failure', new AuthError('provider_unavailable')],
    ['no failure', undefined],
    ['a weak password without a length', weakPassword({ reasons: ['length'] }, {})],
    ['another weakness', weakPassword({ reasons: ['pwned'], message: 'at least 99 characters' }, {})],
    ['zero', short(0)],
    ['more than a password can have', short(73)],
    ['another field', new FormProblem('code', 'codeMissing', 'x', { values: { count: '30' } })],
  ])('is not learned from %s', (_what, refusal) => {
    const rule = createPasswordRule(undefined);
    rule.learn(refusal);
    expect(rule.minLength()).toBe(8);
  });
});

describe('the forms', () => {
  let app: BackendApp;
  afterEach(() => app.close());
  const start = async (setup: BackendAppSetup): Promise<void> => {
    app = await startBackendApp(setup);
  };
  const hintOf = async (path: string): Promise<string | undefined> =>
    /id="password-hint">([^<]*)</.exec((await app.visitor().get(path)).text)?.[1];
  const eve = { email: 'eve@example.com', password: 'sesame' };

  it('say the length before the first try, and refuse a shorter one without asking the project', async () => {
    await start({ options: { passwordMinLength: 14 } });
    expect(await hintOf('/auth/signup')).toBe('At least 14 characters');
    const page = await postForm(app.visitor(), '/auth/signup', eve);
    expect(page.status).toBe(422);
    expect(page.text).toContain('id="password-error">This password is too short. Use at least 14 characters.</p>');
    expect(app.supabase.calls('signup')).toBe(0);
    const { status, json } = await app.visitor().postJson('/auth/signup', eve);
    expect([status, json.error.code]).toEqual([422, 'weak_password']);
    const visitor = await app.signedIn();
    const change = { currentPassword: ada.password, password: 'sesame' };
    expect((await postForm(visitor, '/auth/password', change)).text).toContain('Use at least 14 characters.');
  });

  it('learn the length from the project’s refusal', async () => {
    await start({ standIn: { minimumPasswordLength: 11 } });
    expect(await hintOf('/auth/signup')).toBe('At least 8 characters');
    const page = await postForm(app.visitor(), '/auth/signup', eve);
    expect(page.text).toContain('This password is too short. Use at least 11 characters.');
    expect(page.text).not.toContain('id="password-hint"');
    expect(await hintOf('/auth/signup')).toBe('At least 11 characters');
  });

  it('say it in the page’s language', async () => {
    const text = { passwordTooShort: 'Zu kurz: {count} Zeichen.', newPasswordHint: 'Ab {count} Zeichen.' };
    await start({ standIn: { minimumPasswordLength: 11 }, options: { pages: { lang: 'de', text } } });
    const page = await postForm(app.visitor(), '/auth/signup', eve);
    expect(page.text).toContain('id="password-error">Zu kurz: 11 Zeichen.</p>');
    expect(await hintOf('/auth/signup')).toBe('Ab 11 Zeichen.');
  });
});

it.each([[0], [73], [8.5], ['8']])('the option refuses the length %p', (passwordMinLength) => {
  const required = { url: 'https://project.supabase.co', anonKey: 'sb_publishable_abc_def' };
  const given = { ...required, passwordMinLength: passwordMinLength as number };
  expect(() => readBackendOptions(given, {})).toThrow('passwordMinLength');
});
