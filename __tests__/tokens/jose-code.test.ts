import { errors } from 'jose';
import { joseCode } from '../../lib/tokens/jose-code.ts';

const withCode = (code: unknown): Error => Object.assign(new Error('x'), { code });

const known: readonly (readonly [Error, string])[] = [
  [new errors.JWTExpired('late', {}), 'ERR_JWT_EXPIRED'],
  [new errors.JWKSNoMatchingKey(), 'ERR_JWKS_NO_MATCHING_KEY'],
  [new errors.JWKSMultipleMatchingKeys(), 'ERR_JWKS_MULTIPLE_MATCHING_KEYS'],
  [new errors.JOSENotSupported('x'), 'ERR_JOSE_NOT_SUPPORTED'],
  [new errors.JWSSignatureVerificationFailed(), 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED'],
];

it.each(known)('tells jose’s %s', (error, code) => {
  expect(joseCode(error)).toBe(code);
});

it.each([
  [new Error('x')],
  [withCode('ERR_INVALID_ARG_TYPE')],
  [withCode('xERR_JWT_EXPIRED')],
  [withCode(['ERR_JWT_EXPIRED'])],
  [{ code: 'ERR_JWT_EXPIRED' }],
  ['ERR_JWT_EXPIRED'],
  [null],
  [undefined],
])('knows no other: %p', (error) => {
  expect(joseCode(error)).toBe(undefined);
});
