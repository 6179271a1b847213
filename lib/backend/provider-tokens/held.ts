import type { Session as SdkSession } from '@supabase/supabase-js';
import { createBoundedMap } from '../../tools/bounded-map.ts';
import { defined, isRecord, parseJson } from '../../tools/json.ts';
import { flowMaxAge } from '../../http/cookie-jar.ts';
import { hash } from '../../session/ended/record.ts';
import { boundCoordinator } from '../../session/coordinator.ts';
import type { TokenChange } from '../../session/coordinator.ts';
import type { BackendOptions } from '../options.ts';
import type { HeldProviderTokens, IssuedProviderTokens } from '../supabase/issued-tokens.ts';

/**
 * What the exchange of a code issued beside the session.
 *
 * @param asked the provider that the sign-in was started with, from an unsealed cookie
 */
export function providerTokensIn(issued: SdkSession, asked: string | undefined): IssuedProviderTokens | undefined {
  const { provider_token: accessToken, provider_refresh_token: refreshToken } = issued;
  if (typeof accessToken !== 'string' || accessToken === '') return undefined;
  const isRenewable = typeof refreshToken === 'string' && refreshToken !== '';
  return { provider: providerOf(issued, asked), accessToken, ...(isRenewable ? { refreshToken } : {}) };
}

/** Supabase's answer does not name it. Only a provider that the account has is believed. */
function providerOf({ user }: SdkSession, asked: string | undefined): string | undefined {
  const { providers } = user.app_metadata as Readonly<Record<string, unknown>>;
  const listed = [
    ...(user.identities ?? []).map(({ provider }) => provider),
    ...(Array.isArray(providers) ? providers.filter((name) => typeof name === 'string') : []),
  ];
  if (asked !== undefined) return listed.includes(asked) ? asked : undefined;
  // A flow that the application started by itself, such as `linkIdentity`.
  const [only, ...others] = new Set(listed.filter((name) => name !== 'email' && name !== 'phone'));
  return others.length === 0 ? only : undefined;
}

/** A pending sign-in lives as long. */
const holdMs = flowMaxAge * 1000;
/** Bytes of all of them in this process; one takes a few hundred to a few thousand. */
const maxHeldBytes = 4 * 1024 * 1024;
const maxBytesOfOne = 16 * 1024;

/**
 * Keeps them until the second factor: `onSignIn` runs after it, and the cookie of a pending sign-in is not sealed, so it cannot hold
 * what the application has to believe. They are kept by the verified session's id, here and at the coordinator, which seals them.
 */
export function createHeldProviderTokens({
  now,
  coordinator,
  timeoutMs,
  onSignIn,
  keepProviderTokens,
}: Pick<BackendOptions, 'now' | 'coordinator' | 'timeoutMs' | 'onSignIn' | 'keepProviderTokens'>): HeldProviderTokens {
  // Without either, a pending sign-in has no use for them.
  const areWanted = onSignIn !== undefined || keepProviderTokens;
  const held = createBoundedMap<string>({
    max: maxHeldBytes,
    maxSizeOfOne: maxBytesOfOne,
    sizeOf: (text) => Math.max(1, text.length * 2),
    ttlMs: holdMs,
    now,
  });
  const shared = coordinator && boundCoordinator(coordinator, timeoutMs);
  const nameOf = (sessionId: string): string => hash(`provider tokens ${sessionId}`);
  const tell = (name: string, change: Pick<TokenChange, 'answer' | 'weight' | 'ttlMs'>): Promise<unknown> =>
    shared === undefined ? Promise.resolve() : shared.settle(name, change).catch(() => undefined);

  return {
    issued: providerTokensIn,
    inCookie: (tokens) => (keepProviderTokens ? tokens : undefined),
    async keep(sessionId, tokens) {
      const text = JSON.stringify(tokens);
      if (!areWanted || sessionId === undefined || text.length * 2 > maxBytesOfOne) return;
      const name = nameOf(sessionId);
      held.set(name, text);
      // The latest ones stay.
      await tell(name, { ttlMs: 0 });
      await tell(name, { answer: text, weight: 1, ttlMs: holdMs });
    },
    async find(sessionId, { amr }) {
      const isOAuth = Array.isArray(amr) && amr.some((entry) => isRecord(entry) && entry['method'] === 'oauth');
      if (!areWanted || sessionId === undefined || !isOAuth) return undefined;
      const name = nameOf(sessionId);
      const text = held.get(name) ?? (await shared?.take(name).catch(() => undefined))?.answer ?? '';
      return parse(text);
    },
    async drop(sessionId) {
      if (sessionId === undefined) return;
      const name = nameOf(sessionId);
      held.delete(name);
      await tell(name, { ttlMs: 0 });
    },
  };
}

function parse(text: string): IssuedProviderTokens | undefined {
  const value = parseJson(text);
  if (!isRecord(value) || typeof value['accessToken'] !== 'string') return undefined;
  const { accessToken, provider, refreshToken } = value;
  const isText = (field: unknown): field is string => typeof field === 'string';
  return {
    accessToken,
    ...defined({
      provider: isText(provider) ? provider : undefined,
      refreshToken: isText(refreshToken) ? refreshToken : undefined,
    }),
  };
}
