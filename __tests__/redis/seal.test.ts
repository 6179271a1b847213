import { sealData } from 'iron-session';
import fc from 'fast-check';
import { createAnswerSeal } from '../../lib/redis/tokens.ts';

const [a, b] = ['a'.repeat(32), 'b'.repeat(32)] as const;
const renewed = '{"accessToken":"visible"}';

describe('an answer’s seal', () => {
  it('opens to what was sealed, whatever the content', async () => {
    const seal = createAnswerSeal([a]);
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), async (key, answer) => {
        expect(await seal.open(key, await seal.seal(key, answer, 25_000))).toEqual(answer);
      }),
    );
  });

  it('reveals nothing of its content', async () => {
    const sealed = await createAnswerSeal([a]).seal('key', renewed, 25_000);
    expect(sealed).toMatch(/^Fe26\.2\*/);
    expect(sealed).not.toContain('visible');
  });

  it('has salts and an IV of its own each time, for the same answer, too', async () => {
    const seal = createAnswerSeal([a]);
    const [one, two] = [await seal.seal('key', renewed, 25_000), await seal.seal('key', renewed, 25_000)];
    // Fe26.2*password id*salt*IV*text*expiry*salt of the MAC*MAC
    const parts = (sealed: string): readonly (string | undefined)[] => [2, 3, 6].map((at) => sealed.split('*')[at]);
    expect(parts(one).map((part = '') => part.length)).toEqual([64, 22, 64]);
    expect(parts(one).filter((part, at) => part === parts(two)[at])).toEqual([]);
  });

  it('does not open for another key, so that no session gets the tokens of another', async () => {
    const seal = createAnswerSeal([a]);
    expect(await seal.open('other', await seal.seal('key', renewed, 25_000))).toBeUndefined();
  });

  it('does not open with another password', async () => {
    const sealed = await createAnswerSeal([a]).seal('key', renewed, 25_000);
    expect(await createAnswerSeal([b]).open('key', sealed)).toBeUndefined();
  });

  it('opens across a change of passwords, in either direction', async () => {
    const before = createAnswerSeal([a, b]);
    const after = createAnswerSeal([b, a]);
    expect(await after.open('key', await before.seal('key', renewed, 25_000))).toEqual(renewed);
    expect(await before.open('key', await after.seal('key', renewed, 25_000))).toEqual(renewed);
    expect(await createAnswerSeal([b]).open('key', await after.seal('key', renewed, 25_000))).toEqual(renewed);
    expect(await createAnswerSeal([b]).open('key', await before.seal('key', renewed, 25_000))).toBeUndefined();
  });

  it('does not open after its time, even if the store still has it', async () => {
    const seal = createAnswerSeal([a]);
    expect(await seal.open('key', await seal.seal('key', renewed, -120_000))).toBeUndefined();
  });

  it('opens to nothing but what was sealed, whatever was changed, and never throws', async () => {
    const seal = createAnswerSeal([a]);
    const sealed = await seal.seal('key', renewed, 25_000);
    await fc.assert(
      fc.asyncProperty(fc.nat(sealed.length - 1), async (at) => {
        const changed = `${sealed.slice(0, at)}${sealed[at] === 'x' ? 'y' : 'x'}${sealed.slice(at + 1)}`;
        // The last character of a base64 text has bits that are ignored.
        expect([undefined, renewed]).toContainEqual(await seal.open('key', changed));
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.string(), async (rubbish) => expect(await seal.open('key', rubbish)).toBeUndefined()),
    );
  });

  it.each([null, {}, 5, ['text']])('does not accept %j as an answer, although it is sealed', async (answer) => {
    const sealed = await sealData({ token: 'key', answer }, { password: a });
    expect(await createAnswerSeal([a]).open('key', sealed)).toBeUndefined();
  });
});
