import { errors } from 'jose';
import { AuthError } from '../../lib/errors.ts';
import {
  isRenewalUrgent,
  isUnknownKey,
  judgeClaims,
  readSessionId,
  renewalDueAt,
  urgentWindowMs,
} from '../../lib/session/jwt.ts';

const start = 1_700_000_000;
const now = start * 1000;
const claims = { sub: 'user_1', iat: start, exp: start + 300 };

describe('the claims of a token', () => {
  it('are valid with a subject and an expiry, and are returned as they are', () => {
    const verdict = judgeClaims(claims, now);
    expect(verdict).toEqual({ kind: 'valid', claims });
    expect(judgeClaims({ sub: 'user_1', exp: start + 300 }, now)).toMatchObject({ kind: 'valid' });
  });

  it('expire five seconds after exp', () => {
    expect(judgeClaims(claims, (start + 304) * 1000 + 999)).toMatchObject({ kind: 'valid' });
    expect(judgeClaims(claims, (start + 305) * 1000)).toEqual({ kind: 'expired' });
    expect(judgeClaims({ ...claims, sub: '' }, (start + 305) * 1000)).toEqual({ kind: 'expired' });
  });

  it('are valid from five seconds before nbf', () => {
    const later = { ...claims, nbf: start + 60 };
    expect(judgeClaims(later, (start + 55) * 1000)).toMatchObject({ kind: 'valid' });
    expect(judgeClaims(later, (start + 55) * 1000 - 1)).toEqual({ kind: 'invalid', reason: 'nbf' });
  });

  it.each([
    { sub: undefined },
    { sub: '' },
    { sub: 1 },
    { exp: undefined },
    { exp: '1700000300' },
    { nbf: '1' },
    { nbf: null },
    { iat: '1' },
    { iat: null },
  ])('are malformed with %j', (change) => {
    expect(judgeClaims({ ...claims, ...change }, now)).toEqual({ kind: 'invalid', reason: 'claims' });
  });
});

describe('a session id', () => {
  it.each(['s', 'session_01', '!~', 'x'.repeat(100)])('%j is read', (claim) => {
    expect(readSessionId(claim)).toBe(claim);
  });

  it.each(['', ' ', 'a b', 'a\nb', 'a\n', '\u00e9', '\u007f', 'x'.repeat(101), 1, null, undefined, ['s']])(
    '%j is ignored',
    (claim) => {
      expect(readSessionId(claim)).toBeUndefined();
    },
  );
});

describe('an unknown key', () => {
  const cause = new errors.JWKSNoMatchingKey();

  it('is recognized by the cause of the error', () => {
    expect(isUnknownKey(new AuthError('provider_unavailable', { cause }))).toBe(true);
  });

  it.each([
    new AuthError('provider_unavailable'),
    new AuthError('provider_unavailable', { cause: new errors.JWKSTimeout() }),
    new Error('other', { cause }),
    cause,
    undefined,
  ])('is not %p', (error) => {
    expect(isUnknownKey(error)).toBe(false);
  });
});

describe('the renewal of a token', () => {
  it('is due the window before its expiry', () => {
    expect(renewalDueAt({ iat: start, exp: start + 3600 }, 60_000)).toBe((start + 3540) * 1000);
    expect(renewalDueAt({ exp: start + 3600 }, 60_000)).toBe((start + 3540) * 1000);
  });

  it('is due at most a tenth of its lifetime before its expiry', () => {
    expect(renewalDueAt(claims, 60_000)).toBe((start + 270) * 1000);
  });

  it('is always due without a readable expiry', () => {
    expect(renewalDueAt({ exp: 'soon' }, 60_000)).toBe(0);
    expect(isRenewalUrgent({}, now)).toBe(true);
  });

  it('is urgent in the last ten seconds', () => {
    expect(urgentWindowMs).toBe(10_000);
    const endsAt = claims.exp * 1000;
    expect(isRenewalUrgent(claims, endsAt - urgentWindowMs - 1)).toBe(false);
    expect(isRenewalUrgent(claims, endsAt - urgentWindowMs)).toBe(true);
  });
});
