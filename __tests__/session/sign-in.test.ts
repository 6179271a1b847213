import { noBackground } from '../../lib/tools/background.ts';
import { AuthError } from '../../lib/errors.ts';
import { admitSignIn, placeSession, refuseLarge, verifyIssued } from '../../lib/session/sign-in.ts';
import { readToken } from '../../lib/session/jwt.ts';
import type { SignInContext, SignInRequest } from '../../lib/session/sign-in.ts';
import type { EndedSession } from '../../lib/session/sign-out.ts';
import type { Verdict } from '../../lib/session/source.ts';
import type { Session } from '../../lib/types.ts';

type Content = string;

const notAsked = () => Promise.reject(new Error('not asked'));
const allowance = { spend: notAsked, refresh: notAsked };

const ada = {
  adapter: 'b2b',
  user: { id: 'ada', email: 'ada@example.com' },
  claims: {},
  organizationId: 'org',
} as Session;

interface SetUp {
  /** The sessions that the browser held before. */
  readonly left?: readonly EndedSession<Content>[];
  readonly verdict?: Verdict;
  readonly fits?: boolean;
  readonly refused?: AuthError;
}

/** A sign-in whose steps are written down. */
function setUp({ left = [], verdict = { kind: 'live', session: ada }, fits = true, refused }: SetUp = {}) {
  const steps: string[] = [];
  const events: unknown[] = [];
  const facts = { sessionId: 'new', userId: 'ada', beganAt: 7, issuedAt: 0 };
  const context: SignInContext<Content, Session> = {
    source: {
      isSealed: true,
      verify(content, origin) {
        steps.push(`verify ${content} of ${origin === 'provider' ? 'the provider' : 'a request'}`);
        return Promise.resolve(verdict);
      },
      factsOf: () => facts,
      toStored: (content) => ({ ...facts, content, refreshToken: '', tokenLifetimeMs: 0, token: readToken('') }),
    },
    writer: {
      fits(content, userId) {
        steps.push(`measure ${content} of ${String(userId)}`);
        return Promise.resolve(fits);
      },
      write: (content) => Promise.resolve([{ name: 'session', value: content }]),
    },
    resolver: {
      background: noBackground,
      beginSession(stored, { beganAt, arrivedAt } = {}) {
        steps.push(`begin ${String(stored.sessionId)} of ${String(beganAt)}, asked at ${String(arrivedAt)}`);
        return Promise.resolve(42);
      },
      replace(header, sessionId) {
        steps.push(`replace ${String(header)} by ${String(sessionId)}`);
        return Promise.resolve({ sessions: left, allowance });
      },
      notePlaced: ({ sessionId }) => void steps.push(`note ${String(sessionId)}`),
    },
    emit: (event, startedAt) => void events.push([event, startedAt]),
  };
  const request: SignInRequest = {
    req: { headers: { cookie: 'session=old' } },
    heldCookies: new Map(),
    peer: undefined,
    startedAt: 3,
    arrivedAt: 4,
    hookDestination: (value, fallback) => `${String(value)} or ${fallback}`,
    refuseUnaccepted({ user }) {
      steps.push(`accept ${user.id}`);
      return refused === undefined ? Promise.resolve() : Promise.reject(refused);
    },
  };
  return { steps, events, context, request };
}

/** The check that fails is the first or the second one. */
function place(failing?: 1 | 2) {
  const { steps, context, request } = setUp();
  let checks = 0;
  const placed = placeSession(context, request, 'tokens', {
    refuseEnded(sessionId) {
      steps.push(`check ${String(sessionId)}`);
      checks += 1;
      return checks === failing ? Promise.reject(new Error('ended')) : Promise.resolve();
    },
    endLeft: () => undefined,
  });
  return { steps, placed };
}

const replaced = 'replace session=old by new';

it('a session that is stored replaces the former one, and is looked up before and afterward', async () => {
  const { steps, placed } = place();
  expect(await placed).toEqual([{ name: 'session', value: 'tokens' }]);
  expect(steps).toEqual(['check new', replaced, 'check new', 'note new']);
});

it('a session that has ended before it is stored replaces none', async () => {
  const { steps, placed } = place(1);
  await expect(placed).rejects.toThrow('ended');
  expect(steps).toEqual(['check new']);
});

it('a session that ends while it replaces another one is not stored', async () => {
  const { steps, placed } = place(2);
  await expect(placed).rejects.toThrow('ended');
  expect(steps).toEqual(['check new', replaced, 'check new']);
});

it('each session that the browser held before ends at the provider, which the new one does not wait for', async () => {
  const left = ['one', 'two'].map((cookie) => ({ candidate: { cookie } }) as EndedSession<Content>);
  const { context, request } = setUp({ left });
  const ended: unknown[] = [];
  const endLeft = (...given: unknown[]): Promise<never> => {
    ended.push(given);
    return new Promise(() => undefined);
  };
  await placeSession(context, request, 'tokens', { refuseEnded: () => Promise.resolve(), endLeft });
  expect(ended).toEqual(left.map((each) => [each, allowance]));
});

describe('tokens that the provider issued', () => {
  const unaccepted = new AuthError('not_accepted');

  interface Admission extends SetUp {
    readonly isBrought?: boolean;
    readonly isContinued?: boolean;
    readonly redirectTo?: string;
    readonly check?: (session: Session) => void;
  }

  function admit({ check, ...setup }: Admission = {}) {
    const world = setUp(setup);
    const admitted = admitSignIn(world.context, world.request, 'tokens', {
      returnTo: '/asked',
      hook({ user }) {
        world.steps.push(`hook ${user.id}`);
        return Promise.resolve(setup.redirectTo);
      },
      isBrought: setup.isBrought,
      isContinued: setup.isContinued,
      ...(check !== undefined && { check }),
    });
    return { ...world, admitted };
  }

  const untilAccepted = ['verify tokens of the provider', 'measure tokens of ada', 'accept ada'];

  it('become a session that begins once nothing speaks against them, and are reported', async () => {
    const { steps, events, admitted } = admit();
    expect(await admitted).toEqual({ session: ada, redirectTo: 'undefined or /asked', begunAt: 42 });
    expect(steps).toEqual([...untilAccepted, 'hook ada', 'begin new of 7, asked at 4']);
    expect(events).toEqual([[{ type: 'signed_in', userId: 'ada', sessionId: 'new', organizationId: 'org' }, 3]]);
  });

  it('lead to where the hook says', async () => {
    expect(await admit({ redirectTo: '/welcome' }).admitted).toMatchObject({ redirectTo: '/welcome or /asked' });
  });

  it('have no organization at Supabase', async () => {
    const { events, admitted } = admit({
      verdict: { kind: 'live', session: { ...ada, adapter: 'backend' } as Session },
    });
    await admitted;
    expect(events).toEqual([[{ type: 'signed_in', userId: 'ada', sessionId: 'new' }, 3]]);
  });

  it('become a session that an earlier request began, where they continue its sign-in', async () => {
    const { steps, admitted } = admit({ isContinued: true });
    await admitted;
    expect(steps.at(-1)).toBe('begin new of 7, asked at undefined');
  });

  it('begin no session here where the application brought them, as their sign-in may be an earlier one', async () => {
    const { steps, admitted } = admit({ isBrought: true });
    expect(await admitted).toMatchObject({ begunAt: undefined });
    expect(steps).toEqual([...untilAccepted, 'hook ada']);
  });

  it.each<[string, Parameters<typeof admit>[0], object, string[]]>([
    [
      'cannot be verified',
      { verdict: { kind: 'unverifiable' } },
      { code: 'token_rejected', reason: 'unverifiable' },
      [],
    ],
    [
      'are invalid, where the application brought them',
      { verdict: { kind: 'invalid', reason: 'audience' }, isBrought: true },
      { code: 'tokens_refused', reason: 'audience' },
      [],
    ],
    ['do not fit into cookies', { fits: false }, { code: 'session_too_large' }, ['measure tokens of ada']],
    ['are not accepted', { refused: unaccepted }, { code: 'not_accepted' }, ['measure tokens of ada', 'accept ada']],
  ])('are no session if they %s', async (_, setup, error, further) => {
    const { steps, events, admitted } = admit(setup);
    await expect(admitted).rejects.toMatchObject(error);
    expect(steps).toEqual(['verify tokens of the provider', ...further]);
    expect(events).toEqual([]);
  });

  it('are no session if they are not those of this sign-in', async () => {
    const other = new Error('another user');
    const { steps, admitted } = admit({
      check({ user }) {
        expect(user.id).toBe('ada');
        throw other;
      },
    });
    await expect(admitted).rejects.toBe(other);
    expect(steps).toEqual(['verify tokens of the provider']);
  });

  it('are verified and measured by themselves in the steps of a longer sign-in', async () => {
    const { context } = setUp();
    expect(await verifyIssued(context, 'tokens')).toBe(ada);
    await expect(verifyIssued(setUp({ verdict: { kind: 'expired' } }).context, 'tokens')).rejects.toMatchObject({
      code: 'token_rejected',
      reason: 'expired',
    });
    await expect(refuseLarge(setUp({ fits: false }).context, 'tokens', ada)).rejects.toMatchObject({
      code: 'session_too_large',
    });
  });
});
