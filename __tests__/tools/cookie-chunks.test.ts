import fc from 'fast-check';
import {
  chunkCookie,
  chunkNames,
  cookieBytes,
  cookiesHolding,
  sessionCandidates,
  writeChunks,
} from '../../lib/tools/cookie-chunks.ts';
import { createChunksFinder, parseCookies, serializeCookie } from '../../lib/tools/cookies.ts';
import type { CookieAttributes, CookieWrite } from '../../lib/tools/cookies.ts';

const attributes: CookieAttributes = { path: '/', sameSite: 'lax', secure: true, httpOnly: true, maxAge: 34_560_000 };
const names = (writes: readonly CookieWrite[]) => writes.map((write) => write.name);
const headerOf = (writes: readonly CookieWrite[]) =>
  writes.map((write) => serializeCookie(write, attributes).split(';')[0]).join('; ');
const all = (): boolean => true;
const candidates = (header: string) => sessionCandidates(parseCookies(header), 's', all).values;

describe('chunkCookie', () => {
  it('does not split a cookie that just fits, attributes included, and splits one that is a byte longer', () => {
    const room = 4096 - serializeCookie({ name: 's', value: '' }, attributes).length;
    expect(names(chunkCookie('s', 'x'.repeat(room), { attributes }))).toEqual(['s']);
    expect(names(chunkCookie('s', 'x'.repeat(room + 1), { attributes }))).toEqual(['s.0', 's.1']);
  });

  it('counts the attributes of the cookie', () => {
    const value = 'x'.repeat(4000);
    expect(names(chunkCookie('s', value))).toEqual(['s']);
    const long = { ...attributes, domain: `${'sub.'.repeat(20)}example.com` };
    expect(names(chunkCookie('s', value, { attributes: long }))).toEqual(['s.0', 's.1']);
  });

  it('keeps every cookie within the limit, and the value can be restored', () => {
    const value = fc.oneof(
      fc.string({ maxLength: 1000, size: 'max' }),
      fc.string({ unit: 'binary', maxLength: 300, size: 'max' }),
      fc.string({ unit: fc.constantFrom('😀', 'é', 'a', '"', '%', ';'), maxLength: 500, size: 'max' }),
    );
    fc.assert(
      fc.property(value, fc.integer({ min: 200, max: 600 }), (text, maxBytes) => {
        const writes = chunkCookie('s', text, { maxBytes, attributes });
        for (const write of writes)
          expect(Buffer.byteLength(serializeCookie(write, attributes))).toBeLessThanOrEqual(maxBytes);
        const [first = ''] = candidates(headerOf(writes));
        expect(first).toBe(text);
      }),
    );
  });

  it('throws for a limit that leaves no space instead of looping', () => {
    expect(() => chunkCookie('s', 'x', { maxBytes: 20 })).toThrow(RangeError);
    expect(() => chunkCookie('s', '😀'.repeat(50), { maxBytes: 75 })).toThrow(RangeError);
  });
});

describe('sessionCandidates', () => {
  it('offers every value of the name in order, then the joined chunks', () => {
    expect(candidates('s=bad; s.1=b; s=good; s.0=a')).toEqual(['bad', 'good', 'ab', 'a']);
  });

  it('offers one value of the name before the chunks beside it, and nothing if it is empty', () => {
    expect(candidates('s=whole')).toEqual(['whole']);
    expect(candidates('s=whole; s.0=a; s.1=b')).toEqual(['whole', 'ab', 'a']);
    expect(candidates('s=whole; s.1=stray')).toEqual(['whole']);
    expect(candidates('s=')).toEqual([]);
  });

  it('ends the chain at a missing chunk and ignores strays', () => {
    expect(candidates('s.0=a; s.1=b; s.3=d; s.99=z; s.00=q; s.01=q; s.1e0=q; s.=q; s.0.0=q; xs.2=q')).toEqual([
      'ab',
      'a',
    ]);
    expect(candidates('s.1=b; s.2=c')).toEqual([]);
  });

  it('treats an emptied chunk as missing and ignores an emptied cookie', () => {
    expect(candidates('s=; s.0=a; s.1=; s.2=c')).toEqual(['a']);
  });

  it('finds the good session behind a bad duplicate of a chunk, of any chunk, in any order', () => {
    expect(candidates('s.0=BAD; s.0=a; s.1=b')).toContain('ab');
    expect(candidates('s.0=a; s.0=BAD; s.1=BAD; s.1=b')).toContain('ab');
    expect(candidates('s.0=X; s.0=a; s.1=b; s.1=X; s.2=c')).toContain('abc');
  });

  it('tries first-of-each and last-of-each before mixtures', () => {
    expect(candidates('s.0=a; s.1=b; s.0=A; s.1=B').slice(0, 2)).toEqual(['ab', 'AB']);
  });

  it('finds the good session before a leftover chunk', () => {
    expect(candidates('s.0=a; s.1=b; s.2=old')).toContain('ab');
  });

  it('finds the good session before thousands of appended chunks', () => {
    const header = `s.0=a; s.1=b; ${Array.from({ length: 2000 }, (_, i) => `s.${i + 2}=x`).join('; ')}`;
    expect(candidates(header)).toContain('ab');
  });

  it('offers at most 16, however many duplicates there are', () => {
    const many = (name: string) => Array.from({ length: 60 }, (_, i) => `${name}=${name}-${i}`).join('; ');
    const header = ['s', 's.0', 's.1', 's.2', 's.3'].map(many).join('; ');
    const found = candidates(header);
    expect(found).toHaveLength(16);
    expect(new Set(found).size).toBe(16);
    expect(found).toEqual(expect.arrayContaining(['s-0', 's-59', 's.0-0s.1-0s.2-0s.3-0', 's.0-59s.1-59s.2-59s.3-59']));
  });

  it('finds the good one first or last among any number of bad ones', () => {
    const bad = Array.from({ length: 200 }, (_, i) => `s=bad${i}`).join('; ');
    expect(candidates(`s=good; ${bad}`)).toContain('good');
    expect(candidates(`${bad}; s=good`)).toContain('good');
    expect(candidates(`${bad}; s.0=go; s.1=od`)).toContain('good');
  });

  it('finds a session beside any number of copies of one bad value', () => {
    const bad = Array.from({ length: 50 }, () => 's=bad').join('; ');
    expect(candidates(`${bad}; s=good; ${bad}`)).toEqual(['bad', 'good']);
  });

  it('skips values that cannot be a session', () => {
    const bad = (name: string) => Array.from({ length: 200 }, (_, i) => `${name}=bad${i}`).join('; ');
    const isGood = (text: string): boolean => text.startsWith('good');
    const found = (header: string) => sessionCandidates(parseCookies(header), 's', isGood);
    expect(found(`${bad('s')}; s=good1; ${bad('s')}; s=good2; ${bad('s')}`)).toEqual({
      values: ['good1', 'good2'],
      isComplete: true,
    });
    expect(found(`${bad('s')}; s.0=go; s.1=od`)).toEqual({ values: ['good'], isComplete: true });
  });

  it('reports whether every candidate was tried', () => {
    const isComplete = (header: string) => sessionCandidates(parseCookies(header), 's', all).isComplete;
    const many = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}=v${i}`).join('; ');
    expect([isComplete(many('s', 12)), isComplete(many('s', 13))]).toEqual([true, false]);
    expect([isComplete(many('s.0', 8)), isComplete(`${many('s.0', 5)}; ${many('s.1', 5)}`)]).toEqual([true, false]);
    const chain = (length: number) => Array.from({ length }, (_, i) => `s.${i}=x`).join('; ');
    // No session has so many chunks: they are strays.
    expect([isComplete(chain(10)), isComplete(chain(90))]).toEqual([true, true]);
  });

  it('never throws and never exceeds its bound', () => {
    const pair = fc.tuple(
      fc.constantFrom('s', 's.0', 's.1', 's.2', 's.3', 's.9', 't'),
      fc.constantFrom('', 'a', 'b', 'c'),
    );
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 200 }), (pairs) => {
        expect(candidates(pairs.map(([name, value]) => `${name}=${value}`).join('; ')).length).toBeLessThanOrEqual(16);
      }),
    );
  });
});

describe('createChunksFinder', () => {
  const peekCookie = (header: string, name: string): string | undefined => createChunksFinder(name)(header);

  it('finds the whole cookie, else the chunks of it joined, as they were sent', () => {
    expect(peekCookie('a=1; s=whole; s.0=b', 's')).toBe('whole');
    expect(peekCookie('s.1=b; a=1; s.0=a%20; s.2=c', 's')).toBe('a%20bc');
    expect(peekCookie('s=; s.0=b', 's')).toBe('');
  });

  it('ends at a missing chunk, and finds nothing without a first chunk', () => {
    expect(peekCookie('s.0=a; s.2=c', 's')).toBe('a');
    expect(peekCookie('s.1=b; s.2=c; xs=d', 's')).toBeUndefined();
    expect(peekCookie('', 's')).toBeUndefined();
  });
});

describe('chunkNames', () => {
  it('names the cookie and all its chunks, strays included, and no other cookie', () => {
    const strangers = 's.00=q; s.1e0=q; s.x=q; s-0=q; ss=q; s.0.0=q; S=q; s.100=q; s.9999999=q';
    const cookies = parseCookies(`s.10=; s=1; s=2; s.0=a; s.99=z; s.9=y; ${strangers}`);
    expect(chunkNames(cookies, 's')).toEqual(['s', 's.0', 's.9', 's.10', 's.99']);
  });

  it('treats the name literally', () => {
    expect(chunkNames(parseCookies('aXb.0=1; a.b.0=2'), 'a.b')).toEqual(['a.b.0']);
  });
});

describe('cookiesHolding', () => {
  const holding = (header: string, ...values: string[]): string[] => [
    ...cookiesHolding(
      parseCookies(header),
      's',
      values.map((cookie) => ({ cookie })),
    ).keys(),
  ];
  const header = 's=whole; s=theirs; s.0=a; s.1=b; s.7=c; other=d';

  it('are the plain cookie, or all chunks, or both, and no others', () => {
    expect(holding(header, 'whole')).toEqual(['s']);
    expect(holding(header, 'ab')).toEqual(['s.0', 's.1', 's.7']);
    expect(holding(header, 'ab', 'whole')).toEqual(['s', 's.0', 's.1', 's.7']);
    expect(holding(header)).toEqual([]);
  });
});

describe('writeChunks', () => {
  const long = 'x'.repeat(5000);

  it('deletes the chunks when the session fits into one cookie again', () => {
    expect(writeChunks('s', 'v', parseCookies('s.0=a; s.1=b; s.7=c; other=d'))).toEqual([
      { name: 's', value: 'v' },
      { name: 's.0', value: undefined },
      { name: 's.1', value: undefined },
      { name: 's.7', value: undefined },
    ]);
  });

  it('deletes the unchunked cookie and chunks beyond the last', () => {
    const writes = writeChunks('s', long, parseCookies('s=old; s.0=a; s.1=b; s.2=c'));
    expect(names(writes)).toEqual(['s.0', 's.1', 's', 's.2']);
    expect(writes.slice(2).map((write) => write.value)).toEqual([undefined, undefined]);
  });

  it('writes each name once, whatever cookies were there', () => {
    const present = fc
      .array(fc.constantFrom('s', 's.0', 's.1', 's.2', 's.30'))
      .map((list) => list.map((n) => `${n}=old`));
    fc.assert(
      fc.property(present, fc.integer({ min: 1, max: 13_000 }), (pairs, size) => {
        const value = 'v'.repeat(size);
        const writes = writeChunks('s', value, parseCookies(pairs.join('; ')));
        expect(new Set(names(writes)).size).toBe(writes.length);
        const kept = writes.filter((write) => write.value !== undefined);
        expect(candidates(headerOf(kept))[0]).toBe(value);
      }),
    );
  });
});

describe('cookieBytes', () => {
  it('counts the bytes that the browser will send back', () => {
    const writes = [
      { name: 's.0', value: 'abc' },
      { name: 's.1', value: 'é' },
      { name: 's', value: undefined },
    ];
    expect(cookieBytes(writes)).toBe('s.0=abc; s.1=%C3%A9; '.length);
    expect(cookieBytes([])).toBe(0);
  });
});
