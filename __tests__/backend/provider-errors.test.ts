import {
  callbackError,
  codeOf,
  endingOf,
  isOwnRefusal,
  isRefusedGuess,
  isTimeout,
  organizationSignIn,
  providerError,
  rethrowStaleKeys,
} from '../../lib/backend/supabase/provider-errors.ts';
import { AuthError } from '../../lib/errors.ts';
import { urgentWindowMs } from '../../lib/session/jwt.ts';
import type { ProviderResponse } from '../../lib/backend/supabase/connection.ts';

const none: ProviderResponse = { kind: 'none' };
const answered = (
  status: number,
  code?: string,
  more: { message?: string; retryAfter?: number } = {},
): ProviderResponse => ({
  kind: 'answered',
  status,
  code,
  message: more.message,
  retryAfter: more.retryAfter,
});

describe('a failed call', () => {
  it.each([
    [400, 'invalid_credentials', 'invalid_credentials'],
    [400, 'email_not_confirmed', 'email_not_confirmed'],
    [400, 'user_banned', 'user_banned'],
    [422, 'email_provider_disabled', 'email_disabled'],
    [422, 'signup_disabled', 'signup_disabled'],
    [422, 'user_already_exists', 'email_in_use'],
    [422, 'email_exists', 'email_in_use'],
    [422, 'weak_password', 'weak_password'],
    [400, 'validation_failed', 'sign_in_failed'],
    [400, 'email_address_not_authorized', 'sign_in_failed'],
    [403, 'provider_email_needs_verification', 'provider_email_unverified'],
    [400, 'captcha_failed', 'captcha_failed'],
    [403, 'otp_expired', 'link_expired'],
    [404, 'flow_state_not_found', 'code_rejected'],
    [400, 'bad_code_verifier', 'code_rejected'],
    [400, 'bad_oauth_state', 'invalid_state'],
    [400, 'provider_disabled', 'unknown_provider'],
    [404, 'user_not_found', 'sign_in_failed'],
    [403, 'a_code_of_tomorrow', 'sign_in_failed'],
    [400, 'oauth_client_state_not_found', 'invalid_state'],
    [400, 'oauth_client_state_expired', 'invalid_state'],
    [400, 'oauth_invalid_state', 'invalid_state'],
    [422, 'identity_already_exists', 'identity_in_use'],
    [404, 'invite_not_found', 'link_expired'],
    [400, 'email_address_not_provided', 'provider_email_missing'],
    [422, 'user_sso_managed', 'managed_account'],
    [400, 'phone_not_confirmed', 'sign_in_failed'],
    [400, 'phone_provider_disabled', 'signup_disabled'],
    [422, 'anonymous_provider_disabled', 'signup_disabled'],
    [404, 'sso_provider_not_found', 'unknown_provider'],
    [422, 'sso_provider_disabled', 'unknown_provider'],
    [404, 'saml_provider_disabled', 'unknown_provider'],
    [403, 'unknown', 'sign_in_failed'],
    [422, 'mfa_verification_rejected', 'sign_in_refused'],
    [400, 'reauthentication_needed', 'sign_in_not_fresh'],
    [400, 'unexpected_audience', 'provider_refused'],
    [422, 'hook_payload_over_size_limit', 'provider_refused'],
    [422, 'hook_payload_invalid_content_type', 'provider_refused'],
  ])('with %i %s is %s', (status, code, expected) => {
    expect(providerError(answered(status, code), undefined)).toMatchObject({ code: expected, retryAfter: undefined });
  });

  it.each([
    [409, 'conflict'],
    [422, 'hook_timeout'],
    [422, 'hook_timeout_after_retry'],
    [408, 'request_timeout'],
    [422, 'sms_send_failed'],
    [408, undefined],
    [500, undefined],
    [503, 'invalid_credentials'],
    [599, 'user_banned'],
  ])('with %i %s is an outage, whatever the code says', (status, code) => {
    expect(providerError(answered(status, code), undefined)).toMatchObject({
      code: 'provider_unavailable',
      retryAfter: 5,
    });
  });

  it.each([400, 401, 403, 404, 302])('with %i and no code is a refusal by the gateway', (status) => {
    expect(providerError(answered(status), undefined).code).toBe('provider_refused');
  });

  it.each(['unknown', 'user_not_found', 'phone_not_confirmed', 'a_code_of_tomorrow'])(
    'with %s says nothing of a sign-in where no one signs in',
    (code) => {
      const { code: ours, message } = providerError(answered(403, code), undefined, false);
      expect([ours, message]).toEqual(['action_failed', expect.not.stringMatching(/sign/i)]);
    },
  );

  it('without an answer is an outage, and keeps its cause', () => {
    const cause = new Error('cut');
    const error = providerError({ kind: 'unanswered', cause }, new Error('of the SDK'));
    expect(error).toMatchObject({ code: 'provider_unavailable', retryAfter: 5, cause });
  });

  it('that never left the process is classified by the SDK’s own code and status', () => {
    const sdk = (fields: object) => providerError(none, Object.assign(new Error('of the SDK'), fields)).code;
    expect(sdk({ code: 'pkce_code_verifier_not_found', status: 400 })).toBe('code_rejected');
    expect(sdk({ status: 500 })).toBe('provider_unavailable');
    expect(sdk({ status: 429 })).toBe('rate_limited');
    expect(sdk({ status: '429' })).toBe('provider_refused');
    expect(sdk({ status: '503' })).toBe('provider_refused');
    expect(sdk({ code: 7 })).toBe('provider_refused');
    expect(providerError(none, null).code).toBe('provider_refused');
    expect(providerError(none, 'text').code).toBe('provider_refused');
  });

  it('keeps what the SDK said as its cause', () => {
    const cause = new Error('of the SDK');
    expect(providerError(answered(400, 'invalid_credentials'), cause).cause).toBe(cause);
    expect(providerError(answered(502), cause).cause).toBe(cause);
    expect(providerError(answered(429), cause).cause).toBe(cause);
    expect(providerError(answered(422, 'weak_password'), cause).cause).toBe(cause);
  });
});

describe('a rate limit', () => {
  it.each<[number, string | undefined, { message?: string; retryAfter?: number }, number]>([
    [429, undefined, {}, 60],
    [429, 'over_request_rate_limit', {}, 60],
    [429, 'over_email_send_rate_limit', { message: 'you can only request this after 42 seconds.' }, 42],
    [429, undefined, { message: 'after 1 second' }, 1],
    [429, undefined, { message: 'thereafter 9 seconds' }, 60],
    [429, undefined, { message: 'after 1234567 seconds' }, 60],
    [429, undefined, { message: 'after a while' }, 60],
    [429, undefined, { message: 'after 42 seconds', retryAfter: 7 }, 7],
    [400, 'over_email_send_rate_limit', { retryAfter: 8 }, 8],
    [429, 'over_sms_send_rate_limit', {}, 60],
  ])('(%i %s %j) has the seconds to wait', (status, code, more, retryAfter) => {
    expect(providerError(answered(status, code, more), undefined)).toMatchObject({ code: 'rate_limited', retryAfter });
  });
});

describe('a weak password', () => {
  const messageFor = (error: unknown) => providerError(answered(422, 'weak_password'), error).message;
  const plain = messageFor(undefined);

  it.each([
    [['pwned'], 'data breach'],
    [['length'], 'too short'],
    [['characters'], 'more kinds of characters'],
    [['length', 'pwned'], 'data breach'],
    [['characters', 'length'], 'too short'],
  ])('for %j is explained by its reasons', (reasons, words) => expect(messageFor({ reasons })).toContain(words));

  it.each([[{ reasons: [] }], [{ reasons: ['toString'] }], [{ reasons: 'length' }], [{}], [null], ['length']])(
    'for %j is explained as weak',
    (error) => expect(messageFor(error)).toBe(plain),
  );
});

describe('the answer to a refresh', () => {
  it.each([
    'refresh_token_not_found',
    'refresh_token_already_used',
    'session_expired',
    'session_not_found',
    'user_banned',
    'user_not_found',
    'validation_failed',
    'invalid_grant',
    'invalid_client',
  ])('%s ends the session', (code) => {
    expect(endingOf(answered(400, code))).toBe(code);
    expect(endingOf(answered(499, code))).toBe(code);
    expect(endingOf(answered(500, code))).toBeUndefined();
  });

  it.each(['a_code_of_tomorrow', 'constructor'])('%s, which is not known today, ends it by its status', (code) => {
    for (const status of [400, 403, 422]) expect(endingOf(answered(status, code))).toBe(code);
    for (const status of [401, 404, 408, 409, 418, 429]) expect(endingOf(answered(status, code))).toBeUndefined();
  });

  it('ends it by its status for a code that is not safe in an event, too', () => {
    expect(endingOf(answered(400, 'Email "ada@example.com" is invalid'))).toBe('refused');
  });

  it.each<[ProviderResponse]>([
    [none],
    [{ kind: 'unanswered', cause: undefined }],
    [answered(400)],
    [answered(400, 'over_request_rate_limit')],
    [answered(404, 'constructor')],
    [answered(200)],
  ])('%j does not end the session', (answer) => expect(endingOf(answer)).toBeUndefined());
});

describe('a failure that a callback reports', () => {
  it.each([
    ['access_denied', 'otp_expired', 'link_expired', undefined],
    ['server_error', 'bad_oauth_callback', 'invalid_state', undefined],
    ['access_denied', 'over_request_rate_limit', 'rate_limited', 60],
    ['server_error', null, 'sign_in_failed', undefined],
    ['server_error', '', 'sign_in_failed', undefined],
    ['server_error', 'identity_already_exists', 'identity_in_use', undefined],
    ['server_error', 'unexpected_failure', 'sign_in_failed', undefined],
    ['server_error', 'hook_payload_over_size_limit', 'sign_in_failed', undefined],
    ['server_error', 'a_code_of_tomorrow', 'sign_in_failed', undefined],
    ['server_error', 'hook_timeout', 'sign_in_failed', undefined],
    ['temporarily_unavailable', 'a_code_of_tomorrow', 'sign_in_failed', undefined],
    ['access_denied', null, 'access_denied', undefined],
    ['access_denied', '', 'sign_in_failed', undefined],
    ['access_denied', 'user_not_found', 'sign_in_failed', undefined],
    ['anything', 'anything', 'sign_in_failed', undefined],
    [null, null, 'sign_in_failed', undefined],
    ['access_denied', 'provider_email_needs_verification', 'provider_email_unverified', undefined],
    // The email of a first try within the minute, which is on its way.
    ['server_error', 'over_email_send_rate_limit', 'provider_email_unverified', undefined],
    ['invalid_request', 'email_not_confirmed', 'provider_email_unverified', undefined],
    ['server_error', 'validation_failed', 'sign_in_failed', undefined],
    ['server_error', 'email_address_invalid', 'sign_in_failed', undefined],
    ['server_error', 'email_address_not_authorized', 'sign_in_failed', undefined],
    ['server_error', 'weak_password', 'sign_in_failed', undefined],
    ['server_error', 'mfa_verification_failed', 'sign_in_failed', undefined],
    ['server_error', 'captcha_failed', 'sign_in_failed', undefined],
    ['server_error', 'bad_jwt', 'sign_in_failed', undefined],
    ['server_error', 'session_not_found', 'sign_in_failed', undefined],
  ] as const)('%s %s is %s', (error, errorCode, code, retryAfter) => {
    expect(callbackError(error, errorCode)).toMatchObject({ code, retryAfter });
  });

  it.each([
    ['access_denied', '', 'signup_refused'],
    ['invalid_request', '', 'signup_refused'],
    ['server_error', '', 'sign_in_failed'],
    ['access_denied', null, 'access_denied'],
    ['access_denied', 'a_code_of_tomorrow', 'sign_in_failed'],
  ] as const)('%s %j is %s where OAuth was started', (error, errorCode, code) => {
    expect(callbackError(error, errorCode, true)).toMatchObject({ code });
  });
});

describe('the reason, for operators,', () => {
  it.each<[string, string | undefined]>([
    ['user_banned', 'user_banned'],
    ['a_code_of_tomorrow', 'a_code_of_tomorrow'],
    ['Email address "ada@example.com" is invalid', undefined],
    ['x'.repeat(65), undefined],
    ['', undefined],
  ])('of %j is %j', (code, reason) => {
    expect(providerError(answered(400, code), undefined).reason).toBe(reason);
    expect(providerError(answered(500, code), undefined).reason).toBe(reason);
    expect(callbackError('server_error', code).reason).toBe(reason);
  });

  it.each([400, 403, 413, 414, 431])(
    'of a gateway that refuses what a visitor sent, with %d, is that status',
    (status) => {
      expect(providerError(answered(status, undefined), undefined)).toMatchObject({
        code: 'provider_refused',
        reason: `http_${status}`,
      });
      expect(providerError(answered(status, 'user_banned'), undefined).reason).toBe('user_banned');
    },
  );

  it.each([301, 401, 404, 405, 500])(
    'of a gateway that refuses the key or does not know the path, with %d, is none',
    (status) => {
      expect(providerError(answered(status, undefined), undefined).reason).toBeUndefined();
    },
  );

  it('of a callback without a code is OAuth’s', () => {
    expect(callbackError('server_error', null).reason).toBe('server_error');
  });
});

it('a callback without any code has no reason', () => {
  expect(callbackError(null, null).reason).toBeUndefined();
  expect(callbackError('access_denied', null).reason).toBe('access_denied');
});

it.each([
  [{ code: 'x' }, 'x'],
  [{ code: 1 }, undefined],
  [{}, undefined],
  [null, undefined],
  [undefined, undefined],
  ['code', undefined],
])('the code of %j', (error, code) => expect(codeOf(error)).toBe(code));

it.each<[AuthError, boolean, boolean]>([
  [new AuthError('provider_unavailable', { reason: 'timeout' }), true, false],
  [new AuthError('provider_unavailable', { reason: 'request_timeout' }), true, false],
  [new AuthError('provider_unavailable', { reason: 'unexpected_failure' }), false, false],
  [new AuthError('provider_unavailable'), false, false],
  [new AuthError('forbidden', { reason: 'timeout' }), false, false],
  [new AuthError('sign_in_failed', { reason: 'unknown' }), false, true],
  [new AuthError('action_failed', { reason: 'unknown' }), false, true],
  [new AuthError('sign_in_refused', { reason: 'mfa_verification_rejected' }), false, true],
  [new AuthError('sign_in_failed'), false, false],
  [new AuthError('code_wrong', { reason: 'unknown' }), false, false],
])('%p may have judged a guess without an answer: %p, or refused it: %p', (error, isLate, isRefused) => {
  expect([isTimeout(error), isRefusedGuess(error)]).toEqual([isLate, isRefused]);
});

it('a refusal of the backend has a reason, and one of the application has none', () => {
  expect(isOwnRefusal(new AuthError('access_denied', { reason: 'unknown' }), 'access_denied')).toBe(true);
  expect(isOwnRefusal(new AuthError('access_denied'), 'access_denied')).toBe(false);
  expect(isOwnRefusal(new AuthError('forbidden', { reason: 'unknown' }), 'access_denied')).toBe(false);
  const other = Object.assign(new Error('other'), { code: 'access_denied', reason: 'unknown' });
  expect(isOwnRefusal(other, 'access_denied')).toBe(false);
});

it('an account of an organization is told to sign in there', () => {
  const { code, reason, message } = organizationSignIn();
  expect([code, reason]).toEqual(['managed_account', 'user_sso_managed']);
  expect(message).toBe(providerError(answered(422, 'user_sso_managed'), undefined).message);
});

describe('a token that was verified here, and that the backend refuses', () => {
  const now = 1_700_000_000_000;
  const tokenOf = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
  const rethrown = (error: unknown, claims: object) => {
    const events: unknown[] = [];
    const rethrow = rethrowStaleKeys(
      { emit: (event) => events.push(event), settings: { now: () => now } },
      tokenOf(claims),
    );
    try {
      rethrow(error);
    } catch (thrown) {
      return { thrown, events };
    }
  };
  const cause = new Error('cause');
  const refusal = new AuthError('link_expired', { reason: 'bad_jwt', cause });

  it.each<[object, number]>([
    [{}, 1],
    [{ exp: 'soon' }, 1],
    [{ exp: now / 1000 + 3_600 }, 1],
    [{ exp: (now + urgentWindowMs) / 1000 + 1 }, 1],
    [{ exp: (now + urgentWindowMs) / 1000 }, 0],
    [{ exp: now / 1000 }, 0],
    [{ exp: now / 1000 - 1 }, 0],
  ])('is an outage; with the claims %j operators get %i warnings', (claims, warnings) => {
    const { thrown, events = [] } = rethrown(refusal, claims) ?? {};
    expect(thrown).toMatchObject({ code: 'provider_unavailable', reason: 'bad_jwt', cause, retryAfter: 5 });
    expect(events).toHaveLength(warnings);
    if (warnings > 0) expect(events).toMatchObject([{ type: 'configuration_warning' }]);
  });

  it.each([new AuthError('link_expired'), Object.assign(new Error('other'), { reason: 'bad_jwt' }), cause])(
    'is what another failure is not: %p',
    (error) => expect(rethrown(error, {})).toEqual({ thrown: error, events: [] }),
  );
});
