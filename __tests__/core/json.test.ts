import { deepFreeze, defined, parseEncodedJson, parseJson } from '../../lib/core/json.ts';

it('lets nothing of a session be changed, however deep it lies', () => {
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

it('ends where it has been, so that a circle is no trap', () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  deepFreeze(circle);
  expect(Object.isFrozen(circle)).toBe(true);
});

describe('parseJson', () => {
  it('reads JSON, and nothing else', () => {
    expect(parseJson('{"a":[1]}')).toEqual({ a: [1] });
    expect(parseJson('null')).toBeNull();
    for (const text of ['', '{', 'undefined', '<!doctype html>']) expect(parseJson(text)).toBeUndefined();
  });
});

describe('parseEncodedJson', () => {
  const encode = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64url');

  it('reads JSON in base64url', () => {
    expect(parseEncodedJson(encode('{"name":"Ångström 🚀"}'))).toEqual({ name: 'Ångström 🚀' });
  });

  it('reads nothing else, and no bytes that are no UTF-8, which another reader takes for another text', () => {
    const invalid = Buffer.from([...Buffer.from('{"sub":"a'), 0xff, ...Buffer.from('"}')]);
    for (const bytes of ['', '{', invalid]) expect(parseEncodedJson(encode(bytes))).toBeUndefined();
  });
});

describe('defined', () => {
  it('leaves out what is undefined, and keeps every other value', () => {
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
