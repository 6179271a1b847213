import { jest } from '@jest/globals';
import createDebug from 'debug';
import { createEmit, createExplain } from '../../lib/session/events.ts';
import type { AuthEvent } from '../../lib/types.ts';

const event = { type: 'sign_in_failed', code: 'access_denied' } as const;

function emitTo(listener: (event: AuthEvent) => unknown): string[] {
  const explained: string[] = [];
  createEmit('b2b', listener, (format) => void explained.push(format))(event);
  return explained;
}

it('tells the listener what happened and in which adapter', () => {
  const heard: AuthEvent[] = [];
  emitTo((given) => heard.push(given));
  expect(heard).toEqual([{ ...event, adapter: 'b2b' }]);
});

it('needs no listener', () => {
  const explained: string[] = [];
  createEmit('backend', undefined, (format) => void explained.push(format))(event);
  expect(explained).toHaveLength(1);
});

it('explains an event with all of its fields', () => {
  const explained: unknown[][] = [];
  const emit = createEmit('b2b', undefined, (...given) => void explained.push(given));
  emit({ type: 'refresh_failed', code: 'provider_unavailable', reason: 'rate_limited' });
  expect(explained).toEqual([['%s %j', 'refresh_failed', { code: 'provider_unavailable', reason: 'rate_limited' }]]);
});

it('repeats the same warning at most once a minute', () => {
  let now = 1_000_000;
  const heard: AuthEvent[] = [];
  const emit = createEmit(
    'b2b',
    (given) => heard.push(given),
    () => undefined,
    () => now,
  );
  const warn = (message: string): void => emit({ type: 'configuration_warning', message });
  for (let time = 0; time < 5; time += 1) warn('one');
  warn('another');
  expect(heard).toHaveLength(2);
  now += 60_000;
  warn('one');
  expect(heard).toHaveLength(3);
});

it('explains events with DEBUG=express-auth-adapters*, under the adapter’s name', () => {
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

describe('a problem of the configuration', () => {
  const causes = [
    [{ type: 'sign_in_failed', code: 'provider_refused' }, 'PROVIDER_REFUSED', /B2B_API_KEY/, /BAAS_ANON_KEY/],
    [{ type: 'sign_in_failed', code: 'token_rejected' }, 'TOKEN_REJECTED', /B2B_CLIENT_ID/, /BAAS_URL/],
    [{ type: 'keys_unavailable', stale: false }, 'KEYS_UNAVAILABLE', /B2B_API_HOSTNAME/, /BAAS_URL/],
  ] as const;

  it.each(causes)(
    'is one process warning per cause and adapter, without a listener: %j',
    (body, code, b2b, backend) => {
      const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
      try {
        for (const adapter of ['b2b', 'backend', 'b2b', 'backend'] as const) {
          createEmit(adapter, undefined, () => undefined)(body);
        }
        const given = warn.mock.calls.map(([message, options]) => [String(message), options] as const);
        expect(given.map(([, options]) => options)).toEqual([
          { code: `EXPRESS_AUTH_ADAPTERS_${code}` },
          { code: `EXPRESS_AUTH_ADAPTERS_${code}` },
        ]);
        expect(given[0]?.[0]).toMatch(b2b);
        expect(given[1]?.[0]).toMatch(backend);
        for (const [message] of given) expect(message).toContain('npx express-auth-adapters doctor');
      } finally {
        warn.mockRestore();
      }
    },
  );

  it('is not reported if the provider is merely unreachable or refuses one visitor', () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    try {
      const emit = createEmit('b2b', undefined, () => undefined);
      emit({ type: 'sign_in_failed', code: 'provider_unavailable' });
      emit({ type: 'sign_in_failed', code: 'invalid_credentials' });
      emit({ type: 'refresh_failed', code: 'provider_unavailable', reason: 'timeout' });
      expect(warn).not.toHaveBeenCalled();
    } finally {
      warn.mockRestore();
    }
  });
});
