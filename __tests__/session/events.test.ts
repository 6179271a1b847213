import { jest } from '@jest/globals';
import createDebug from 'debug';
import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { AnswerTooLarge } from '../../lib/tools/json.ts';
import {
  createEmit,
  createExplain,
  fitForEvent,
  isExplaining,
  measureRefresh,
  signInFailed,
  staleKeys,
  warnOfClocks,
} from '../../lib/session/events.ts';
import type { noteAnswer, warnOfSilence } from '../../lib/session/events.ts';
import { AuthError } from '../../lib/errors.ts';
import type { AdapterName, AuthEvent } from '../../lib/types.ts';

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

it('names a failed sign-in by the code and the reason of its error', () => {
  const error = new AuthError('provider_unavailable', { reason: 'timeout' });
  expect(signInFailed(error)).toEqual({ type: 'sign_in_failed', code: 'provider_unavailable', reason: 'timeout' });
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

it('repeats other events as often as they occur', () => {
  const heard: AuthEvent[] = [];
  const emit = createEmit(
    'b2b',
    (given) => heard.push(given),
    () => undefined,
  );
  for (let time = 0; time < 3; time += 1) emit(event);
  expect(heard).toHaveLength(3);
});

it.each(['bad_jwt', 'over_request_rate_limit', 'a', 'A.b-c_9', 'x'.repeat(64)])(
  'reports a provider’s code as it is: %s',
  (code) => {
    expect(fitForEvent(code)).toBe(code);
  },
);

it.each(['', 'x'.repeat(65), 'The user is gone', '<b>', 'code\n', ' code'])(
  'reports no provider’s text instead of a code: %j',
  (text) => {
    expect(fitForEvent(text)).toBeUndefined();
  },
);

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
  expect(isExplaining).toBe(true);
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

describe('a subscriber of a channel', () => {
  const channels = ['refresh', 'sign-in'].map((name) => `express-auth-adapters:${name}`);
  const messages: { readonly durationMs: number }[] = [];
  const listener = (message: unknown): void => void messages.push(message as { readonly durationMs: number });
  beforeEach(() => {
    messages.length = 0;
    for (const name of channels) subscribe(name, listener);
  });
  afterEach(() => {
    for (const name of channels) unsubscribe(name, listener);
  });

  const tell = createEmit('b2b', undefined, () => undefined);
  const refuse = () => Promise.reject(new AuthError('provider_unavailable', { reason: 'timeout' }));

  it.each<[string, (startedAt: number) => unknown, object]>([
    ['a sign-in', (startedAt) => tell({ type: 'signed_in', userId: 'ada' }, startedAt), { outcome: 'signed_in' }],
    ['a sign-in that failed', (startedAt) => tell(event, startedAt), { outcome: 'failed', code: 'access_denied' }],
    [
      'why a sign-in failed',
      (startedAt) => tell({ ...event, reason: 'consent_required' }, startedAt),
      { outcome: 'failed', code: 'access_denied', reason: 'consent_required' },
    ],
    [
      'a refresh',
      () => measureRefresh('b2b', () => Promise.resolve({ kind: 'renewed' as const })),
      { outcome: 'renewed' },
    ],
    [
      'a refresh that ended the session',
      () => measureRefresh('b2b', () => Promise.resolve({ kind: 'ended' as const, reason: 'invalid_grant' })),
      { outcome: 'ended', reason: 'invalid_grant' },
    ],
    [
      'a refresh that failed',
      () => expect(measureRefresh('b2b', refuse)).rejects.toMatchObject({ reason: 'timeout' }),
      { outcome: 'failed', code: 'provider_unavailable', reason: 'timeout' },
    ],
  ])('learns of %s and its duration', async (_, act, expected) => {
    const startedAt = performance.now();
    await act(startedAt);
    const sinceMs = performance.now() - startedAt;
    expect(messages).toStrictEqual([{ adapter: 'b2b', ...expected, durationMs: expect.any(Number) }]);
    for (const { durationMs } of messages) expect(durationMs >= 0 && durationMs <= sinceMs).toBe(true);
  });

  it('learns nothing of other events, nor of a sign-in that no request began', () => {
    tell({ type: 'session_rejected', reason: 'signed_out' }, performance.now());
    tell(event);
    expect(messages).toEqual([]);
  });
});

describe('a problem of the configuration', () => {
  const spy = () => jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  let warn: ReturnType<typeof spy>;
  beforeEach(() => {
    warn = spy();
  });
  afterEach(() => {
    warn.mockRestore();
  });

  const tell =
    (body: Parameters<ReturnType<typeof createEmit>>[0]) =>
    (adapter: AdapterName): void =>
      createEmit(adapter, undefined, () => undefined)(body);

  // First: each warning is given once per process.
  it.each([
    [{ type: 'sign_in_failed', code: 'provider_unavailable' }],
    [{ type: 'sign_in_failed', code: 'invalid_credentials' }],
    // Anyone can write the reason into a callback's query.
    [{ type: 'sign_in_failed', code: 'access_denied', reason: 'token_rejected' }],
    [{ type: 'refresh_failed', code: 'provider_unavailable', reason: 'timeout' }],
    [{ type: 'configuration_warning', message: 'keys_rotated' }],
  ] as const)('is not reported if the provider is merely unreachable or refuses one visitor: %j', (body) => {
    tell(body)('b2b');
    expect(warn).not.toHaveBeenCalled();
  });

  it.each<[code: string, cause: (adapter: AdapterName) => void, b2b: RegExp, backend: RegExp]>([
    [
      'PROVIDER_REFUSED',
      tell({ type: 'refresh_failed', code: 'provider_unavailable', reason: 'provider_refused' }),
      /B2B_API_KEY/,
      /BAAS_ANON_KEY/,
    ],
    ['TOKEN_REJECTED', tell({ type: 'sign_in_failed', code: 'token_rejected' }), /B2B_CLIENT_ID/, /BAAS_URL/],
    ['KEYS_UNAVAILABLE', tell({ type: 'keys_unavailable', stale: false }), /B2B_API_HOSTNAME/, /BAAS_URL/],
    ['KEYS_ROTATED', tell({ type: 'configuration_warning', message: staleKeys }), /rotate the keys/, /rotate the keys/],
    ['CLOCKS_DIFFER', warnOfClocks, /WorkOS/, /Supabase/],
  ])('is one process warning per cause and adapter, without a listener: %s', (code, cause, b2b, backend) => {
    for (const adapter of ['b2b', 'backend', 'b2b', 'backend'] as const) cause(adapter);
    const given = warn.mock.calls.map(([message, options]) => [String(message), options] as const);
    expect(given.map(([, options]) => options)).toEqual([
      { code: `EXPRESS_AUTH_ADAPTERS_${code}` },
      { code: `EXPRESS_AUTH_ADAPTERS_${code}` },
    ]);
    expect(given[0]?.[0]).toMatch(b2b);
    expect(given[1]?.[0]).toMatch(backend);
    for (const [message] of given) expect(message).toContain('npx express-auth-adapters doctor');
  });

  it.each(['b2b', 'backend'] as const)('has a reason, which is a cause of its own and is named: %s', (adapter) => {
    const refused = { type: 'sign_in_failed', code: 'provider_refused' } as const;
    const rejected = { type: 'refresh_failed', code: 'token_rejected' } as const;
    for (const reason of ['http_403', 'invalid_profile', 'http_403']) tell({ ...refused, reason })(adapter);
    for (const reason of ['audience', 'issuer', 'audience']) tell({ ...rejected, reason })(adapter);
    const texts = warn.mock.calls.map(([message]) => String(message));
    expect(texts).toEqual(
      [
        'refused a request with http_403;',
        'with invalid_profile;',
        'verification (audience);',
        'verification (issuer);',
      ].map((text) => expect.stringContaining(text)),
    );
    expect(texts.slice(0, 2).join(' ')).not.toContain('KEY');
  });

  describe('of a provider that does not answer', () => {
    const refused = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) });
    const late = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    const url = 'https://user:secret@api.example:8443/token?secret';

    /** Each copy of the module has warned of nothing. */
    const copy = async () =>
      (await import(`../../lib/session/events.ts?copy=${randomUUID()}`)) as {
        warnOfSilence: typeof warnOfSilence;
        noteAnswer: typeof noteAnswer;
      };

    it.each([
      [refused, ' (ECONNREFUSED)'],
      [late, ' in time'],
      [new TypeError(url), ''],
      [Object.assign(new Error(), { code: 'a secret' }), ''],
      ['secret', ''],
    ])('names its address, and what the network said: %s', async (failure, said) => {
      const { warnOfSilence: warnInCopy } = await copy();
      warnInCopy('backend', url, failure);
      warnInCopy('b2b', url, failure);
      expect(warn.mock.calls).toEqual(
        [
          `backendAuth: the Supabase project at api.example:8443 did not answer${said}; check BAAS_URL`,
          `b2bAuth: WorkOS at api.example:8443 did not answer${said}; check B2B_API_HOSTNAME`,
        ].map((text) => [
          `${text} and whether the server can reach it. To find out more: npx express-auth-adapters doctor`,
          { code: 'EXPRESS_AUTH_ADAPTERS_PROVIDER_UNREACHABLE' },
        ]),
      );
    });

    it('is one in an outage, and one a minute at most', async () => {
      const { warnOfSilence: warnInCopy, noteAnswer } = await copy();
      const now = jest.spyOn(performance, 'now');
      const at = (ms: number, calls: number): void => {
        now.mockReturnValue(ms);
        warnInCopy('backend', url, refused);
        expect(warn).toHaveBeenCalledTimes(calls);
      };
      noteAnswer('backend');
      at(1_000, 1);
      at(500_000, 1);
      noteAnswer('b2b');
      at(600_000, 1);
      noteAnswer('backend');
      at(600_001, 2);
      noteAnswer('backend');
      at(660_000, 2);
      noteAnswer('backend');
      at(660_001, 3);
    });

    it('is none where the answer is too large, which a user’s own data can make it', async () => {
      const { warnOfSilence: warnInCopy } = await copy();
      warnInCopy('backend', url, new AnswerTooLarge('large'));
      expect(warn).not.toHaveBeenCalled();
    });
  });
});
