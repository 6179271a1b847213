import { cookieAttributes } from '../http/options.ts';
import { createEmit, createExplain } from '../session/events.ts';
import type { Emit, Explain } from '../session/events.ts';
import { createSessionWriter } from '../session/session-writer.ts';
import type { SessionWriter } from '../session/session-writer.ts';
import { createSessions } from '../session/sessions.ts';
import type { SessionResolver } from '../session/sessions.ts';
import { createKeySet } from '../tokens/key-set.ts';
import { createFlowCookies } from './flow-cookie.ts';
import type { FlowCookies } from './flow-cookie.ts';
import type { B2bOptions } from './options.ts';
import { createSeal } from './seal.ts';
import type { SealedSession } from './seal.ts';
import { createB2bSource } from './session-cookie.ts';
import type { B2bSource } from './session-cookie.ts';
import { createProvider } from './workos.ts';
import type { Provider } from './workos.ts';

/** What the routes of one `b2bAuth()` share. */
export interface B2bContext {
  readonly settings: B2bOptions;
  readonly provider: Provider;
  readonly source: B2bSource;
  readonly writer: SessionWriter<SealedSession>;
  readonly resolver: SessionResolver<SealedSession>;
  readonly flows: FlowCookies;
  readonly emit: Emit;
  readonly explain: Explain;
}

export function createB2bContext(settings: B2bOptions): B2bContext {
  const { fetch, now, timeoutMs } = settings;
  const explain = createExplain('b2b');
  const emit = createEmit('b2b', settings.onEvent, explain, now);
  const provider = createProvider(settings);
  const seal = createSeal(settings.passwords);
  const keySet = createKeySet({
    url: provider.jwksUrl,
    fetch,
    now,
    timeoutMs,
    onUnavailable: ({ stale }) => emit({ type: 'keys_unavailable', stale }),
  });
  const source = createB2bSource(settings, seal, keySet, provider);
  const { sameSite } = cookieAttributes(settings.cookieOptions, settings.cookieName);
  return {
    settings,
    provider,
    source,
    writer: createSessionWriter(source, emit),
    resolver: createSessions(source, { ...settings, emit }),
    flows: createFlowCookies({ cookieName: settings.cookieName, sameSite, seal, now }),
    emit,
    explain,
  };
}
