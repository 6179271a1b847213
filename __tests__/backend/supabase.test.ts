import { jest } from '@jest/globals';
import { createSupabase } from '../../lib/backend/supabase/supabase.ts';
import type { Supabase } from '../../lib/backend/supabase/supabase.ts';

let time = 1;
let events: { readonly type: string }[];
let asked: Request[];
let answer: () => Response | Promise<Response>;

function create(forwardClientAddress = false): Supabase {
  events = [];
  asked = [];
  const connection = {
    url: 'http://127.0.0.1:1',
    anonKey: 'sb_publishable_x',
    fetch: async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
      asked.push(new Request(input, init));
      return answer();
    },
    timeoutMs: 25_000,
    forwardClientAddress,
    emit: (event: { readonly type: string }) => events.push(event),
  };
  return createSupabase(connection, 'sb', 'lax', () => time);
}

const tokenOf = (claims: object): string =>
  [{ alg: 'ES256' }, claims, 'sig'].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
const token = tokenOf({ sub: 'ada', exp: 4_000_000_000 });
const says = (status: number, body: unknown, headers: Record<string, string> = {}) => {
  answer = () => Response.json(body, { status, headers });
};
const refuses = (status: number, code?: string, headers?: Record<string, string>): void =>
  says(status, { error_code: code, msg: 'refused' }, headers);
const silent = () => {
  answer = () => Promise.reject(new Error('cut'));
};
const signal = () => AbortSignal.timeout(25_000);
const warned = (): boolean => events.some(({ type }) => type === 'configuration_warning');

const refusals: readonly (readonly [string, number])[] = [
  ['no_authorization', 401],
  ['session_not_found', 403],
  ['session_expired', 401],
  ['user_not_found', 403],
  ['user_banned', 403],
];

describe('the backend’s word on a token', () => {
  it.each([
    [{ id: 'ada' }, 'accepted'],
    [{ id: 'ada', factors: [] }, 'accepted'],
  ])('of its user %j is %s', async (user, word) => {
    says(200, user);
    expect(await create().introspect(token)).toBe(word);
  });

  it.each([{}, { id: 'bob' }, { id: ['ada'] }, { message: 'ok' }])('is none by another answer: %j', async (body) => {
    says(200, body);
    await expect(create().introspect(token)).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it.each(refusals)('refuses it with %s', async (code, status) => {
    refuses(status, code);
    expect(await create().introspect(token)).toBe('refused');
  });

  it('leaves its session to a refresh where it has expired there', async () => {
    refuses(403, 'bad_jwt');
    expect(await create().introspect(token)).toBe('stale');
  });

  it.each<[number, string | undefined, string, number, boolean]>([
    [403, 'a_code_of_tomorrow', 'a_code_of_tomorrow', 5, false],
    [401, undefined, 'provider_refused', 5, true],
    [429, 'over_request_rate_limit', 'rate_limited', 60, false],
    [429, undefined, 'rate_limited', 60, false],
    [500, 'unexpected_failure', 'unexpected_failure', 5, false],
    [503, undefined, 'server_error', 5, false],
  ])('is an outage by %i %s', async (status, code, reason, retryAfter, isWarned) => {
    refuses(status, code);
    const supabase = create();
    await expect(supabase.introspect(token)).rejects.toMatchObject({
      code: 'provider_unavailable',
      reason,
      retryAfter,
    });
    expect(warned()).toBe(isWarned);
  });

  it('is an outage without an answer', async () => {
    silent();
    await expect(create().introspect(token)).rejects.toMatchObject({ code: 'provider_unavailable', retryAfter: 5 });
  });
});

describe('the end of a session', () => {
  it.each(['local', 'global', 'others'] as const)('asks for its scope: %s', async (scope) => {
    answer = () => new Response(null, { status: 204 });
    expect(await create().revoke(token, scope, signal())).toBe('revoked');
    expect(new URL(asked[0]!.url).searchParams.get('scope')).toBe(scope);
    expect(asked[0]!.headers.get('authorization')).toBe(`Bearer ${token}`);
    await create().discard({ access_token: token });
    expect(new URL(asked[0]!.url).searchParams.get('scope')).toBe('local');
  });

  it.each(refusals)('has come already where the backend says %s', async (code, status) => {
    refuses(status, code);
    expect(await create().revoke(token, 'local', signal())).toBe('revoked');
  });

  it('needs another token where this one has expired there', async () => {
    refuses(403, 'bad_jwt');
    expect(await create().revoke(token, 'local', signal())).toBe('stale');
  });

  it.each<[number, string | undefined, string, boolean]>([
    [401, undefined, 'provider_refused', true],
    [403, 'a_code_of_tomorrow', 'sign_in_failed', false],
  ])('fails by %i %s, with a warning for operators: %p', async (status, given, code, isWarned) => {
    refuses(status, given);
    await expect(create().revoke(token, 'local', signal())).rejects.toMatchObject({ code });
    expect(warned()).toBe(isWarned);
  });

  it('fails with the refusal, and never where nothing waits for it', async () => {
    refuses(503);
    await expect(create().revoke(token, 'local', signal())).rejects.toMatchObject({ code: 'provider_unavailable' });
    await expect(create().discard({ access_token: token })).resolves.toBeUndefined();
    silent();
    await expect(create().revoke(token, 'local', signal())).rejects.toMatchObject({ code: 'provider_unavailable' });
    await expect(create().discard({ access_token: token })).resolves.toBeUndefined();
  });
});

describe('a refresh', () => {
  const session = {
    access_token: token,
    refresh_token: 'next',
    token_type: 'bearer',
    expires_in: 3600,
    user: { id: 'ada' },
  };

  it('returns the next tokens', async () => {
    says(200, session);
    const renewed = await create().refresh('spent', signal());
    expect(renewed).toMatchObject({ kind: 'renewed', content: { access_token: token, refresh_token: 'next' } });
    expect(await asked[0]!.json()).toMatchObject({ refresh_token: 'spent' });
  });

  it('returns why the session is over', async () => {
    refuses(400, 'refresh_token_not_found');
    const ended = { kind: 'ended', reason: 'refresh_token_not_found' };
    expect(await create().refresh('spent', signal())).toEqual(ended);
  });

  it('without an answer may have happened', async () => {
    silent();
    const cause = expect.objectContaining({ message: 'cut' });
    expect(await create().refresh('spent', signal())).toEqual({ kind: 'unanswered', cause });
  });

  it('leaves no timer behind, by which the SDK would go on to refresh', async () => {
    says(200, session);
    const timers = jest.spyOn(globalThis, 'setInterval');
    await create().refresh('spent', signal());
    expect(timers.mock.calls).toEqual([]);
    timers.mockRestore();
  });

  it.each([{}, { ...session, refresh_token: undefined }, { ...session, access_token: 7 }])(
    'is an outage by an answer that is no session: %j',
    async (body) => {
      says(200, body);
      await expect(create().refresh('spent', signal())).rejects.toMatchObject({ code: 'provider_unavailable' });
    },
  );

  it.each<[number, string | undefined, boolean, boolean | undefined, boolean]>([
    [429, '30', false, false, true],
    [429, '30', false, true, true],
    [429, '30', true, false, true],
    [429, '30', true, true, false],
    [429, '30', true, undefined, true],
    [503, '30', true, true, true],
    [503, undefined, false, false, false],
  ])(
    'that is refused with %i and Retry-After %p, told the address %p and knowing it %p, rests for all: %p',
    async (status, retryAfter, isForwarded, isKnown, rests) => {
      time += 3_600_000;
      refuses(status, undefined, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
      const supabase = create(isForwarded);
      const facts = isKnown === true ? { ipAddress: '203.0.113.7' } : {};
      const client = isKnown === undefined ? undefined : facts;
      const refused = { code: 'provider_unavailable', retryAfter: retryAfter === undefined ? 5 : 30 };
      await expect(supabase.refresh('one', signal(), client)).rejects.toMatchObject(refused);
      expect(asked[0]!.headers.get('x-forwarded-for')).toBe(isForwarded && isKnown === true ? '203.0.113.7' : null);
      says(200, session);
      const next = supabase.refresh('other', signal(), client);
      if (rests) await expect(next).rejects.toMatchObject({ code: 'provider_unavailable' });
      else expect(await next).toMatchObject({ kind: 'renewed' });
      expect(asked).toHaveLength(rests ? 1 : 2);
      time += 31_000;
      expect(await supabase.refresh('third', signal(), client)).toMatchObject({ kind: 'renewed' });
    },
  );
});
