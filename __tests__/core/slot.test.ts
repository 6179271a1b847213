import { createSlot } from '../../lib/core/slot.ts';

describe('a slot', () => {
  it('keeps one value for each owner', () => {
    const slot = createSlot<object, string>();
    const [one, other] = [{}, {}];
    slot.set(one, 'first');
    slot.set(other, 'second');
    slot.set(one, 'third');
    expect([slot.get(one), slot.get(other), slot.get({})]).toEqual(['third', 'second', undefined]);
  });

  it('is independent of every other slot', () => {
    const [one, other] = [createSlot<object, string>(), createSlot<object, string>()];
    const owner = {};
    one.set(owner, 'a');
    expect(other.get(owner)).toBeUndefined();
    other.set(owner, 'b');
    expect(one.get(owner)).toBe('a');
  });

  it('can be neither seen nor forged from outside', () => {
    const slot = createSlot<object, string>();
    const owner = {};
    slot.set(owner, 'secret');
    expect(Reflect.ownKeys(owner)).toEqual([]);
    expect(JSON.stringify({ ...owner })).toBe('{}');
    expect(slot.get({ '#value': 'forged', value: 'forged' })).toBeUndefined();
    expect(slot.get(Object.create(owner) as object)).toBeUndefined();
    expect(slot.get(structuredClone(owner))).toBeUndefined();
  });

  it('tells an empty value from none by overwriting it', () => {
    const slot = createSlot<object, string | undefined>();
    const owner = {};
    slot.set(owner, undefined);
    slot.set(owner, 'a');
    expect(slot.get(owner)).toBe('a');
  });
});
