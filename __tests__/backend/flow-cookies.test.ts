import { encodeCookieValue } from '../../lib/tools/cookies.ts';
import { createFlowCookies } from '../../lib/backend/supabase/flow-cookies.ts';
import type { FlowCookies, SignInFlow } from '../../lib/backend/supabase/flow-cookies.ts';

let flows: FlowCookies;
beforeEach(() => {
  flows = createFlowCookies('sb', 'lax');
});
const id = (index: number): string => `${index}`.repeat(32);
const verifier = (index: number): string => `sb-flow-${id(index)}-code-verifier`;
const state = (index: number): string => `sb-flow-${id(index)}-state`;
const encoded = `base64-${Buffer.from('"secret"').toString('base64url')}`;

function cookiesOf(values: Readonly<Record<string, string>>): ReadonlyMap<string, readonly string[]> {
  return new Map(Object.entries(values).map(([name, value]) => [name, [value]]));
}
const pendingIn = (values: Readonly<Record<string, string>>): readonly SignInFlow[] => flows.pending(cookiesOf(values));

/** What is written for a new flow, by name: a value, or that the cookie is deleted. */
function remember(
  flow: Parameters<FlowCookies['remember']>[1],
  present: Readonly<Record<string, string>> = {},
  alive: readonly string[] = [],
): Readonly<Record<string, string>> {
  const writes = flows.remember({ id: id(0), alive: new Set(alive), writes: [] }, flow, cookiesOf(present));
  return Object.fromEntries(writes.map(({ name, value }) => [name, value ?? 'deleted']));
}

describe('a flow', () => {
  it.each<Omit<SignInFlow, 'id'>>([
    { kind: 'oauth', returnTo: '/a:b~c@d', provider: 'github' },
    { kind: 'oauth', returnTo: '/', provider: 'custom:acme' },
    { kind: 'mail', returnTo: '/account' },
    { kind: 'recovery', returnTo: '' },
    { kind: 'oauth', returnTo: '/account', provider: 'github', spentCode: 'abc' },
    { kind: 'recovery', returnTo: '/account', spentCode: 'abc' },
  ])('is read as it was written: %j', (flow) => {
    const { value = '' } = flows.markCodeSpent({ id: id(0), ...flow }, flow.spentCode ?? '');
    const text = flow.spentCode === undefined ? (remember(flow)[state(0)] ?? '') : value;
    const read = pendingIn({ [verifier(0)]: encoded, [state(0)]: text });
    expect(read).toEqual([{ id: id(0), provider: undefined, spentCode: undefined, ...flow }]);
  });

  it.each<[string, Partial<SignInFlow>]>([
    ['', { kind: 'oauth', returnTo: '' }],
    ['/account', { kind: 'oauth', returnTo: '/account' }],
    ['admin:/account', { kind: 'oauth', returnTo: '/account' }],
    [':/account', { kind: 'oauth', returnTo: '/account' }],
  ])('is read from the cookie %j of an unknown form', (text, flow) => {
    expect(pendingIn({ [verifier(0)]: encoded, [state(0)]: text })).toMatchObject([flow]);
  });

  it('is read from a cookie without a kind as the path alone', () => {
    const [flow] = pendingIn({ [verifier(0)]: encoded, [state(0)]: '/a@github~b' });
    expect(flow).toEqual({
      id: id(0),
      kind: 'oauth',
      returnTo: '/a@github~b',
      provider: undefined,
      spentCode: undefined,
    });
  });

  it.each([
    ['a'.repeat(7), false],
    ['a'.repeat(8), true],
    ['A-z_0123', true],
    ['a'.repeat(64), true],
    ['a'.repeat(65), false],
    [`!${'a'.repeat(8)}`, false],
    [`${'a'.repeat(8)}!`, false],
    ['', false],
  ])('has the id %j: %p', (flowId, isFlow) => {
    const cookies = cookiesOf({ [`sb-flow-${flowId}-code-verifier`]: encoded });
    expect(flows.pending(cookies).map((flow) => flow.id)).toEqual(isFlow ? [flowId] : []);
    expect(flows.verifierNames(cookies)).toHaveLength(isFlow ? 1 : 0);
  });

  it('is open where one of several cookies of its name can be read', () => {
    const cookies = new Map([[verifier(1), ['broken', encoded]]]);
    expect(flows.pending(cookies).map((flow) => flow.id)).toEqual([id(1)]);
  });

  it('without its own cookie leads nowhere', () => {
    expect(pendingIn({ [verifier(0)]: encoded })).toMatchObject([{ id: id(0), kind: 'oauth', returnTo: '' }]);
  });

  it('is open as long as its verifier can be read, the newest first', () => {
    const read = pendingIn({
      [verifier(1)]: encoded,
      [verifier(2)]: 'secret',
      [verifier(3)]: 'base64-',
      [verifier(4)]: 'base64-e30!',
      [verifier(5)]: 'base64-e3',
      [verifier(0)]: `x${encoded}`,
      [state(6)]: 'oauth:/',
      'sb-flow-short-code-verifier': encoded,
      'sb-flows-code-verifier': encoded,
      [`sb-flow-${id(7)}-code`]: encoded,
      [`other-flow-${id(8)}-code-verifier`]: encoded,
      [verifier(9)]: encoded,
    });
    expect(read.map((flow) => flow.id)).toEqual([id(9), id(1)]);
  });
});

describe('a new flow', () => {
  const flow = { kind: 'oauth', returnTo: '/account' } as const;

  it('deletes flows that have lost their verifier, and no cookie of another form', () => {
    const present = {
      [state(1)]: 'oauth:/one',
      [state(2)]: 'oauth:/two',
      [verifier(2)]: encoded,
      [`other-flow-${id(3)}-state`]: 'x',
      'sb-flow-x-state': 'x',
      'sb-other': 'x',
    };
    expect(remember(flow, present, [id(2)])).toEqual({ [state(0)]: 'oauth:/account', [state(1)]: 'deleted' });
  });

  it('replaces its own cookie, which is written once', () => {
    const present = cookiesOf({ [state(0)]: 'oauth:/old' });
    const writes = flows.remember({ id: id(0), alive: new Set(), writes: [] }, flow, present);
    expect(writes.map(({ name, value }) => [name, value])).toEqual([[state(0), 'oauth:/account']]);
  });

  it('keeps the newest of those that fit into 4 KB', () => {
    const large = `oauth:/${'x'.repeat(1_500)}`;
    const present = { [state(1)]: large, [state(2)]: large, [state(3)]: large };
    expect(remember(flow, present, [id(1), id(2), id(3)])).toEqual({
      [state(0)]: 'oauth:/account',
      [state(1)]: 'deleted',
    });
  });

  it.each([
    [0, {}],
    [1, { [state(1)]: 'deleted' }],
  ])('with another one that is %i bytes longer than the room that is left also writes %j', (more, written) => {
    const own = 'oauth:/account';
    const room = 3_072 - encodeCookieValue(own).length;
    const other = `oauth:/${'x'.repeat(room + more - encodeCookieValue('oauth:/').length)}`;
    expect(remember(flow, { [state(1)]: other }, [id(1)])).toEqual({ [state(0)]: own, ...written });
  });

  it('keeps a smaller old one beside a large one that does not fit', () => {
    const present = { [state(1)]: 'oauth:/small', [state(2)]: `oauth:/${'x'.repeat(4_000)}` };
    expect(remember(flow, present, [id(1), id(2)])).toEqual({ [state(0)]: 'oauth:/account', [state(2)]: 'deleted' });
  });

  it('has a cookie that no script reads, beside what the SDK wrote', () => {
    const verifierWrite = { name: verifier(0), value: encoded };
    const started = { id: id(0), alive: new Set<string>(), writes: [verifierWrite] };
    const written = flows.remember(started, flow, new Map());
    expect(written).toEqual([
      verifierWrite,
      {
        name: state(0),
        value: 'oauth:/account',
        attributes: expect.objectContaining({ httpOnly: true, sameSite: 'lax' }),
      },
    ]);
  });

  it('without a verifier has no cookie', () => {
    const writes = [{ name: 'other', value: 'kept' }];
    expect(flows.remember({ id: undefined, alive: new Set(), writes }, flow, new Map())).toEqual(writes);
  });
});

it('the end of a flow deletes its cookie and all verifiers', () => {
  const present = cookiesOf({
    [verifier(1)]: encoded,
    'sb-code-verifier': encoded,
    'sb-flows-code-verifier': encoded,
    [state(1)]: 'oauth:/',
    'sb-auth-token': encoded,
    'other-code-verifier': encoded,
  });
  const dropped = [verifier(1), 'sb-code-verifier', 'sb-flows-code-verifier', state(1)];
  expect(flows.drop(id(1), present)).toEqual(
    dropped.map((name) => ({ name, value: undefined, attributes: flows.attributes })),
  );
});
