import type { TakenToken } from '../../../lib/session/coordinator.ts';
import { day, ended, holding, never, setUp, setUpTwo, to } from '../../support/exchanges.ts';

/** A process whose coordinator has this to say of `a`. */
function setUpWith(answer: string | undefined, taken: Partial<TakenToken> = {}) {
  const { shared, clock } = setUpTwo();
  const turnMs = 2_000;
  shared.take = (token) => Promise.resolve(token === 'a' ? { answer, ttlMs: 60_000, turnMs, ...taken } : { turnMs });
  const one = setUp({ shared, clock });
  const run = () => {
    one.calls.push('a');
    return Promise.resolve(to('provider'));
  };
  return { ...one, learn: async () => (await one.refresh.run(holding('a'), { former: [], run })).answer };
}

const renewed = { kind: 'renewed', token: 'b', text: 'of b', steps: 1 };
const withFields = (fields: object): string => JSON.stringify({ ...renewed, ...fields });
const names = Array.from({ length: 70 }, (_, index) => `between ${index}`);

describe('an answer of the coordinator', () => {
  it.each([
    'no JSON',
    'null',
    '[]',
    '{}',
    '{"kind":"renewed","token":"b","steps":1}',
    '{"kind":"renewed","token":"b","text":"of b"}',
    '{"kind":"renewed","token":"b","text":"of b","steps":-1}',
    '{"kind":"renewed","token":"b","text":"of b","steps":"1"}',
    '{"kind":"renewed","token":"b","text":"of b","steps":8640000000000001}',
    '{"kind":"renewed","token":"b","text":5,"steps":1}',
    withFields({ token: 'b'.repeat(1_001) }),
    withFields({ kind: 'by ' }),
    '{"kind":"by"}',
    JSON.stringify({ kind: 'by', token: 'b'.repeat(1_001) }),
    '{"kind":"renewed","text":"of b","steps":1}',
    '{"kind":"ended"}',
    '{"kind":"ended","reason":5}',
    '{"kind":"ended "}',
    '{"kind":"__proto__"}',
  ])('that no process of ours has written is none, and is reported as such: %#', async (answer) => {
    const { learn, reports } = setUpWith(answer);
    expect(await learn()).toMatchObject({ token: 'provider' });
    expect(reports).toEqual([{ type: 'coordinator_unavailable', operation: 'refresh', reason: 'unreadable' }]);
  });

  it.each<[string, object, object]>([
    ['the time of a token that was given again', { reissuedAt: 5 }, { reissuedAt: 5 }],
    ['no such time that is none', { reissuedAt: 'soon' }, {}],
    ['the name of its user', { owner: 'ada' }, { owner: 'ada' }],
    ['no such name that is none', { owner: 5 }, {}],
    ['no such name that is too long', { owner: 'a'.repeat(1_001) }, {}],
    ['the last 64 names of the tokens in between', { between: [...names, 5] }, { between: names.slice(-64) }],
    ['no list that is none', { between: 'c' }, {}],
    ['no field that we do not know', { later: true }, {}],
    ['a name of a thousand characters', { token: 'b'.repeat(1_000) }, { token: 'b'.repeat(1_000) }],
  ])('has %s', async (_what, fields, expected) => {
    const { learn, events } = setUpWith(withFields(fields));
    expect(await learn()).toStrictEqual({ ...renewed, ...expected });
    expect(events).toEqual([]);
  });

  it.each([undefined, Number.NaN, Infinity, -5])(
    'that says no time until its end stands no longer: %p',
    async (ttlMs) => {
      const { clock, learn, settled } = setUpWith(withFields({}), { ttlMs });
      expect(await learn()).toEqual(renewed);
      clock.advance(1);
      expect(settled('a')).toBeUndefined();
    },
  );

  it('brings no text of a stranger into an event', async () => {
    const { learn } = setUpWith(JSON.stringify({ kind: 'ended', reason: 'a text\nof a stranger' }));
    expect(await learn()).toEqual({ kind: 'ended', reason: 'refused' });
  });

  it('has the reason of a refusal', async () => {
    expect(await setUpWith(JSON.stringify(ended)).learn()).toEqual(ended);
  });

  it.each([
    [{ code: 'token_rejected' }, { code: 'token_rejected', reason: undefined, retryAfter: undefined }],
    [
      { code: 'provider_refused', reason: 'api_key' },
      { code: 'provider_refused', reason: 'api_key' },
    ],
    [
      { code: 'session_required', reason: 'a text\nof a stranger', retryAfter: '7' },
      { code: 'provider_unavailable', reason: undefined, retryAfter: undefined },
    ],
    [
      { code: 'provider_unavailable', reason: 5, retryAfter: 7 },
      { code: 'provider_unavailable', reason: undefined, retryAfter: 7 },
    ],
  ])('that another process has failed is a failure of a kind that we know: %j', async (failure, expected) => {
    const { learn, calls } = setUpWith(JSON.stringify({ kind: 'failed', ...failure }));
    const error: unknown = await learn().catch((cause: unknown) => cause);
    expect(error).toMatchObject(expected);
    expect(calls).toEqual([]);
  });

  it.each([{ holder: undefined }, { holder: 5 as unknown as string }])(
    'that gives no turn and names no holder lets the process go on alone: %j',
    async ({ holder }) => {
      const { learn, events } = setUpWith(undefined, { holder });
      expect(await learn()).toMatchObject({ token: 'provider' });
      expect(events).toEqual(['coordinator_unavailable']);
    },
  );

  it('that says null for none is none', async () => {
    const { shared, one } = setUpTwo();
    shared.settle = () => Promise.resolve(null as unknown as undefined);
    expect(await one.exchange('a', to('b'))).toEqual({ answer: to('b'), isNew: true });
    expect(one.events).toEqual([]);
  });

  it('that says that a failure stands costs no tokens', async () => {
    const { shared, one } = setUpTwo();
    shared.settle = () => Promise.resolve('{"kind":"failed","code":"token_rejected"}');
    expect(await one.exchange('a', to('b'))).toEqual({ answer: to('b'), isNew: true });
    expect([one.calls, one.settled('a')]).toEqual([['a'], to('b')]);
  });

  it('that leads in a circle hangs no process', async () => {
    const { shared, one } = setUpTwo();
    for (const [token, next] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const)
      await shared.settle(token, { answer: withFields({ token: next }), weight: 1, ttlMs: day });
    for (const token of ['a', 'b']) expect((await one.exchange(token, never)).answer.kind).toBe('renewed');
    expect(one.settled('a')?.kind).toBe('renewed');
    expect((await one.exchange('z', to('y'), ['a'])).answer).toEqual(to('y'));
  });
});
