import { createB2bSource } from '../../lib/b2b/session.ts';
import { createSeal, parseStoredSession, renewedSession, sealedLength } from '../../lib/b2b/seal.ts';
import type { Seal } from '../../lib/b2b/seal.ts';
import { AuthError } from '../../lib/errors.ts';
import { cookieBytes } from '../../lib/tools/cookie-chunks.ts';

const seal = createSeal(['a password of thirty-two characters']);

describe('the length of a seal', () => {
  it('is computed without sealing, for every remainder of a cipher block and beyond ASCII', async () => {
    for (let length = 0; length < 34; length += 1) {
      const value = { text: 'x'.repeat(length) };
      expect(sealedLength(value)).toBe((await seal.seal(value)).length);
    }
    const names = { text: 'Åsa \u{1F600} 東京' };
    expect(sealedLength(names)).toBe((await seal.seal(names)).length);
  });

  it.each([10, 3_000, 7_000])('predicts the cookie bytes of a session (%i bytes of token)', async (bytes) => {
    let seals = 0;
    const counting: Seal = {
      ...seal,
      seal(value, ttl) {
        seals += 1;
        return seal.seal(value, ttl);
      },
    };
    const settings = {
      clientId: 'client_1',
      cookieName: 'b2b-session',
      cookieOptions: { maxAge: 60 },
      issuer: undefined,
      sessionMaxAge: undefined,
      now: Date.now,
    };
    const source = createB2bSource(settings, counting, undefined as never, undefined as never);
    const content = parseStoredSession({
      accessToken: 'x'.repeat(bytes),
      refreshToken: 'r',
      user: { id: 'u', email: 'e' },
    })!;
    const measured = await source.cookieBytes(content);
    expect(seals).toBe(0);
    expect(measured).toBe(cookieBytes(await source.write(content, new Map())));
  });
});

describe('the session after a refresh', () => {
  const former = parseStoredSession({
    accessToken: 'access 1',
    refreshToken: 'refresh 1',
    user: { id: 'user_1', email: 'ada@example.com' },
    organizationId: 'org_1',
    authenticationMethod: 'SSO',
    signedInAt: 5,
  })!;
  const user = { id: 'user_1', email: 'ada@example.org' };
  const renewed = (response: object, before = former) => renewedSession(response as never, before);

  it('has what WorkOS answered, and the method and the time of the sign-in', () => {
    const response = { accessToken: 'access 2', refreshToken: 'refresh 2', user, organizationId: 'org_2' };
    expect(renewed({ ...response, authenticationMethod: 'Password' })).toEqual({
      ...response,
      authenticationMethod: 'SSO',
      signedInAt: 5,
    });
    const without = { ...former, authenticationMethod: undefined };
    expect(renewed({ ...response, authenticationMethod: 'Password' }, without).authenticationMethod).toBe('Password');
    expect(renewed(response, without).authenticationMethod).toBeUndefined();
  });

  it.each([
    [{ accessToken: 'access 2', refreshToken: 'refresh 2' }, 'access 2', 'refresh 2'],
    [{ accessToken: 'access 2', refreshToken: '', user }, 'access 2', 'refresh 1'],
    [{ accessToken: 'access 2', user }, 'access 2', 'refresh 1'],
    [{ accessToken: '', refreshToken: 'refresh 2', user }, 'access 1', 'refresh 2'],
    [{ refreshToken: 'refresh 2', user: null }, 'access 1', 'refresh 2'],
  ])('keeps the tokens of an answer that lacks something: %j', (response, accessToken, refreshToken) => {
    expect(renewed(response)).toEqual({ ...former, accessToken, refreshToken });
  });

  it.each([
    {},
    { user },
    { accessToken: '', refreshToken: '', user },
    { accessToken: null, refreshToken: null },
    { accessToken: 5, refreshToken: 5, user },
    { accessToken: 'access 2', refreshToken: 5, user },
  ])('is none after an answer without a usable token: %j', (response) => {
    expect(() => renewed(response)).toThrow(new AuthError('token_rejected'));
  });
});
