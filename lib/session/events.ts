import createDebug from 'debug';
import type { AuthError } from '../errors.ts';
import type { AdapterName, AuthEvent, OnEvent } from '../types.ts';

export type EventBody = AuthEvent extends infer E ? (E extends AuthEvent ? Omit<E, 'adapter'> : never) : never;

/** Tells the application what happened; a listener that throws or rejects harms nothing. */
export type Emit = (event: EventBody) => void;

/** Explains a decision to whoever runs with `DEBUG=express-auth-adapters*`. Never pass secrets. */
export type Explain = (format: string, ...values: (string | number | boolean | undefined)[]) => void;

export function createExplain(adapter: AdapterName): Explain {
  return createDebug(`express-auth-adapters:${adapter}`);
}

export function createEmit(adapter: AdapterName, onEvent: OnEvent | undefined, explain: Explain): Emit {
  // A listener may well be async, whatever its type says; its rejection must not end the process.
  const listen: ((event: AuthEvent) => unknown) | undefined = onEvent;
  return (body) => {
    explain('%s', body.type);
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

export function signInFailed({ code, reason }: AuthError): EventBody {
  return { type: 'sign_in_failed', code, ...(reason === undefined ? {} : { reason }) };
}
