import { readToken } from '../../lib/session/jwt.ts';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

it.each([
  ['', {}],
  ['garbage', {}],
  ['e30', {}],
  [`${encode({ alg: 'HS256' })}.a.b`, { alg: 'HS256' }],
  [`${encode(['alg'])}.a.b`, {}],
])('the header of %j is read without trust', (token, expected) => {
  expect(readToken(token).header).toEqual(expected);
});

describe('a token in its compact form', () => {
  it('is recognized, with its header and claims', () => {
    const text = `${encode({ alg: 'RS256', kid: 'rsa' })}.${encode({ sub: 'user_1' })}.AA`;
    expect(readToken(text)).toEqual({
      text,
      header: { alg: 'RS256', kid: 'rsa' },
      claims: { sub: 'user_1' },
      isCompact: true,
    });
  });

  it.each([
    ['', 'nothing'],
    ['a.b', 'two parts'],
    ['e30.e30.e30.e30', 'four parts'],
    ['e30.e30.', 'no signature'],
    ['e30=.e30.AA', 'padding'],
    ['e30.e30.A/', 'plain base64'],
    ['bnVsbA.e30.AA', 'a header that is nothing'],
    ['W10.e30.AA', 'a header that is a list'],
    ['e30.bnVsbA.AA', 'claims that are nothing'],
    [`e30.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.AA`, 'bytes that are no UTF-8'],
  ])('is not %j, which has %s', (token) => {
    expect(readToken(token).isCompact).toBe(false);
  });
});
