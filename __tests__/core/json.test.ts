import { deepFreeze, defined, parseEncodedJson, parseJson } from '../../lib/core/json.ts';

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
