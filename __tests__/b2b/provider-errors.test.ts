import { callbackError, classifyFailure, isEnding, refreshError, signInError } from '../../lib/b2b/provider-errors.ts';
import type { ProviderFailure } from '../../lib/b2b/provider-errors.ts';

const unavailable = { kind: 'unavailable', retryAfter: undefined };

describe('a failed call to WorkOS', () => {
  it.each([
    [{ status: 401 }],
    [{ status: 401, error: 'invalid_grant' }],
    [{ status: 400, error: 'invalid_client' }],
    [{ status: 500, error: 'invalid_client' }],
  ])('%j is our own set-up’s fault', (error) => expect(classifyFailure(error)).toEqual({ kind: 'misconfigured' }));

  it.each([408, 429, 500, 503, 599])('with %i passes, and says when where it can', (status) => {
    expect(classifyFailure({ status, error: 'invalid_grant' })).toEqual(unavailable);
    expect(classifyFailure({ status, retryAfter: 7 })).toEqual({ kind: 'unavailable', retryAfter: 7 });
    expect(classifyFailure({ status, retryAfter: '7' })).toEqual(unavailable);
  });

  it.each([
    [{ status: 400, error: 'invalid_grant' }, 'invalid_grant', {}],
    [{ status: 403, code: 'sso_required', error: 'other' }, 'sso_required', {}],
    [{ status: 422, rawData: { code: 'a', error: 'b' } }, 'a', { code: 'a', error: 'b' }],
    [{ status: 422, code: '', rawData: { error: 'b' } }, 'b', { error: 'b' }],
    [{ status: 499, error: 'b', rawData: 'text' }, 'b', {}],
  ])('%j is a refusal by the provider’s own code', (error, code, details) => {
    expect(classifyFailure(error)).toEqual({ kind: 'refused', code, details });
  });

  it.each([
    [{ status: 400 }],
    [{ status: 404, code: '', error: 7, rawData: null }],
    [{ status: 302, rawData: { error: { code: 'nested' } } }],
    [{ cause: { rawStatus: 200 } }],
  ])('%j says nothing, so it passes', (error) => expect(classifyFailure(error)).toEqual(unavailable));

  it.each([
    [new TypeError('fetch failed')],
    [{ status: '400', error: 'invalid_grant' }],
    ['text'],
    [null],
    [undefined],
  ])('%j is no answer', (error) => expect(classifyFailure(error)).toEqual({ kind: 'unanswered' }));
});

describe('a session', () => {
  const refused = (code: string): ProviderFailure => ({ kind: 'refused', code, details: {} });

  it.each(['invalid_grant', 'sso_required', 'mfa_enrollment', 'session_revoked'])('ends by %s', (code) => {
    expect(isEnding(refused(code))).toBe(true);
  });

  it.each<[ProviderFailure]>([
    [refused('rate_limit_exceeded')],
    [refused('constructor')],
    [{ kind: 'misconfigured' }],
    [{ kind: 'unanswered' }],
    [{ kind: 'unavailable', retryAfter: undefined }],
  ])('does not end by %j, and comes back later', (failure) => {
    expect(isEnding(failure)).toBe(false);
    expect(refreshError(failure, new Error('x'))).toMatchObject({ code: 'provider_unavailable', retryAfter: 5 });
  });

  it('comes back when the provider says', () => {
    const failure: ProviderFailure = { kind: 'unavailable', retryAfter: 30 };
    expect(refreshError(failure, new Error('x')).retryAfter).toBe(30);
    expect(signInError(failure, new Error('x'))).toMatchObject({ code: 'provider_unavailable', retryAfter: 30 });
  });
});

describe('a failed sign-in', () => {
  it.each<[ProviderFailure, string, number | undefined]>([
    [{ kind: 'refused', code: 'invalid_grant', details: {} }, 'code_rejected', undefined],
    [{ kind: 'refused', code: 'access_denied', details: {} }, 'access_denied', undefined],
    [{ kind: 'refused', code: 'mfa_challenge', details: {} }, 'sign_in_incomplete', undefined],
    [{ kind: 'misconfigured' }, 'provider_refused', undefined],
    [{ kind: 'unanswered' }, 'provider_unavailable', 5],
    [{ kind: 'unavailable', retryAfter: undefined }, 'provider_unavailable', 5],
  ])('after %j is %s', (failure, code, retryAfter) => {
    expect(signInError(failure, new Error('x'))).toMatchObject({ code, retryAfter });
  });

  it('during an outage does not speak of being signed in', () => {
    expect(signInError({ kind: 'unanswered' }, undefined).message).not.toMatch(/still signed in/i);
  });

  it.each([
    ['temporarily_unavailable', 'provider_unavailable'],
    ['server_error', 'provider_unavailable'],
    ['unauthorized_client', 'provider_refused'],
    ['invalid_request', 'provider_refused'],
    ['invalid_scope', 'provider_refused'],
    ['access_denied', 'access_denied'],
    ['anything', 'access_denied'],
  ])('that a callback reports as %s is %s', (error, code) => expect(callbackError(error).code).toBe(code));
});

describe('what an application may log of it', () => {
  const failure: ProviderFailure = { kind: 'unanswered' };

  it('is the connection’s own error where there was no answer', () => {
    const cause = new TypeError('fetch failed');
    expect(refreshError(failure, cause).cause).toBe(cause);
    expect(signInError({ kind: 'misconfigured' }, cause).cause).toBe(cause);
  });

  it('is the facts of an answer, and nothing that the provider wrote', () => {
    const answer = {
      name: 'OauthException',
      status: 400,
      code: '',
      error: 'invalid_grant',
      requestID: 'req_1',
      message: 'pending token abc',
      rawData: { pending_authentication_token: 'abc' },
    };
    const { cause } = signInError({ kind: 'refused', code: 'invalid_grant', details: {} }, answer);
    expect(String(cause)).toBe('Error: WorkOS answered: OauthException 400 invalid_grant req_1');
    expect(Object.keys(cause as object)).toEqual([]);
  });

  it('is no part of a page that came in place of JSON', () => {
    const cut = { name: 'ParseError', cause: { rawStatus: 200, rawBody: '{"access_token":"abc' }, code: {} };
    expect(String(refreshError(failure, cut).cause)).toBe('Error: WorkOS answered: ParseError');
  });
});
