import { jest } from '@jest/globals';
import { errors } from 'jose';
import { AuthError } from '../../lib/errors.ts';
import { VariantRefused } from '../../lib/session/refresh/exchange.ts';
import type { RefreshVariant } from '../../lib/session/source.ts';
import { createClock } from '../support/clock.ts';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  toCookie,
  tokenLifetimeMs,
  visit,
} from '../support/memory-sessions.ts';
import type { MemoryApp, MemoryContent } from '../support/memory-sessions.ts';
import { createShared } from '../support/shared-memory.ts';
import { until } from '../support/until.ts';
import { useFakeTimeouts } from '../support/fake-timeouts.ts';

const cleared = [{ name: 'memory', value: undefined }];
const keptCookies = { session: null, cookies: [] };

/** A switch that is reached once `reached` says so of the access token. */
function variantOf(
  app: MemoryApp,
  reached: (accessToken: string) => boolean = () => false,
): RefreshVariant<MemoryContent> {
  return {
    name: 'south',
    refresh: (content) => app.provider.refresh(content),
    isReached: ({ accessToken }) => reached(accessToken),
  };
}

const switchFrom = (app: MemoryApp, header: string | undefined, variant = variantOf(app)) =>
  app.resolver.switchSession(header, variant, {});

/** A browser that sends several session cookies of the same name. */
const headerOf = (...contents: MemoryContent[]): string => contents.map((one) => `memory=${toCookie(one)}`).join('; ');

describe('switchSession', () => {
  it.each([
    ['no cookie', undefined],
    ['a cookie that is not ours', 'memory=made-up'],
  ])('with %s returns no session and changes no cookie', async (_, header) => {
    const app = createMemoryApp();
    expect(await switchFrom(app, header)).toEqual(keptCookies);
    expect(app.provider.calls).toEqual([]);
  });

  it('has no limit of calls for verifying the session', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const memory = createMemorySource(provider, clock);
    const verify: typeof memory.verify = async (content, origin) =>
      origin === 'provider' ? memory.verify(content, origin) : { kind: 'unverifiable' };
    const app = createMemoryApp({ clock, provider, source: { isSealed: false, verify } });
    const variant = variantOf(app, () => true);
    const header = headerOf(provider.issue('ada'));
    expect((await switchFrom(app, header, variant)).session?.accessToken).toBe('access for refresh-1');
  });

  it('refreshes the session with the variant', async () => {
    const app = createMemoryApp();
    const header = createMemoryBrowser(app.provider.issue('ada')).header();
    const { session, cookies } = await switchFrom(app, header);
    expect(session?.accessToken).toBe('access for refresh-2');
    expect(cookies).toHaveLength(1);
    expect(app.provider.calls).toEqual(['refresh-1']);
  });

  it('returns the session as it is where it already is in the requested state', async () => {
    const app = createMemoryApp();
    const header = createMemoryBrowser(app.provider.issue('ada')).header();
    const { session, cookies } = await switchFrom(
      app,
      header,
      variantOf(app, () => true),
    );
    expect([session?.accessToken, cookies, app.provider.calls]).toEqual(['access for refresh-1', [], []]);
  });

  it('refreshes a session whose claims renewSession made outdated, although they say it is in the requested state', async () => {
    const app = createMemoryApp();
    const content = app.provider.issue('ada');
    app.clock.advance(1);
    await app.resolver.renewSession({ userId: 'ada' });
    const { session } = await switchFrom(
      app,
      headerOf(content),
      variantOf(app, () => true),
    );
    expect(session?.accessToken).toBe('access for refresh-2');
    expect(app.provider.calls).toEqual(['refresh-1']);
  });

  it('prefers a valid session over an earlier cookie whose claims are outdated', async () => {
    const app = createMemoryApp();
    const outdated = app.provider.issue('ada');
    const valid = app.provider.issue('grace');
    app.clock.advance(1);
    await app.resolver.renewSession({ userId: 'ada' });
    const { session } = await switchFrom(app, headerOf(outdated, valid));
    expect([session?.user.id, app.provider.calls]).toEqual(['grace', ['refresh-2']]);
  });

  it('prefers a valid session over an earlier cookie whose token has expired', async () => {
    const app = createMemoryApp();
    const expired = app.provider.issue('ada');
    app.clock.advance(tokenLifetimeMs);
    const valid = app.provider.issue('grace');
    const { session } = await switchFrom(app, headerOf(expired, valid));
    expect([session?.user.id, app.provider.calls]).toEqual(['grace', ['refresh-2']]);
  });

  it('refreshes the first of several expired sessions', async () => {
    const app = createMemoryApp();
    const contents = [app.provider.issue('ada'), app.provider.issue('grace')];
    app.clock.advance(tokenLifetimeMs);
    const { session } = await switchFrom(app, headerOf(...contents));
    expect([session?.user.id, app.provider.calls]).toEqual(['ada', ['refresh-1']]);
  });

  it('uses no refresh token of a session that was ended, and takes the next cookie', async () => {
    const app = createMemoryApp();
    const ended = app.provider.issue('ada');
    const valid = app.provider.issue('grace');
    app.clock.advance(1);
    await app.resolver.endSession({ userId: 'ada' });
    expect((await switchFrom(app, headerOf(ended, valid))).session?.user.id).toBe('grace');
    expect(await switchFrom(app, headerOf(ended))).toEqual(keptCookies);
    expect(app.provider.calls).toEqual(['refresh-2']);
  });

  it('uses no refresh token of a session whose token is invalid', async () => {
    const app = createMemoryApp({
      source: { verify: () => Promise.resolve({ kind: 'invalid', reason: 'audience' }) },
    });
    expect(await switchFrom(app, headerOf(app.provider.issue('ada')))).toEqual(keptCookies);
    expect(app.provider.calls).toEqual([]);
  });

  it('deletes the cookie of a session that the provider has ended', async () => {
    const app = createMemoryApp();
    const content = app.provider.issue('ada');
    app.provider.revoke(content.sessionId);
    expect(await switchFrom(app, headerOf(content))).toEqual({ session: null, cookies: cleared });
    expect(app.events).toEqual([{ type: 'session_ended', reason: 'invalid_grant', sessionId: content.sessionId }]);
  });

  it.each([
    ['a sign-out', 'signed_out', cleared],
    ['an ended session', 'ended', cleared],
    // The browser holds the cookie of the newer sign-in by now.
    ['a new sign-in', 'replaced', []],
  ] as const)('%s during the refresh wins over its answer', async (_, how, cookies) => {
    const answer = Promise.withResolvers<undefined>();
    const app = createMemoryApp({ pause: (what) => (what === 'answer' ? answer.promise : Promise.resolve()) });
    const content = app.provider.issue('ada');
    const { sessionId } = content;
    app.clock.advance(1);
    const switching = switchFrom(app, headerOf(content));
    while (app.provider.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    if (how === 'signed_out') await app.resolver.revokeSession({ sessionId, tokenLifetimeMs });
    else if (how === 'ended') await app.resolver.endSession({ sessionId });
    else await app.resolver.markReplaced({ sessionId, tokenLifetimeMs });
    answer.resolve(undefined);
    expect(await switching).toEqual({ session: null, cookies });
  });

  it('keeps the cookie where the token of a late request was renewed here since', async () => {
    const app = createMemoryApp();
    const content = app.provider.issue('ada');
    const browser = createMemoryBrowser(content);
    app.clock.advance(tokenLifetimeMs);
    browser.receive(await visit(app, browser.header()));
    // The memo no longer holds the answer, so the provider refuses the spent token.
    app.clock.advance(25_001);
    expect(await switchFrom(app, headerOf(content))).toEqual(keptCookies);
    expect(app.provider.calls).toEqual(['refresh-1', 'refresh-1']);
    expect(app.eventTypes()).toEqual(['session_refreshed']);
    expect((await switchFrom(app, browser.header())).session?.user.id).toBe('ada');
  });

  it('throws the refusal of the provider and keeps the session', async () => {
    const app = createMemoryApp();
    const header = createMemoryBrowser(app.provider.issue('ada')).header();
    const refusal = new VariantRefused('south', new Error('not a member'));
    const variant = { ...variantOf(app), refresh: () => Promise.reject(refusal) };
    await expect(switchFrom(app, header, variant)).rejects.toBe(refusal);
    expect((await visit(app, header)).session?.user.id).toBe('ada');
  });

  it('is refused once for all requests that want the same at once', async () => {
    const app = createMemoryApp();
    const header = createMemoryBrowser(app.provider.issue('ada')).header();
    const refusal = new VariantRefused('south', new Error('not a member'));
    let calls = 0;
    const refresh = () => {
      calls += 1;
      return Promise.reject(refusal);
    };
    const switching = [1, 2, 3].map(() => switchFrom(app, header, { ...variantOf(app), refresh }));
    const reasons = (await Promise.allSettled(switching)).map((each) => each.status === 'rejected' && each.reason);
    expect([reasons, calls]).toEqual([Array(3).fill(refusal), 1]);
  });

  describe('with a provider that never answers', () => {
    useFakeTimeouts();

    it('fails at the deadline of the request and keeps the session', async () => {
      const app = createMemoryApp({ timeoutMs: 5_000 });
      const header = createMemoryBrowser(app.provider.issue('ada')).header();
      const variant = { ...variantOf(app), refresh: () => new Promise<never>(() => undefined) };
      const failed = expect(switchFrom(app, header, variant)).rejects.toMatchObject({
        code: 'provider_unavailable',
        retryAfter: 5,
      });
      await jest.advanceTimersByTimeAsync(5_000);
      await failed;
      expect((await visit(app, header)).session?.user.id).toBe('ada');
    });
  });
});

describe('a switch whose process lost its turn', () => {
  it('marks the tokens that led to it, also where the answer of another process counts', async () => {
    const clock = createClock();
    const shared = createShared(clock.now);
    const provider = createMemoryProvider(clock);
    let switched: ReturnType<typeof provider.refresh> | undefined;
    const asked: string[] = [];
    // Within its replay window the provider gives the same refresh token again, with a later access token.
    const refresh = async ({ refreshToken }: MemoryContent): ReturnType<typeof provider.refresh> => {
      asked.push(refreshToken);
      const outcome = await switched;
      if (outcome?.kind !== 'renewed') throw new Error('none');
      return { ...outcome, content: { ...outcome.content, issuedAt: outcome.content.issuedAt + 1 } };
    };
    const one = createMemoryApp({ clock, shared, provider });
    const two = createMemoryApp({ clock, shared, provider, source: { refresh } });
    const content = provider.issue('ada');
    const header = headerOf(content);
    const held = Promise.withResolvers<undefined>();
    const switching = switchFrom(one, header, {
      ...variantOf(one, () => true),
      isReached: ({ accessToken }) => accessToken === 'access for refresh-2',
      refresh: async () => {
        switched = provider.refresh(content);
        await held.promise;
        return switched;
      },
    });
    await until(() => switched !== undefined);
    clock.advance(2_001);
    await two.resolver.renewSession({ userId: 'ada' });
    const elsewhere = await visit(two, header);
    held.resolve(undefined);
    for (const { session, onDelivered } of [elsewhere, await switching]) {
      expect(session?.accessToken).toBe('access for refresh-2');
      onDelivered?.();
    }
    clock.advance(tokenLifetimeMs);
    expect((await visit(two, header)).session).toBeNull();
    expect(asked).toEqual(['refresh-1']);
  });
});

describe('after a switch whose refresh token the provider gave again', () => {
  it('marks the token itself where a later switch with its first access token exchanges it for another', async () => {
    const app = createMemoryApp();
    const { clock, provider } = app;
    const first = provider.issue('ada');
    const [browser, late] = [createMemoryBrowser(first), createMemoryBrowser(first)];
    clock.advance(1_000);
    const north: RefreshVariant<MemoryContent> = {
      name: 'north',
      refresh: async (content) => ({
        kind: 'renewed',
        content: { ...content, issuedAt: clock.now(), expiresAt: clock.now() + tokenLifetimeMs },
      }),
      isReached: ({ claims }) => claims.iat !== first.issuedAt / 1000,
    };
    browser.receive(await switchFrom(app, browser.header(), north));
    clock.advance(26_000);
    const south = variantOf(app, (accessToken) => accessToken === 'access for refresh-2');
    late.receive(await switchFrom(app, late.header(), south));
    clock.advance(tokenLifetimeMs);
    // A second use of the token may be a theft to the provider, which then ends the whole session.
    await visit(app, browser.header());
    expect(provider.calls).toEqual(['refresh-1']);
    expect((await visit(app, late.header())).session?.user.id).toBe('ada');
  });
});

it('a switch marks the tokens that led to a marked one', async () => {
  const clock = createClock();
  const shared = createShared(clock.now);
  const provider = createMemoryProvider(clock);
  const [one, two] = [createMemoryApp({ clock, shared, provider }), createMemoryApp({ clock, shared, provider })];
  const content = provider.issue('ada');
  const browser = createMemoryBrowser(content);
  clock.advance(tokenLifetimeMs - 8_000);
  await visit(two, headerOf(content));
  browser.receive(await visit(one, browser.header()));
  const south = variantOf(one, (accessToken) => accessToken === 'access for refresh-3');
  browser.receive(await switchFrom(one, browser.header(), south));
  await switchFrom(two, headerOf(content), south);
  clock.advance(26_000);
  expect((await visit(two, headerOf(content))).session).toBeNull();
  expect(provider.calls).toEqual(['refresh-1', 'refresh-2']);
});

describe('renewChanged', () => {
  it.each([
    ['once where it contains the change', 'refresh-2', ['refresh-1']],
    ['once more where a refresh that ran already did not', 'refresh-3', ['refresh-1', 'refresh-2']],
  ])('refreshes the session %s', async (_how, changed, calls) => {
    const app = createMemoryApp();
    const isChanged = ({ accessToken }: { readonly accessToken: string }) => accessToken === `access for ${changed}`;
    const renewal = await app.resolver.renewChanged(app.provider.issue('ada'), isChanged, {});
    expect(renewal).toMatchObject({ kind: 'renewed', session: { accessToken: `access for ${changed}` } });
    expect(app.provider.calls).toEqual(calls);
  });

  it('says that the provider has ended the session', async () => {
    const app = createMemoryApp();
    const content = app.provider.issue('ada');
    app.provider.revoke(content.sessionId);
    expect(await app.resolver.renewChanged(content, () => false, {})).toMatchObject({ kind: 'ended' });
    expect(app.provider.calls).toHaveLength(1);
  });
});

describe('renewStored', () => {
  it('refreshes a session, also one that has expired', async () => {
    const app = createMemoryApp();
    const content = app.provider.issue('ada');
    app.clock.advance(tokenLifetimeMs);
    expect(await app.resolver.renewStored(content, {})).toMatchObject({ session: { user: { id: 'ada' } } });
    expect(app.provider.calls).toEqual(['refresh-1']);
  });

  it('is nothing where the provider, or this application, has ended the session', async () => {
    const app = createMemoryApp();
    const [revoked, ended] = [app.provider.issue('ada'), app.provider.issue('grace')];
    app.provider.revoke(revoked.sessionId);
    expect(await app.resolver.renewStored(revoked, {})).toBeUndefined();
    app.clock.advance(1);
    await app.resolver.endSession({ userId: 'grace' });
    expect(await app.resolver.renewStored(ended, {})).toBeUndefined();
    expect(app.provider.calls).toEqual(['refresh-1']);
  });

  it('is nothing for an invalid token, which reaches neither the provider nor the coordinator', async () => {
    const shared = createShared();
    const app = createMemoryApp({
      shared,
      source: { verify: () => Promise.resolve({ kind: 'invalid', reason: 'audience' }) },
    });
    expect(await app.resolver.renewStored(app.provider.issue('ada'), {})).toBeUndefined();
    expect([app.provider.calls, shared.lookUps]).toEqual([[], 0]);
  });

  it('of tokens that only the provider can judge causes ten calls a minute for each network, and as many of the coordinator', async () => {
    const shared = createShared();
    const verify = () => Promise.resolve({ kind: 'unverifiable' } as const);
    const app = createMemoryApp({ shared, source: { isSealed: false, verify } });
    const renew = (ipAddress: string) => {
      const content = app.provider.issue('eve');
      return app.resolver.renewStored({ ...content, refreshToken: `made-up-${content.refreshToken}` }, { ipAddress });
    };
    for (let call = 0; call < 10; call += 1) expect(await renew('192.0.2.1')).toBeUndefined();
    await expect(renew('192.0.2.1')).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect([app.provider.calls.length, shared.lookUps]).toEqual([10, 20]);
    expect(await renew('192.0.2.2')).toBeUndefined();
  });

  it('is nothing for a token that names a key which does not exist', async () => {
    const cause = new errors.JWKSNoMatchingKey();
    const failure = new AuthError('provider_unavailable', { cause });
    const app = createMemoryApp({ source: { verify: () => Promise.reject(failure) } });
    expect(await app.resolver.renewStored(app.provider.issue('ada'), {})).toBeUndefined();
  });

  it('throws where the keys are unavailable', async () => {
    const failure = new AuthError('provider_unavailable');
    const app = createMemoryApp({ source: { verify: () => Promise.reject(failure) } });
    await expect(app.resolver.renewStored(app.provider.issue('ada'), {})).rejects.toBe(failure);
  });
});

describe('with a provider that never answers', () => {
  useFakeTimeouts();

  it.each(['renewChanged', 'renewStored'] as const)('%s fails at the deadline of the request', async (how) => {
    const app = createMemoryApp({
      timeoutMs: 5_000,
      pause: (what) => (what === 'refresh' ? new Promise(() => undefined) : Promise.resolve()),
    });
    const content = app.provider.issue('ada');
    const renewing =
      how === 'renewStored'
        ? app.resolver.renewStored(content, {})
        : app.resolver.renewChanged(content, () => true, {});
    const failed = expect(renewing).rejects.toMatchObject({ code: 'provider_unavailable', retryAfter: 5 });
    await jest.advanceTimersByTimeAsync(5_000);
    await failed;
  });
});
