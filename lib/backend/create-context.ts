import { cookieAttributes } from '../options/shared.ts';
import { createBrands } from '../pages/options.ts';
import { createEmit, createExplain } from '../session/events.ts';
import { createKeySet } from '../session/keys.ts';
import { createSessions } from '../session/sessions.ts';
import { createSessionWriter } from '../session/source.ts';
import { createBackground } from '../tools/background.ts';
import { unlimited } from './forms/attempts.ts';
import type { BackendContext } from './context.ts';
import { createSubmitOnce } from './forms/double-submit.ts';
import { slotsOf } from './feature.ts';
import type { Feature, SourcePart } from './feature.ts';
import type { RoomParts } from './slots.ts';
import { createFlowCookies } from './supabase/flow-cookies.ts';
import { noProviderTokens } from './supabase/issued-tokens.ts';
import { createPasswordRule } from './forms/new-password.ts';
import type { BackendOptions } from './options.ts';
import { englishText } from './pages/text.ts';
import { createSessionCookie } from './supabase/session-cookie.ts';
import { createBackendSource } from './supabase/session-source.ts';
import type { BackendSource } from './supabase/session-source.ts';
import { createSupabase } from './supabase/supabase.ts';
import { createTokenVerifier } from './supabase/verify-token.ts';

/** @param features their parts take the place of the kernel's own */
export function createContext(settings: BackendOptions, features: readonly Feature[]): BackendContext {
  const { url, timeoutMs, now, cookieName } = settings;
  const explain = createExplain('backend');
  const background = createBackground(settings);
  const emit = createEmit('backend', settings.onEvent, explain, now);
  const cookieOptions = cookieAttributes(settings.cookieOptions, cookieName);
  const { sameSite } = cookieOptions;

  const supabase = createSupabase({ ...settings, emit }, cookieName, sameSite, settings.now);
  const keySet = createKeySet({
    url: `${url}/auth/v1/.well-known/jwks.json`,
    fetch: settings.fetch,
    now,
    timeoutMs,
    background,
    onUnavailable: ({ stale }) => emit({ type: 'keys_unavailable', stale }),
  });
  const issuers = [`${url}/auth/v1`, ...settings.issuer];
  const tokens = createTokenVerifier(keySet, (token) => supabase.introspect(token), issuers, now);
  const cookie = createSessionCookie(cookieName, cookieOptions, issuers);
  const source: BackendSource = {
    ...createBackendSource(cookie, tokens, supabase),
    ...(Object.assign({}, ...features.map((feature) => feature.source?.(settings))) as SourcePart),
  };
  const writer = createSessionWriter(source, emit);
  const resolver = createSessions(source, { ...settings, emit, background });

  const flows = createFlowCookies(cookieName, sameSite);
  const brands = createBrands(englishText, settings.pages);
  const passwordRule = createPasswordRule(settings.passwordMinLength);
  const submitOnce = createSubmitOnce(settings);
  return {
    attempts: unlimited,
    providerTokens: noProviderTokens,
    ...(Object.assign({}, ...features.map(({ parts }) => parts?.({ settings, emit }))) as Partial<RoomParts>),
    ...slotsOf(features, settings),
    settings,
    brands,
    supabase,
    flows,
    submitOnce,
    passwordRule,
    cookie,
    source,
    writer,
    resolver,
    emit,
    explain,
  };
}
