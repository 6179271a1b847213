import { placeSession } from '../../lib/session/sign-in.ts';
import type { SignInContext, SignInRequest } from '../../lib/session/sign-in.ts';
import type { Session } from '../../lib/types.ts';

type Content = string;

const notAsked = () => Promise.reject(new Error('not asked'));

/** A sign-in whose steps are written down; the check that fails is the first or the second one. */
function place(failing?: 1 | 2) {
  const steps: string[] = [];
  const facts = { sessionId: 'new', userId: 'ada', beganAt: 0, issuedAt: 0 };
  const context: SignInContext<Content, Session> = {
    source: {
      verify: () => Promise.resolve({ kind: 'expired' }),
      factsOf: () => facts,
      toStored: (content) => ({ ...facts, content, refreshToken: '', tokenLifetimeMs: 0 }),
    },
    writer: {
      fits: () => Promise.resolve(true),
      write: (content) => Promise.resolve([{ name: 'session', value: content }]),
    },
    resolver: {
      beginSession: () => Promise.resolve(0),
      replace(header, sessionId) {
        steps.push(`replace ${String(header)} by ${String(sessionId)}`);
        return Promise.resolve({
          sessions: [],
          allowance: { spend: notAsked, refresh: notAsked },
        });
      },
    },
    emit: () => undefined,
  };
  const request: SignInRequest = {
    req: { headers: { cookie: 'session=old' } },
    heldCookies: new Map(),
    peer: undefined,
    startedAt: undefined,
    returnTo: String,
    refuseUnaccepted: () => Promise.resolve(),
  };
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
  expect(steps).toEqual(['check new', replaced, 'check new']);
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
