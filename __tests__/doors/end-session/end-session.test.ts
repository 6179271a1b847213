import express from 'express';
import type { Router } from 'express';
import { registerRouter } from '../../../lib/http/adapter.ts';
import type { Adapter } from '../../../lib/http/adapter.ts';
import { endSession, renewSession } from '../../../lib/doors/end-session/index.ts';
import type { SessionTarget } from '../../../lib/session/ended/records.ts';

const calls: unknown[][] = [];
const auth = express.Router();
registerRouter(auth, {
  resolver: {
    endSession: async (target: SessionTarget) => void calls.push(['endSession', target]),
    renewSession: async (target: SessionTarget) => void calls.push(['renewSession', target]),
  },
} as unknown as Adapter);

beforeEach(() => {
  calls.length = 0;
});

describe.each([
  ['endSession', endSession],
  ['renewSession', renewSession],
] as const)('%s', (name, call) => {
  const longest = 'x'.repeat(256);

  it.each<[unknown, SessionTarget]>([
    [{ sessionId: 'session_1' }, { sessionId: 'session_1' }],
    [{ userId: 'user_1' }, { userId: 'user_1' }],
    [{ sessionId: longest }, { sessionId: longest }],
    [{ userId: longest }, { userId: longest }],
    [{ sessionId: 'session_1', userId: undefined }, { sessionId: 'session_1' }],
    [{ sessionId: undefined, userId: 'user_1' }, { userId: 'user_1' }],
    [{ sessionId: 'session_1', type: 'session.revoked' }, { sessionId: 'session_1' }],
  ])('takes %j for the one id that it names', async (target, asked) => {
    await call(auth, target as SessionTarget);
    expect(calls).toEqual([[name, asked]]);
  });

  it.each([
    undefined,
    null,
    {},
    'session_1',
    { id: 'session_1' },
    { sessionId: 'session_1', userId: 'user_1' },
    { sessionId: 'session_1', userId: '' },
    { sessionId: '', userId: 'user_1' },
    { sessionId: null, userId: 'user_1' },
    { sessionId: 7 },
    { sessionId: ['session_1'] },
    { sessionId: '' },
    { sessionId: `${longest}x` },
    { userId: 7 },
    { userId: '' },
    { userId: `${longest}x` },
  ])('refuses %j, and nothing ends', async (target) => {
    await expect(call(auth, target as unknown as SessionTarget)).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: `${name}: name either { sessionId } or { userId }, a text of 1 to 256 characters`,
    });
    expect(calls).toEqual([]);
  });

  it.each([undefined, {}, express.Router()])('takes %p for no adapter', async (other) => {
    await expect(call(other as Router, { userId: 'user_1' })).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: `${name}: the first argument must be what b2bAuth() or backendAuth() returned`,
    });
  });
});
