import type { IncomingMessage } from 'node:http';
import type { BackendSession } from '../types.ts';

export interface BackendSignIn {
  readonly session: BackendSession;
  readonly req: IncomingMessage;
  readonly returnTo: string;
}

/**
 * The place to create a row or to refuse a person. Throwing an `AuthError` refuses the sign-in with that error; anything else thrown
 * goes to Express' error handling. In both cases there is no session.
 */
export type OnBackendSignIn = (
  signIn: BackendSignIn,
  // A hook that only refuses or records has nothing to return, with or without `async`.
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type
) => { readonly redirectTo?: string } | undefined | void | Promise<{ readonly redirectTo?: string } | undefined | void>;
