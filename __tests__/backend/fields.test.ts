import {
  asBadAddress,
  FormProblem,
  readCaptcha,
  readEmail,
  readPassword,
  rethrowAs,
} from '../../lib/backend/forms/fields.ts';
import { readEmailCode } from '../../lib/backend/email-code/route.ts';
import { readCode } from '../../lib/backend/factors/request.ts';
import { asksForChallenge, hasAnswer } from '../../lib/backend/webauthn/challenges.ts';
import { AuthError } from '../../lib/errors.ts';

type Fields = Parameters<typeof readEmail>[0];
const fieldsOf = (fields: Readonly<Record<string, string>>): Fields => new Map(Object.entries(fields));

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was thrown');
}

/** The refusal's field and text, or its code and reason where it belongs to no field. */
function refusalOf(work: () => unknown): readonly unknown[] {
  const error = thrownBy(work);
  if (error instanceof FormProblem) return [error.code, error.field, error.text];
  return error instanceof AuthError ? [error.code, error.reason] : [error];
}

describe('an address', () => {
  it.each([
    ['a@b', 'a@b'],
    [' ada@example.com\t', 'ada@example.com'],
    ['ü@例え.jp', 'ü@例え.jp'],
    ['a.b+c@example.com', 'a.b+c@example.com'],
    [`${'a'.repeat(316)}@b.c`, `${'a'.repeat(316)}@b.c`],
  ])('is read from %j', (email, read) => expect(readEmail(fieldsOf({ email }))).toBe(read));

  it.each([{}, { email: '' }, { email: ' \t ' }])('is missing in %j', (fields) => {
    expect(refusalOf(() => readEmail(fieldsOf(fields as Record<string, string>)))).toEqual([
      'invalid_request',
      'email',
      'emailMissing',
    ]);
  });

  it.each([
    'ada',
    '@example.com',
    'ada@',
    'a@b@c',
    'a b@c',
    'a@b c',
    'a..b@c',
    'a@b..c',
    'a\u0000@b',
    'a@b\u001f',
    'a\u007f@b',
    'a@\u009fb',
    `${'a'.repeat(317)}@b.c`,
  ])('is not %j', (email) => {
    expect(refusalOf(() => readEmail(fieldsOf({ email })))).toEqual(['invalid_request', 'email', 'emailInvalid']);
  });
});

it('a password is read as it was typed, and may not be missing', () => {
  expect(readPassword(fieldsOf({ password: ' a ' }))).toBe(' a ');
  for (const fields of [{}, { password: '' }] as Record<string, string>[]) {
    expect(refusalOf(() => readPassword(fieldsOf(fields)))).toEqual(['invalid_request', 'password', 'passwordMissing']);
  }
});

describe('the digits of a code', () => {
  /** 0 to 9 in each script that this Node can write numbers in. */
  const scripts = Intl.supportedValuesOf('numberingSystem').flatMap((script) => {
    const digits = Array.from({ length: 10 }, (_, digit) => new Intl.NumberFormat(`en-u-nu-${script}`).format(digit));
    return digits.every((digit) => /^\p{Nd}$/u.test(digit)) ? [[script, digits] as const] : [];
  });

  it.each(scripts)('are those of the script %s, too', (_, digits) => {
    expect(readEmailCode(fieldsOf({ code: digits.join('') }))).toBe('0123456789');
    expect(readCode(fieldsOf({ code: digits.slice(2, 8).join('') }))).toBe('234567');
  });

  it('are of many scripts', () => expect(scripts.length).toBeGreaterThan(60));

  it.each([
    '１２３４５６',
    '①②③④⑤⑥',
    '¹²³⁴⁵⁶',
    '𝟙𝟚𝟛𝟜𝟝𝟞',
    '१२३456',
    '123\u00a0456',
    '123\u2013456',
    '123\u2212456',
    '\u202a123456\u202c',
    '12\u200b34\u00ad56\ufeff',
  ])('are read from %j', (code) => {
    expect([readCode(fieldsOf({ code })), readEmailCode(fieldsOf({ code }))]).toEqual(['123456', '123456']);
  });

  it.each(['一二三四五六', 'ⅠⅡⅢⅣⅤⅥ', '½½½', '12345½', 'IZEASG'])('are not %j', (code) => {
    expect(refusalOf(() => readCode(fieldsOf({ code })))).toEqual(['code_wrong', 'malformed']);
  });
});

describe('an emailed code', () => {
  it.each([
    ['123456', '123456'],
    ['1234567890', '1234567890'],
    [' 12-34 56 ', '123456'],
  ])('is read from %j', (code, read) => expect(readEmailCode(fieldsOf({ code }))).toBe(read));

  it.each([undefined, '', '12345', '12345678901', 'x123456', '123456x'])('is not %j', (code) => {
    const refusal = refusalOf(() => readEmailCode(fieldsOf(code === undefined ? {} : { code })));
    expect(refusal).toEqual(['invalid_request', 'code', 'emailCodeMissing']);
  });
});

describe('a code of an app or a text message', () => {
  it.each(['123456', ' 123-456 ', '1 2 3 4 5 6'])('is read from %j', (code) =>
    expect(readCode(fieldsOf({ code }))).toBe('123456'),
  );

  it.each([undefined, '', ' - '])('is missing as %j', (code) => {
    const refusal = refusalOf(() => readCode(fieldsOf(code === undefined ? {} : { code })));
    expect(refusal).toEqual(['invalid_request', 'code', 'codeMissing']);
  });

  it.each(['12345', '1234567', 'x123456', '123456x', 'abcdef'])('is wrong as %j', (code) => {
    expect(refusalOf(() => readCode(fieldsOf({ code })))).toEqual(['code_wrong', 'malformed']);
  });
});

it.each<[string, () => unknown]>([
  ['The email address is missing.', () => readEmail(fieldsOf({}))],
  ['The email address is not valid.', () => readEmail(fieldsOf({ email: 'ada' }))],
  ['The password is missing.', () => readPassword(fieldsOf({}))],
  ['The code is missing.', () => readCode(fieldsOf({}))],
  ['The code is missing, or is not one of six to ten digits.', () => readEmailCode(fieldsOf({}))],
  [
    'Enter a valid email address.',
    () => asBadAddress(new AuthError('invalid_request', { reason: 'validation_failed' })),
  ],
])('a client without a form is told: %s', (message, read) => expect(thrownBy(read)).toMatchObject({ message }));

it.each([
  [{}, {}],
  [{ captchaToken: 'a', 'cf-turnstile-response': 'b', 'h-captcha-response': 'c' }, { captchaToken: 'a' }],
  [{ 'cf-turnstile-response': 'b', 'h-captcha-response': 'c' }, { captchaToken: 'b' }],
  [{ 'h-captcha-response': 'c' }, { captchaToken: 'c' }],
])('the captcha of %j is %j', (fields, read) => {
  expect(readCaptcha(fieldsOf(fields as Record<string, string>))).toEqual(read);
});

describe('a refusal of the backend', () => {
  const cause = new Error('cause');
  const refusal = new AuthError('invalid_request', { cause, reason: 'validation_failed' });

  it('gets the code of the form, and keeps its cause and its reason', () => {
    const rethrow = rethrowAs('code_wrong', ({ reason }) => reason === 'validation_failed');
    expect(thrownBy(() => rethrow(refusal))).toMatchObject({ code: 'code_wrong', cause, reason: 'validation_failed' });
    for (const other of [new AuthError('invalid_request'), cause]) expect(thrownBy(() => rethrow(other))).toBe(other);
  });

  it('of an address belongs to its field', () => {
    for (const reason of ['validation_failed', 'email_address_invalid']) {
      const error = thrownBy(() => asBadAddress(new AuthError('invalid_request', { cause, reason })));
      expect(error).toBeInstanceOf(FormProblem);
      expect(error).toMatchObject({ field: 'email', text: 'emailRefused', cause, reason });
    }
    const others = [new AuthError('invalid_request'), new AuthError('invalid_request', { reason: 'bad_json' }), cause];
    for (const other of others) expect(thrownBy(() => asBadAddress(other))).toBe(other);
  });
});

it.each<[Record<string, string>, boolean, boolean]>([
  [{}, true, false],
  [{ credential: '', challengeId: '' }, true, true],
  [{ credential: '{}' }, false, true],
  [{ challengeId: 'a' }, false, true],
  [{ challengeId: 'a', code: '' }, false, false],
  [{ code: '123456' }, true, false],
  [{ credential: '{}', code: '123456' }, false, true],
])('the fields %j ask for a challenge: %p, and hold the answer of a key: %p', (fields, asks, has) => {
  expect([asksForChallenge(fieldsOf(fields)), hasAnswer(fieldsOf(fields))]).toEqual([asks, has]);
});
