import type { NextFunction, Request, Response } from 'express';
import type { IncomingMessage } from 'node:http';
import type { CookieAttributes } from '../core/cookies.ts';
import type { AuthError } from '../errors.ts';
import type { Emit, Explain } from '../session/events.ts';
import type { SessionResolver } from '../session/sessions.ts';
import type { AccessTokenClaims, AdapterName, Session } from '../types.ts';
import type { Brand } from './page.ts';

/** Takes over every error that a visitor would see. */
export type OnError = (error: AuthError, req: Request, res: Response, next: NextFunction) => void;

/** A path that the adapter answers itself. */
export interface OwnPath {
  /** Root-relative, without the mount path. */
  readonly path: string;
  /** The option that names the path, for messages. */
  readonly option: string;
}

/** What a guard with `maxAge` needs to know. */
export interface FreshSignIn {
  /** When the person last authenticated, in seconds since the epoch; `undefined`, which counts as too long ago, where no usable time is known. */
  authenticatedAt(session: Session): number | undefined;
  /** Names the sign-in that a session came from: a new sign-in gives another name, a refresh does not. */
  signInId(session: Session): string;
  /** What the query of the sign-in page says, beside `returnTo`, so that the person signs in again even with a session. */
  parameters(session: Session, maxAge: number): Readonly<Record<string, string>>;
}

/** What a guard with `aal` needs to know. */
export interface SecondFactor {
  /** Where a second factor is asked for; root-relative, without the mount path. */
  readonly verifyPath: string;
  /** Where a second factor is added; root-relative, without the mount path. */
  readonly enrollPath: string;
  /**
   * Asks the provider whether the session's user has a verified second factor. It is called once per access token and minute.
   *
   * @throws {AuthError} `provider_unavailable`
   */
  hasVerifiedFactor(session: Session): Promise<boolean>;
}

/** What everything under `http` needs to know of an adapter. */
export interface Adapter {
  readonly adapter: AdapterName;
  /** The factory's name, for messages. */
  readonly name: 'b2bAuth' | 'backendAuth';
  readonly resolver: Pick<
    SessionResolver<unknown>,
    'cachedSession' | 'endSession' | 'renewSession' | 'resolve' | 'resolveBearer' | 'watchSession'
  >;
  /** By the path as Express compares it. */
  readonly ownPaths: ReadonlyMap<string, OwnPath>;
  readonly protectedRoutes: readonly string[];
  /** Where a visitor signs in; root-relative, a page of the application or `undefined` for the adapter's own `loginPath`. */
  readonly signInPage: string | undefined;
  /** The application's own sign-in and sign-up pages, which no pattern closes: who must sign in there may not be sent there to do so. */
  readonly openPages: readonly string[];
  readonly loginPath: string;
  readonly freshSignIn: FreshSignIn;
  /** Left out where the provider asks for the second factor itself. */
  readonly secondFactor?: SecondFactor | undefined;
  readonly stylesheetPath: string;
  /** How a guard redirects methods other than GET and HEAD. */
  readonly guardStatusForForms: 303 | 307;
  /** The session's; cookies of a sign-in under way are called `<cookieName>-…`. */
  readonly cookieName: string;
  /** `secure` follows the public origin where it is left out. */
  readonly cookieOptions: Omit<CookieAttributes, 'secure'> & { readonly secure?: boolean };
  readonly appBaseUrl: string | undefined;
  readonly trustedOrigins: readonly string[];
  /** The application's own way to tell the address of a request's client. */
  readonly clientAddress?: ((req: IncomingMessage) => string | undefined) | undefined;
  /** The OAuth client of another application that a token was issued to; empty where it cannot be told which. */
  readonly foreignClient: (claims: AccessTokenClaims) => string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onError: OnError | undefined;
  readonly brand: Brand;
  readonly emit: Emit;
  readonly explain: Explain;
}
