import {
  deepFreeze,
  defined,
  isRecord,
  isTooDeep,
  parseEncodedJson,
  parseJson,
  readText,
} from '../../lib/tools/json.ts';

it('freezes a session deeply', () => {
  const session = {
    user: { id: 'user_1', name: null },
    roles: [{ slug: 'admin' }],
    isNew: false,
    permissions: undefined,
  };
  deepFreeze(session);
  expect(() => Object.assign(session, { user: {} })).toThrow(TypeError);
  expect(() => Object.assign(session.user, { id: 'user_2' })).toThrow(TypeError);
  expect(() => session.roles.push({ slug: 'owner' })).toThrow(TypeError);
  expect(() => Object.assign(session.roles[0]!, { slug: 'owner' })).toThrow(TypeError);
});

it('handles circular references', () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  deepFreeze(circle);
  expect(Object.isFrozen(circle)).toBe(true);
});

describe('parseJson', () => {
  it('parses JSON, and nothing else', () => {
    expect(parseJson('{"a":[1]}')).toEqual({ a: [1] });
    expect(parseJson('null')).toBeNull();
    for (const text of ['', '{', 'undefined', '<!doctype html>']) expect(parseJson(text)).toBeUndefined();
  });
});

describe('parseEncodedJson', () => {
  const encode = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64url');

  it('parses JSON in base64url', () => {
    expect(parseEncodedJson(encode('{"name":"Ångström 🚀"}'))).toEqual({ name: 'Ångström 🚀' });
  });

  it('refuses everything else, such as invalid UTF-8, which decoders read differently', () => {
    const invalid = Buffer.from([...Buffer.from('{"sub":"a'), 0xff, ...Buffer.from('"}')]);
    for (const bytes of ['', '{', invalid]) expect(parseEncodedJson(encode(bytes))).toBeUndefined();
  });
});

describe('defined', () => {
  it('omits what is undefined, and keeps every other value', () => {
    const members = { none: undefined, nothing: null, zero: 0, empty: '', no: false, list: [] };
    expect(Object.entries(defined(members))).toEqual([
      ['nothing', null],
      ['zero', 0],
      ['empty', ''],
      ['no', false],
      ['list', []],
    ]);
  });
});

describe('isRecord', () => {
  it('accepts objects only', () => {
    expect([{}, { a: 1 }, Object.create(null)].map(isRecord)).toEqual([true, true, true]);
    for (const value of [null, undefined, [], 'text', 1, true, () => undefined]) expect(isRecord(value)).toBe(false);
  });
});

describe('readText', () => {
  const bytes = (...chunks: string[]): ReadableStream<Uint8Array> => {
    const encoder = new TextEncoder();
    return new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
        controller.close();
      },
    });
  };

  it('joins the chunks of a body, up to the limit', async () => {
    expect(await readText(new Response(bytes('Ång', 'ström')), 10)).toBe('Ångström');
    expect(await readText(new Response(null), 10)).toBe('');
  });

  it('rejects a longer body at the chunk that exceeds the limit', async () => {
    await expect(readText(new Response(bytes('Ång', 'ström')), 9)).rejects.toThrow('larger than 9 bytes');
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(10));
      },
    });
    await expect(readText(new Response(endless), 100)).rejects.toThrow('larger than 100 bytes');
    expect(sent).toBeLessThan(20);
  });
});

describe('isTooDeep', () => {
  const nested = (levels: number, inner: unknown = 1): unknown =>
    levels === 0 ? inner : levels % 2 === 0 ? [nested(levels - 1, inner)] : { a: 1, b: nested(levels - 1, inner) };

  it.each([1, 'text', true, null, undefined])('never is what has no members: %j', (value) => {
    expect(isTooDeep(value)).toBe(false);
    expect(isTooDeep(value, 0)).toBe(false);
    expect(isTooDeep(nested(32, value))).toBe(false);
  });

  it('counts objects and lists, 32 of them at most', () => {
    expect(isTooDeep(nested(32))).toBe(false);
    expect(isTooDeep(nested(33))).toBe(true);
    expect(isTooDeep(nested(32, {}))).toBe(true);
    expect(isTooDeep([1, { a: 'b' }, nested(32)])).toBe(true);
  });

  it('says so of a value that would exhaust the stack', () => {
    let deep: unknown = [];
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(isTooDeep(deep)).toBe(true);
  });
});
