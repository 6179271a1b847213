import createDebug from 'debug';
import { AuthError } from '../errors.ts';
import type { AdapterName, AuthEvent, OnEvent } from '../types.ts';

export type EventBody = AuthEvent extends infer E ? (E extends AuthEvent ? Omit<E, 'adapter'> : never) : never;

/** Tells the application what happened; a listener that throws or rejects harms nothing. */
export type Emit = (event: EventBody) => void;

/** Explains a decision to those who run with `DEBUG=express-auth-adapters*`. Never pass secrets. */
export type Explain = (
  format: string,
  ...values: (string | number | boolean | undefined | Readonly<Record<string, unknown>>)[]
) => void;

export function createExplain(adapter: AdapterName): Explain {
  return createDebug(`express-auth-adapters:${adapter}`);
}

/** How long the same warning is not repeated. */
const warningMs = 60_000;

export function createEmit(
  adapter: AdapterName,
  onEvent: OnEvent | undefined,
  explain: Explain,
  now: () => number = Date.now,
): Emit {
  // A listener may well be async, whatever its type says; its rejection must not end the process.
  const listen: ((event: AuthEvent) => unknown) | undefined = onEvent;
  /** When each warning was given; their texts are constants. */
  const warnings = new Map<string, number>();

  function isRepeated(body: EventBody): boolean {
    if (body.type !== 'configuration_warning') return false;
    const at = warnings.get(body.message);
    if (at !== undefined && Math.abs(now() - at) < warningMs) return true;
    warnings.set(body.message, now());
    return false;
  }

  return (body) => {
    if (isRepeated(body)) return;
    const { type, ...fields } = body;
    explain('%s %j', type, fields);
    if (listen === undefined) return;
    const quietly = (failure: unknown): void => {
      explain('onEvent failed: %s', failure instanceof Error ? failure.message : typeof failure);
    };
    try {
      Promise.resolve(listen({ ...body, adapter })).catch(quietly);
    } catch (error) {
      quietly(error);
    }
  };
}

/** What an event says of a failure; `internal_error` is one of the application's own, such as an `onSignIn` that throws. */
export function causeOf(error: unknown): { readonly code: string; readonly reason?: string } {
  if (!(error instanceof AuthError)) return { code: 'internal_error' };
  const { code, reason } = error;
  return reason === undefined ? { code } : { code, reason };
}

export function signInFailed(error: unknown): EventBody {
  return { type: 'sign_in_failed', ...causeOf(error) };
}

/** A provider's code, if it looks like one; its texts never reach an event. */
export function fitForEvent(code: string): string | undefined {
  return /^[\w.-]{1,64}$/.test(code) ? code : undefined;
}
