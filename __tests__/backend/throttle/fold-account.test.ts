import fc from 'fast-check';
import { foldAccount } from '../../../lib/backend/forms/fields.ts';

describe('folding an account', () => {
  /** Go's `strings.ToLower`, which GoTrue uses: one character for each character. */
  const lowerAsGo = (text: string): string =>
    Array.from(text, (letter) => {
      const lower = letter.toLowerCase();
      return String.fromCodePoint(lower.codePointAt(0) ?? 0);
    }).join('');

  it('gives one text to every two addresses that the backend takes for one: any letter', () => {
    const apart: string[] = [];
    for (let point = 0; point <= 0x10ffff; point += 1) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const letter = String.fromCodePoint(point);
      if (foldAccount(letter) !== foldAccount(lowerAsGo(letter))) apart.push(point.toString(16));
    }
    expect(apart).toEqual([]);
  });

  it('gives one text to every two addresses that the backend takes for one: any text', () => {
    const unit = fc.constantFrom(
      ...['i', 'I', 'İ', 'ı', 'σ', 'Σ', 'ς', 'ß', 'ẞ', 'K', 'ſ', 'é', 'É', 'e', 'E', '.', '@', ' '],
      ...['\u0307', '\u0301', '\u0323', '\u212A', '\u0345', 'Ǆ', 'ǅ', 'ﬁ'],
    );
    const texts = fc.oneof(
      fc.array(unit, { maxLength: 12 }).map((units) => units.join('')),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(foldAccount(lowerAsGo(text))).toBe(foldAccount(text));
      }),
      { numRuns: 5_000 },
    );
  });
});
