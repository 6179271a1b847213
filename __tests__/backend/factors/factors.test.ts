import {
  hasVerifiedFactor,
  isRejected,
  present,
  readFactors,
  textIn,
  verifyFactor,
} from '../../../lib/backend/factors/factors.ts';
import { isSessionOver, needsFactor } from '../../../lib/backend/supabase/account.ts';
import { AuthError } from '../../../lib/errors.ts';

const factor = { id: 'a', factor_type: 'totp', status: 'verified' };
const idsOf = (factors: readonly { readonly id: string }[]): string => factors.map(({ id }) => id).join('');

describe('the factors of a user', () => {
  it.each([undefined, {}, { factors: undefined }, { factors: null }, { factors: [] }])('are none in %j', (user) => {
    expect(readFactors(user)).toEqual({ all: [], verified: [], askable: [] });
  });

  it.each([false, true])('begin with those that can be asked for here, the best first; with keys: %p', (hasKeys) => {
    const types = ['new', 'phone', 'webauthn', 'totp', 'recovery_code'];
    const factors = types.map((type, index) => ({ ...factor, id: String(index), factor_type: type }));
    const { all, verified, askable } = readFactors({ factors }, hasKeys);
    const order = hasKeys ? ['23104', '231'] : ['31024', '31'];
    expect([idsOf(all), idsOf(verified), idsOf(askable)]).toEqual([order[0], order[0], order[1]]);
  });

  it.each<[object, object]>([
    [{}, {}],
    [{ id: 7 }, { id: '' }],
    [{ factor_type: 7 }, { type: 'unknown' }],
    [{ factor_type: '' }, { type: 'unknown' }],
    [{ factor_type: '<b>' }, { type: 'unknown' }],
    [{ factor_type: 'x'.repeat(40) }, { type: 'x'.repeat(40) }],
    [{ factor_type: 'x'.repeat(41) }, { type: 'unknown' }],
    [{ status: 'unverified' }, { isVerified: false }],
    [{ status: undefined }, {}],
    [{ status: 'new' }, {}],
    [{ friendly_name: 'Work' }, { name: 'Work' }],
    [{ friendly_name: 7 }, {}],
    [{ friendly_name: 'app-0123456789ab' }, {}],
    [{ friendly_name: 'key-0123456789ab' }, {}],
    [{ friendly_name: 'my-0123456789ab' }, { name: 'my-0123456789ab' }],
    [{ phone: '15550123' }, { digits: '123' }],
    [{ phone: 15550123 }, {}],
    [{ created_at: '2026-01-02T03:04:05Z' }, { createdAt: '2026-01-02T03:04:05Z' }],
    [{ created_at: 7 }, {}],
  ])('are read from %j', (given, read) => {
    const usual = { id: 'a', type: 'totp', name: '', isVerified: true, digits: '', createdAt: '' };
    expect(readFactors({ factors: [{ ...factor, ...given }] }).all).toEqual([{ ...usual, ...read }]);
  });

  it.each(['text', 7, true, {}, [null], ['text'], [[]]])(
    'that cannot be read count, and cannot be asked for: %j',
    (factors) => {
      const { verified, askable } = readFactors({ factors });
      expect([verified.length, askable]).toEqual([1, []]);
    },
  );

  it('that have no id cannot be asked for', () => {
    const { verified, askable } = readFactors({ factors: [{ ...factor, id: undefined }] });
    expect([verified.length, askable]).toEqual([1, []]);
  });
});

describe('a second factor is missing', () => {
  const issued = (claims: object, user: unknown) => {
    const parts = [{ alg: 'ES256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    return { access_token: `${parts.join('.')}.c2ln`, refresh_token: 'r', user } as never;
  };
  const user = { id: 'ada', factors: [factor] };

  it.each<[boolean, object, object]>([
    [true, { sub: 'ada' }, user],
    [true, { sub: 'ada', aal: 'aal1' }, user],
    [true, { sub: 'ada', aal: ['aal2'] }, user],
    [false, { sub: 'ada', aal: 'aal2' }, user],
    [false, { sub: 'ada' }, { id: 'ada' }],
    [false, { sub: 'ada' }, { id: 'ada', factors: [{ ...factor, status: 'unverified' }] }],
  ])('%p: by the claims %j and the user %j', (isMissing, claims, of) => {
    expect(needsFactor(issued(claims, of))).toBe(isMissing);
  });

  it.each([undefined, null, 'ada', {}, { id: 'bob' }, { id: ['ada'] }])(
    'or not is not told by the user %j',
    (other) => {
      const ask = () => needsFactor(issued({ sub: 'ada' }, other));
      expect(ask).toThrow(expect.objectContaining({ code: 'provider_refused', reason: 'subject' }));
    },
  );

  it('is not asked of what is no session', () => {
    expect(() => needsFactor({ user } as never)).toThrow(expect.objectContaining({ code: 'token_rejected' }));
  });
});

it.each([undefined, null, '', 7, [], {}])('%j is no text of the backend', (value) => {
  expect(() => textIn(value)).toThrow(expect.objectContaining({ code: 'provider_refused', reason: 'malformed' }));
});

it.each<[string | undefined, boolean, boolean]>([
  ['session_not_found', true, false],
  ['session_expired', true, false],
  ['user_not_found', true, false],
  ['user_banned', true, false],
  ['mfa_verification_rejected', false, true],
  ['bad_jwt', false, false],
  [undefined, false, false],
])('the reason %p means that the session is over: %p, that the code was rejected: %p', (reason, isOver, isNo) => {
  const error = new AuthError('sign_in_refused', { reason });
  expect([isSessionOver(error), isRejected(error)]).toEqual([isOver, isNo]);
  const other = Object.assign(new Error('other'), { reason });
  expect([isSessionOver(other), isRejected(other)]).toEqual([false, false]);
});

it('an answer of the SDK with neither data nor an error is refused', () => {
  expect(() => present(null)).toThrow(expect.objectContaining({ code: 'provider_refused' }));
  expect(present({ id: 'a' })).toEqual({ id: 'a' });
});

describe('a guard that asks for factors', () => {
  const ask = (answer: () => Promise<unknown>) => {
    const call = async (_visitor: unknown, work: (call: unknown) => Promise<unknown>) =>
      work({ auth: { getUser: answer }, unwrap: (result: unknown) => result });
    const settings = { signInMethods: ['password'], now: Date.now };
    return hasVerifiedFactor({ supabase: { call }, settings, emit: () => undefined } as never, {
      accessToken: 'a.e30.c',
    });
  };

  it.each<[boolean, unknown]>([
    [true, [factor]],
    [false, []],
    [false, [{ ...factor, status: 'unverified' }]],
  ])('learns %p of %j', async (has, factors) => {
    expect(await ask(() => Promise.resolve({ user: { factors } }))).toBe(has);
  });

  it('refuses a session that has ended there, and passes other failures on', async () => {
    const over = new AuthError('sign_in_failed', { reason: 'session_not_found' });
    await expect(ask(() => Promise.reject(over))).rejects.toMatchObject({
      code: 'unauthenticated',
      reason: 'session_not_found',
      cause: over,
    });
    const away = new AuthError('provider_unavailable');
    await expect(ask(() => Promise.reject(away))).rejects.toBe(away);
  });
});

describe('a code whose answer does not come in time', () => {
  const late = new AuthError('provider_unavailable', { reason: 'timeout', retryAfter: 5 });
  const content = { access_token: 'a.e30.c', refresh_token: 'r' };

  /** @param isLate when the call is given up @param result what it answers late */
  function verify(isLate: 'at the challenge' | 'at the code', given: { readonly challengeId?: string } = {}) {
    const sent: string[] = [];
    const answer = Promise.withResolvers<unknown>();
    const over = Promise.withResolvers<never>();
    const auth = {
      mfa: {
        challenge: () => (isLate === 'at the challenge' ? (over.reject(late), answer.promise) : { id: 'challenge' }),
        verify: ({ challengeId, code }: { challengeId: string; code: string }) => {
          sent.push(`${challengeId} ${code}`);
          if (isLate === 'at the code') over.reject(late);
          return answer.promise;
        },
      },
    };
    const call = (_visitor: unknown, work: (call: unknown) => Promise<unknown>) => {
      const working = work({ auth, unwrap: (result: unknown) => result });
      working.catch(() => undefined);
      return Promise.race([working, over.promise]);
    };
    const backend = { supabase: { call }, settings: { now: Date.now }, emit: () => undefined } as never;
    const visitor = { cookies: new Map(), peer: undefined };
    const verified = verifyFactor(backend, visitor, content, { factorId: 'factor', code: '123456', ...given });
    return { sent, verified, answer };
  }

  it.each([
    [{}, 'challenge 123456'],
    [{ challengeId: 'sent' }, 'sent 123456'],
  ])('may have been judged: %j', async (given, call) => {
    const { sent, verified } = verify('at the code', given);
    await expect(verified).rejects.toBe(late);
    expect(sent).toEqual([call]);
  });

  it('was not judged where its challenge was late, and is not sent after it', async () => {
    const { sent, verified, answer } = verify('at the challenge');
    await expect(verified).rejects.toMatchObject({
      code: 'provider_unavailable',
      reason: undefined,
      cause: late,
      retryAfter: 5,
    });
    answer.resolve({ id: 'challenge' });
    await new Promise(setImmediate);
    expect(sent).toEqual([]);
  });
});
