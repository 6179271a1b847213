import { createBackground } from '../tools/background.ts';
import { partKey } from '../http/adapter.ts';
import { cookieAttributes } from '../options/shared.ts';
import { createEmit, createExplain } from '../session/events.ts';
import { createSessionWriter } from '../session/source.ts';
import { createSessions } from '../session/sessions.ts';
import { createKeySet } from '../session/keys.ts';
import type { KeySetOptions } from '../session/keys.ts';
import { createVerifyForResource } from './authorization-server.ts';
import { createFlowCookies } from './flow-cookie.ts';
import type { B2bOptions } from './options.ts';
import { createSeal } from './seal.ts';
import { createB2bSource } from './session.ts';
import type { B2bSource } from './session.ts';
import { createProvider } from './workos.ts';

export type B2bContext = ReturnType<typeof createB2bContext>;

/** The context of `b2bAuth`, among the parts of its adapter. */
export const b2bPart = partKey<B2bContext>('b2b');

/** Shared by the routes of one `b2bAuth()`. @param added what its rooms add to the source of the sessions */
export function createB2bContext(settings: B2bOptions, added: Pick<B2bSource, 'lifetime'>) {
  const { fetch, now, timeoutMs } = settings;
  const explain = createExplain('b2b');
  const emit = createEmit('b2b', settings.onEvent, explain, now);
  const provider = createProvider(settings);
  const background = createBackground(settings);
  const seal = createSeal(settings.passwords);
  const keys: Omit<KeySetOptions, 'url'> = {
    fetch,
    now,
    timeoutMs,
    background,
    onUnavailable: ({ stale }) => emit({ type: 'keys_unavailable', stale }),
  };
  const source: B2bSource = {
    ...createB2bSource(settings, seal, createKeySet({ ...keys, url: provider.jwksUrl }), provider),
    verifyForResource: createVerifyForResource(settings, keys),
    ...added,
  };
  const { sameSite } = cookieAttributes(settings.cookieOptions, settings.cookieName);
  return {
    settings,
    provider,
    source,
    writer: createSessionWriter(source, emit),
    resolver: createSessions(source, { ...settings, emit, background }),
    flows: createFlowCookies({ cookieName: settings.cookieName, sameSite, seal, now }),
    emit,
    explain,
  };
}
