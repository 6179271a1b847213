import { callbackError, classifyFailure, failedRefresh, signInError } from '../../lib/b2b/provider-errors.ts';
import { refusals, refusalStatuses, ssoMessage } from '../../lib/b2b/refusals.ts';
import type { ProviderFailure } from '../../lib/b2b/provider-errors.ts';

const passing = (reason: string, retryAfter?: number): ProviderFailure => ({ kind: 'unavailable', reason, retryAfter });
const refused = (code: string, status = 400): ProviderFailure => ({ kind: 'refused', status, code, details: {} });

describe('a failed call to WorkOS', () => {
  it.each([
    [{ status: 401 }],
    [{ status: 401, rawData: { message: 'Unauthorized' } }],
    [{ status: 400, error: 'invalid_client' }],
    [{ status: 400, error: 'unauthorized_client' }],
    [{ status: 400, error: 'unsupported_grant_type' }],
    [{ status: 500, error: 'invalid_client' }],
  ])('%j is a configuration error', (error) => expect(classifyFailure(error)).toEqual({ kind: 'misconfigured' }));

  it.each([
    [408, 'server_error'],
    [429, 'rate_limited'],
    [500, 'server_error'],
    [503, 'server_error'],
    [599, 'server_error'],
  ])('with %i is temporary, and keeps Retry-After if it is valid', (status, reason) => {
    expect(classifyFailure({ status, error: 'invalid_grant' })).toEqual(passing(reason));
    expect(classifyFailure({ status, retryAfter: 7 })).toEqual(passing(reason, 7));
    // The SDK makes NaN of a date, and Infinity of 1e309.
    for (const retryAfter of ['7', Number.NaN, Infinity]) {
      expect(classifyFailure({ status, retryAfter })).toEqual(passing(reason));
    }
  });

  it.each([
    [{ status: 400, error: 'invalid_grant' }, 'invalid_grant', {}],
    [{ status: 403, code: 'sso_required', error: 'other' }, 'sso_required', {}],
    [{ status: 422, rawData: { code: 'a', error: 'b' } }, 'a', { code: 'a', error: 'b' }],
    [{ status: 422, code: '', rawData: { error: 'b' } }, 'b', { error: 'b' }],
    [{ status: 401, error: 'invalid_grant' }, 'invalid_grant', {}],
    [{ status: 400, rawData: { message: 'Sorry' } }, 'no_code', { message: 'Sorry' }],
    [{ status: 400, rawData: { message: ssoMessage } }, 'sso_required', { message: ssoMessage }],
    // The SDK puts the message of a 404 nowhere else.
    [{ status: 404, message: "Organization not found: 'org_01EHQ'." }, 'organization_not_found', {}],
    [{ status: 404, code: 'not_found', message: 'Organization not found' }, 'organization_not_found', {}],
  ])('%j is a rejection with the provider’s own code', (error, code, details) => {
    expect(classifyFailure(error)).toEqual({ kind: 'refused', status: error.status, code, details });
  });

  it.each([
    [{ status: 400 }, 'no_code'],
    [{ status: 404, code: '', error: 7, rawData: null }, 'no_code'],
    [{ status: 302, rawData: { error: { code: 'nested' } } }, 'no_code'],
    [{ status: 404, code: 'not_found' }, 'unexpected_status'],
    [{ status: 404, message: 'A gateway says: Organization not found.' }, 'no_code'],
    [{ status: 404, message: 'Organization not foundered' }, 'no_code'],
    [{ status: 500, message: 'Organization not found' }, 'server_error'],
    [{ status: 409, message: 'Organization not found' }, 'no_code'],
    [{ status: 409, error: 'b' }, 'unexpected_status'],
    [{ status: 403, code: 'rate_limit_exceeded' }, 'rate_limited'],
    [{ status: 400, error: 'slow_down' }, 'rate_limited'],
    [{ cause: { rawStatus: 200 } }, 'not_json'],
    [{ cause: { rawStatus: 403 } }, 'not_json'],
  ])('%j is temporary, without a cause', (error, reason) => expect(classifyFailure(error)).toEqual(passing(reason)));

  it.each([
    [new TypeError('fetch failed')],
    [{ status: '400', error: 'invalid_grant' }],
    ['text'],
    [null],
    [undefined],
  ])('%j is unanswered', (error) => expect(classifyFailure(error)).toEqual({ kind: 'unanswered' }));
});

describe('a refresh', () => {
  it.each([...refusals.keys(), 'a_code_of_next_year', 'constructor'])('ends the session on %s', (code) => {
    // A 401 with a code that we do not know may be about the API key.
    for (const status of refusalStatuses.filter((each) => each !== 401 || refusals.has(code))) {
      expect(failedRefresh({ status, code })).toEqual({ kind: 'ended', reason: code });
    }
  });

  it('reports no code that is longer than any name', () => {
    const outcome = failedRefresh({ status: 403, code: 'a'.repeat(1_000) });
    expect(outcome).toEqual({ kind: 'ended', reason: 'refused' });
  });

  it.each([
    [{ status: 401 }, 'provider_refused', 5],
    [{ status: 429 }, 'rate_limited', 5],
    [{ status: 429, retryAfter: 30 }, 'rate_limited', 30],
    [{ status: 429, retryAfter: 1e300 }, 'rate_limited', 86_400],
    [{ status: 500 }, 'server_error', 5],
    [{ status: 403 }, 'no_code', 5],
    [{ status: 401, code: 'a_code_of_next_year' }, 'provider_refused', 5],
    [{ status: 403, code: 'You may not, ada@example.com' }, 'no_code', 5],
    [{ status: 400, error: 'Bad Request' }, 'no_code', 5],
    [{ status: 403, code: 'forbidden' }, 'no_code', 5],
    [{ status: 403, rawData: { message: 'Forbidden' } }, 'no_code', 5],
  ])('that fails with %j can be retried later', (error, reason, retryAfter) => {
    expect(() => failedRefresh(error)).toThrow(
      expect.objectContaining({ code: 'provider_unavailable', reason, retryAfter }),
    );
  });

  it('that got no answer differs from one that failed', () => {
    const cause = new TypeError('fetch failed');
    expect(failedRefresh(cause)).toEqual({ kind: 'unanswered', cause });
  });
});

describe('a failed sign-in', () => {
  it.each<[ProviderFailure, string, number | undefined]>([
    [refused('invalid_grant'), 'code_rejected', undefined],
    [refused('access_denied'), 'sign_in_refused', undefined],
    [refused('mfa_challenge'), 'sign_in_incomplete', undefined],
    [refused('phone_number_required'), 'phone_number_required', undefined],
    [refused('verification_id_required'), 'phone_number_required', undefined],
    [refused('radar_sms_sign_in_challenge'), 'phone_number_required', undefined],
    [refused('radar_challenge'), 'identity_check_required', undefined],
    [refused('radar_sign_up_challenge'), 'identity_check_required', undefined],
    [refused('a_code_of_next_year'), 'sign_in_refused', undefined],
    [{ kind: 'misconfigured' }, 'provider_refused', undefined],
    [{ kind: 'unanswered' }, 'provider_unavailable', 5],
    [passing('server_error'), 'provider_unavailable', 5],
    [passing('rate_limited', 30), 'provider_unavailable', 30],
  ])('after %j is %s', (failure, code, retryAfter) => {
    expect(signInError(failure, new Error('x'))).toMatchObject({ code, retryAfter });
  });

  it('during an outage does not claim that the user is signed in', () => {
    expect(signInError({ kind: 'unanswered' }, undefined).message).not.toMatch(/still signed in/i);
  });

  it.each([
    ['temporarily_unavailable', 'sign_in_failed'],
    ['server_error', 'sign_in_failed'],
    ['unauthorized_client', 'sign_in_failed'],
    ['invalid_request', 'sign_in_failed'],
    ['invalid_scope', 'sign_in_failed'],
    ['access_denied', 'access_denied'],
    ['anything', 'sign_in_failed'],
  ])('that a callback reports as %s is %s', (error, code) => expect(callbackError(error).code).toBe(code));
});

describe('the cause that an application may log', () => {
  it('is the original error of the connection if there was no answer', () => {
    const cause = new TypeError('fetch failed');
    expect(signInError({ kind: 'unanswered' }, cause).cause).toBe(cause);
    expect(signInError({ kind: 'misconfigured' }, cause).cause).toBe(cause);
  });

  it('has the facts of an answer, and none of the provider’s text', () => {
    const answer = {
      name: 'OauthException',
      status: 400,
      code: '',
      error: 'invalid_grant',
      requestID: 'req_1',
      message: 'pending token abc',
      rawData: { pending_authentication_token: 'abc' },
    };
    const { cause } = signInError(refused('invalid_grant'), answer);
    expect(String(cause)).toBe('Error: WorkOS answered: OauthException 400 invalid_grant req_1');
    expect(Object.keys(cause as object)).toEqual([]);
  });

  it('has no part of a page that came instead of JSON', () => {
    const cut = { name: 'ParseError', cause: { rawStatus: 200, rawBody: '{"access_token":"abc' }, code: {} };
    expect(String(signInError(classifyFailure(cut), cut).cause)).toBe('Error: WorkOS answered: ParseError');
  });
});
