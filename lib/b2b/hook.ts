import type { IncomingMessage } from 'node:http';
import type { B2bSession } from '../types.ts';

export interface B2bSignIn {
  readonly session: B2bSession;
  readonly req: IncomingMessage;
  readonly returnTo: string;
}

/** Where to go instead of `returnTo`, sanitised like it; nothing keeps `returnTo`. */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a hook that returns nothing is the common one
export type SignInHookResult = { readonly redirectTo?: string } | undefined | void;

/**
 * The place to map `organizationId` to a tenant or to create a row. Throwing an `AuthError` refuses the sign-in with that error;
 * anything else thrown goes to Express' error handling. In both cases nobody is signed in.
 */
export type OnB2bSignIn = (signIn: B2bSignIn) => SignInHookResult | Promise<SignInHookResult>;
