import { createB2bSource } from '../../lib/b2b/session-cookie.ts';
import { createSeal, parseStoredSession, sealedLength } from '../../lib/b2b/seal.ts';
import type { Seal } from '../../lib/b2b/seal.ts';
import { cookieBytes } from '../../lib/core/cookie-chunks.ts';

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
