import fc from 'fast-check';
import { createHmac, createCipheriv, pbkdf2Sync, randomBytes } from 'node:crypto';
import { sealData, unsealData } from 'iron-session';
import { openSeal } from '../../lib/b2b/seal.ts';

const password = randomBytes(32).toString('base64url');
const otherPassword = randomBytes(32).toString('base64url');

/** iron-session's answer; it opens a seal under any password id, as the adapter always configured it. */
async function ironOpens(seal: string, secret = password): Promise<unknown> {
  const id = /^Fe26\.2\*(\d{1,4})\*/.exec(seal)?.[1];
  if (id === undefined) return undefined;
  const refusals: unknown[] = [];
  const onUnsealError = (reason: unknown): void => void refusals.push(reason);
  const value: unknown = await unsealData(seal, { password: { [id]: secret }, ttl: 0, onUnsealError });
  return refusals.length > 0 ? undefined : value;
}

const opens = (seal: string, secret = password): unknown => openSeal(seal, secret, Date.now());

const seal = (value: unknown, id = 1, ttl = 0): Promise<string> =>
  sealData(value, { password: { [id]: password }, ttl });

/** A seal of arbitrary parts, with a valid MAC. */
function sealWith(parts: {
  readonly text: string;
  readonly id?: string;
  readonly salt?: string;
  readonly expiry?: string;
  readonly macSalt?: string;
}): string {
  const { text, id = '1', salt = 'salt', expiry = '', macSalt = 'mac-salt' } = parts;
  const key = (keySalt: string): Buffer => pbkdf2Sync(password, keySalt, 1, 32, 'sha1');
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', key(salt), iv);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]).toString('base64url');
  const body = `Fe26.2*${id}*${salt}*${iv.toString('base64url')}*${sealed}*${expiry}`;
  return `${body}*${macSalt}*${createHmac('sha256', key(macSalt)).update(body).digest('base64url')}~2`;
}

/** No blanks: no cookie has one, and iron-session ignores it inside a MAC. */
const character = fc.constantFrom('*', '~', '.', '-', '_', '=', '0', '1', '9', 'A', 'Z', 'a', 'z', 'é', '%');

/** A change that may happen to a cookie in transit, or on purpose. */
const mutation = fc.oneof(
  fc.record({ kind: fc.constant('replace' as const), at: fc.nat(), by: character }),
  fc.record({ kind: fc.constant('insert' as const), at: fc.nat(), by: character }),
  fc.record({ kind: fc.constant('delete' as const), at: fc.nat(), by: fc.constant('') }),
  fc.record({ kind: fc.constant('truncate' as const), at: fc.nat(), by: fc.constant('') }),
);

function mutate(
  text: string,
  { kind, at, by }: { readonly kind: string; readonly at: number; readonly by: string },
): string {
  const index = at % text.length;
  if (kind === 'truncate') return text.slice(0, index);
  return text.slice(0, index) + by + text.slice(kind === 'insert' ? index : index + 1);
}

describe('openSeal answers as iron-session does', () => {
  it('opens everything that iron-session seals, under any password id', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.integer({ min: 1, max: 9999 }), async (value, id) => {
        const sealed = await seal({ value }, id);
        expect(opens(sealed)).toEqual(await ironOpens(sealed));
        expect(opens(sealed)).toEqual(JSON.parse(JSON.stringify({ value })));
      }),
      { numRuns: 200 },
    );
  });

  it('agrees about seals with random changes', async () => {
    const sealed = await seal({ user: { id: 'user_1', name: 'Ada Lovelace – ß' } });
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 3 }), async (mutations) => {
        const changed = mutations.reduce((text, change) => (text === '' ? text : mutate(text, change)), sealed);
        expect(opens(changed)).toEqual(await ironOpens(changed));
      }),
      { numRuns: 2_000 },
    );
  });

  it('agrees about every single character of a seal', async () => {
    const sealed = await seal({ a: 1 });
    for (let at = 0; at < sealed.length; at += 1) {
      for (const by of ['A', 'B', '*', '']) {
        const changed = sealed.slice(0, at) + by + sealed.slice(at + 1);
        expect([at, by, opens(changed)]).toEqual([at, by, await ironOpens(changed)]);
      }
    }
  });

  it('opens no made-up seal that iron-session does not open to the same value', async () => {
    const sealed = await seal({ a: 1 });
    const parts = sealed.split('*');
    const part = fc.oneof(fc.constantFrom(...parts), fc.string({ unit: 'grapheme' }), fc.constant(''));
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 0, maxLength: 10 }), async (made) => {
        const text = made.join('*');
        const opened = opens(text);
        if (opened !== undefined) expect(opened).toEqual(await ironOpens(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(opens(text)).toBeUndefined();
        expect(opens(`Fe26.2*1*${text}`)).toBeUndefined();
      }),
      { numRuns: 1_000 },
    );
  });

  it('does not open with another password', async () => {
    const sealed = await seal({ a: 1 });
    expect(opens(sealed, otherPassword)).toBeUndefined();
    expect(await ironOpens(sealed, otherPassword)).toBeUndefined();
  });

  it.each([-3_600_000, -61_000, -59_000, 59_000, 3_600_000])('agrees about an expiry %s ms from now', async (ms) => {
    const sealed = sealWith({ text: '{"a":1}', expiry: String(Date.now() + ms) });
    expect(opens(sealed)).toEqual(await ironOpens(sealed));
    expect(opens(sealed)).toEqual(ms < -60_000 ? undefined : { a: 1 });
  });

  it('honors the lifetime that iron-session puts into a seal, and 60 s more for clocks that differ', async () => {
    const sealed = await seal({ a: 1 }, 1, 600);
    expect(openSeal(sealed, password, Date.now() + 655_000)).toEqual({ a: 1 });
    expect(openSeal(sealed, password, Date.now() + 661_000)).toBeUndefined();
  });

  it.each([
    ['an expiry that is no number', { text: '{}', expiry: 'soon' }],
    ['an expiry that begins with 0', { text: '{}', expiry: '09999999999999' }],
    ['an expiry beyond all numbers', { text: '{}', expiry: '9'.repeat(400) }],
    ['an empty salt', { text: '{}', salt: '' }],
    ['an empty MAC salt', { text: '{}', macSalt: '' }],
    ['a salt beyond ASCII', { text: '{}', salt: 'sälz', macSalt: '盐' }],
    ['no password id', { text: '{}', id: '' }],
    ['a password id that is no number', { text: '{}', id: '__proto__' }],
    ['a password id that begins with 0', { text: '{"a":1}', id: '0001' }],
    ['a password id of five digits', { text: '{}', id: '10000' }],
    ['a text that is no JSON', { text: 'a=1' }],
    ['an empty text', { text: '' }],
    ['a list', { text: '[1,2]' }],
    ['a word', { text: '"text"' }],
    ['characters beyond ASCII', { text: '{"a":"ß – 盐 – 😀"}' }],
  ])('agrees about %s, sealed with the right password', async (_what, parts) => {
    const sealed = sealWith(parts);
    expect(opens(sealed)).toEqual(await ironOpens(sealed));
  });

  it('accepts a MAC in one spelling only, except for padding', async () => {
    const sealed = (await seal({ a: 1 })).replace(/~2$/, '');
    expect(opens(`${sealed}=`)).toEqual({ a: 1 });
    expect(await ironOpens(`${sealed}=`)).toEqual({ a: 1 });
    expect(opens(`${sealed.slice(0, -4)} ${sealed.slice(-4)}`)).toBeUndefined();
  });

  it('ignores what follows the seal, as iron-session does', async () => {
    const sealed = await seal({ a: 1 });
    for (const version of ['', '~', '~1', '~99', '~x~y', '~*~']) {
      const changed = sealed.replace(/~2$/, version);
      expect([version, opens(changed)]).toEqual([version, await ironOpens(changed)]);
      expect([version, opens(changed)]).toEqual([version, { a: 1 }]);
    }
  });
});
