import createDebug from 'debug';
import { createEmit, createExplain } from '../../lib/session/events.ts';
import type { AuthEvent } from '../../lib/types.ts';

const event = { type: 'sign_in_failed', code: 'access_denied' } as const;

function emitTo(listener: (event: AuthEvent) => unknown): string[] {
  const explained: string[] = [];
  createEmit('b2b', listener, (format, ...values) => void explained.push([format, ...values].join(' ')))(event);
  return explained;
}

it('tells the listener what happened and in which adapter', () => {
  const heard: AuthEvent[] = [];
  emitTo((given) => heard.push(given));
  expect(heard).toEqual([{ ...event, adapter: 'b2b' }]);
});

it('needs no listener', () => {
  const explained: string[] = [];
  createEmit('backend', undefined, (format, ...values) => void explained.push([format, ...values].join(' ')))(event);
  expect(explained).toEqual(['%s sign_in_failed']);
});

it('explains with DEBUG=express-auth-adapters*, under the adapter’s name', () => {
  const { log } = createDebug;
  const lines: unknown[] = [];
  createDebug.log = (...given: unknown[]) => void lines.push(given[0]);
  createDebug.enable('express-auth-adapters*');
  try {
    createExplain('backend')('a decision');
  } finally {
    createDebug.disable();
    createDebug.log = log;
  }
  expect(lines).toEqual([expect.stringMatching(/express-auth-adapters:backend.*a decision/)]);
});

it.each([
  ['an error', new Error('no disk')],
  ['a string', 'no disk'],
  ['nothing', undefined],
  ['what cannot be made a string', Object.create(null)],
])('survives a listener that throws %s', (_, thrown) => {
  const explained = emitTo(() => {
    throw thrown;
  });
  expect(explained).toHaveLength(2);
});

describe('a listener that rejects', () => {
  let unhandled = 0;
  const count = (): void => void (unhandled += 1);
  beforeEach(() => void process.on('unhandledRejection', count));
  afterEach(() => void process.off('unhandledRejection', count));

  it.each([
    ['a promise', () => Promise.reject(new Error('no network'))],
    [
      "another library's promise",
      () => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error('no')) }),
    ],
  ])('harms nothing with %s', async (_, listener) => {
    const explained = emitTo(listener);
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toBe(0);
    expect(explained).toHaveLength(2);
  });
});
