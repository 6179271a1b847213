import { createSlot } from '../../lib/http/message.ts';

describe('a slot', () => {
  it('keeps one value for each owner', () => {
    const slot = createSlot<object, string>();
    const [one, other] = [{}, {}];
    slot.add(one, 'first');
    slot.add(other, 'second');
    expect([slot.get(one), slot.get(other), slot.get({})]).toEqual(['first', 'second', undefined]);
  });

  it('is independent of every other slot', () => {
    const [one, other] = [createSlot<object, string>(), createSlot<object, string>()];
    const owner = {};
    one.add(owner, 'a');
    expect(other.get(owner)).toBeUndefined();
    other.add(owner, 'b');
    expect(one.get(owner)).toBe('a');
  });

  it('can be neither read nor forged from outside', () => {
    const slot = createSlot<object, string>();
    const owner = {};
    slot.add(owner, 'secret');
    expect(Reflect.ownKeys(owner)).toEqual([]);
    expect(JSON.stringify({ ...owner })).toBe('{}');
    expect(slot.get({ '#value': 'forged', value: 'forged' })).toBeUndefined();
    expect(slot.get(Object.create(owner) as object)).toBeUndefined();
    expect(slot.get(structuredClone(owner))).toBeUndefined();
  });

  it('refuses a second value for the same owner', () => {
    const slot = createSlot<object, string | undefined>();
    const owner = {};
    slot.add(owner, undefined);
    expect(() => slot.add(owner, 'a')).toThrow(TypeError);
    expect(slot.get(owner)).toBeUndefined();
  });
});
