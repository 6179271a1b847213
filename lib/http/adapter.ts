import type { NextFunction, Request, Response } from 'express';
import type { IncomingMessage } from 'node:http';
import type { CookieAttributes } from '../tools/cookies.ts';
import { ConfigurationError } from '../errors.ts';
import type { AuthError } from '../errors.ts';
import type { Emit, Explain } from '../session/events.ts';
import type { SessionResolver } from '../session/sessions.ts';
import type { AccessTokenClaims, AdapterName, Session } from '../types.ts';
import type { Brands } from '../pages/page.ts';
import type { RenderPage } from '../pages/view.ts';

/** Handles every error that a visitor would see. */
export type OnError = (error: AuthError, req: Request, res: Response, next: NextFunction) => void;

/** A path that the adapter answers itself. */
export interface OwnPath {
  /** Root-relative, without the mount path. */
  readonly path: string;
  /** The option that names the path, for messages. Files of the built-in pages have none of their own. */
  readonly option?: string;
  /** Whether `returnTo` may name it: a page that a sign-in leads back to. */
  readonly isReturnTarget?: boolean;
}

/** The application's answers about sessions, each kept as long as the verified token. */
export interface Acceptance {
  /** Whether this object, which the cache returns, was let in; a look-up. */
  isAccepted(session: Session): boolean;
  /**
   * Asks the application, once per token: concurrent requests share the call, and a throw is not kept.
   *
   * @throws whatever `accept` throws
   */
  ask(session: Session, req: IncomingMessage): Promise<boolean>;
  /** The same for a session that exists: a refusal is reported once. */
  admits(session: Session, req: IncomingMessage): Promise<boolean>;
}

/** The part of an adapter that a guard with `maxAge` uses. */
export interface FreshSignIn {
  /** When the user last authenticated, in seconds since the epoch; `undefined` where unknown, which counts as too long ago. */
  authenticatedAt(session: Session): number | undefined;
  /** Identifies the sign-in of a session: a new sign-in changes it, a refresh does not. */
  signInId(session: Session): string;
  /** Query parameters of the sign-in page, besides `returnTo`, that require a new sign-in even with a session. */
  parameters(session: Session, maxAge: number): Readonly<Record<string, string>>;
}

/** The part of an adapter that a guard with `aal` uses. */
export interface SecondFactor {
  /** The path that asks for a second factor; root-relative, without the mount path. */
  readonly verifyPath: string;
  /** The path that adds a second factor; root-relative, without the mount path. */
  readonly enrollPath: string;
  /**
   * Asks the provider whether the session's user has a verified second factor. Called once per access token and minute.
   *
   * @throws {AuthError} `unauthenticated` where the provider has ended the session; `provider_unavailable`
   */
  hasVerifiedFactor(session: Session): Promise<boolean>;
}

/** The authorization server whose tokens `protectResource` takes. */
export interface AuthorizationServer {
  /** Its issuer identifier (RFC 8414 §2). */
  readonly issuer: string;
  /** Whether it writes the resource that a client asks for into `aud` (RFC 8707 §2). Otherwise the application's own hook may. */
  readonly bindsResource: boolean;
  /** `SessionResolver.resolveForResource`. */
  readonly resolve: SessionResolver<unknown>['resolveForResource'];
  /** The OAuth client that a token was issued to: `undefined` where it names none, empty where it is malformed. */
  readonly clientOf: (claims: AccessTokenClaims) => string | undefined;
  /** Whether it also issues the application's own sessions: their tokens name no client. */
  readonly hasFirstParty: boolean;
  /** Whether the token's subject is a user, and not a machine. */
  readonly isUser: (claims: AccessTokenClaims) => boolean;
}

declare const held: unique symbol;

/** Names a part, with the type of what it holds. */
export type PartKey<Part> = symbol & { readonly [held]: Part };

export function partKey<Part>(name: string): PartKey<Part> {
  return Symbol(name) as PartKey<Part>;
}

/** What the doors and rooms of one adapter, or of one request, keep there. They end with it. */
export class Parts {
  readonly #held = new Map<symbol, unknown>();

  find<Part>(key: PartKey<Part>): Part | undefined {
    return this.#held.get(key) as Part | undefined;
  }

  /** For a part that is there from the start. @throws {Error} where it is not */
  get<Part>(key: PartKey<Part>): Part {
    if (!this.#held.has(key)) throw new Error(`there is no part '${String(key.description)}'`);
    return this.#held.get(key) as Part;
  }

  /** @returns the part */
  set<Part>(key: PartKey<Part>, part: NoInfer<Part>): Part {
    this.#held.set(key, part);
    return part;
  }
}

/** The part of an adapter that the code in `http` uses. */
export interface Adapter {
  readonly adapter: AdapterName;
  /** The factory's name, for messages. */
  readonly name: 'b2bAuth' | 'backendAuth';
  readonly resolver: Pick<
    SessionResolver<unknown>,
    | 'background'
    | 'cachedSession'
    | 'endOver'
    | 'endSession'
    | 'isConfirmed'
    | 'isShared'
    | 'renewSession'
    | 'resolve'
    | 'resolveBearer'
    | 'watchSession'
  >;
  /** Ends a session at the provider, within `timeoutMs`. It never rejects. Omitted where the provider cannot end one by its id. */
  readonly revokeSession?: (sessionId: string) => Promise<void>;
  /** The option `accept`; omitted where every session is accepted. */
  readonly acceptance?: Acceptance | undefined;
  /** Keys are paths as Express compares them. */
  readonly ownPaths: ReadonlyMap<string, OwnPath>;
  readonly protectedRoutes: readonly string[];
  /** The page where visitors sign in: a page of the application, or `undefined` for the adapter's own `loginPath`. */
  readonly signInPage: string | undefined;
  /** The application's own sign-in and sign-up pages. No pattern guards them, because the redirect would loop. */
  readonly openPages: readonly string[];
  readonly loginPath: string;
  readonly freshSignIn: FreshSignIn;
  /** Omitted where the provider asks for the second factor itself. */
  readonly secondFactor?: SecondFactor | undefined;
  readonly stylesheetPath: string;
  /** Whether pages and redirects leave a popup its opener, because OAuth clients open them in one. Default false. */
  readonly keepsOpener?: boolean;
  /** How a guard redirects methods other than GET and HEAD. */
  readonly guardStatusForForms: 303 | 307;
  /** The session cookie's name; cookies of a pending sign-in are named `<cookieName>-…`. */
  readonly cookieName: string;
  /** Where `secure` is omitted, it follows the public origin. */
  readonly cookieOptions: Omit<CookieAttributes, 'secure'> & { readonly secure?: boolean };
  /** Whether a cookie without `Secure` is none that the application asked for: in production. */
  readonly warnsOfPlainCookies?: boolean;
  readonly appBaseUrl: string | undefined;
  /** The origin whose paths `returnTo` names, where it is not that of the routes. */
  readonly frontendOrigin?: string | undefined;
  /** The application's own origins besides that of the routes. */
  readonly trustedOrigins: readonly string[];
  /** The application's own function for a client's address. */
  readonly clientAddress?: ((req: IncomingMessage) => string | undefined) | undefined;
  /** The OAuth client of another application that a token was issued to; empty where it is malformed. */
  readonly foreignClient: (claims: AccessTokenClaims) => string | undefined;
  /** Omitted where the options name none. */
  readonly authorizationServer?: AuthorizationServer | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How long one request waits for the provider and for `accept` together, in milliseconds. */
  readonly timeoutMs: number;
  readonly onError: OnError | undefined;
  readonly brands: Brands;
  /** The application's own pages; omitted where there are none. */
  readonly renderPage?: RenderPage | undefined;
  readonly emit: Emit;
  readonly explain: Explain;
  /** What doors and rooms keep of this adapter: its context under the adapter's own key, their state under theirs. */
  readonly parts: Parts;
}

/**
 * What identifies a handler in an application's stack: a router's own list of layers. Tracing, such as OpenTelemetry's, replaces the
 * handler of each layer by a wrapper that passes on its properties, so the list shows through.
 */
export function identityOf(handle: object): object {
  const stack: unknown = 'stack' in handle ? handle.stack : undefined;
  return Array.isArray(stack) ? stack : handle;
}

const definitions = new WeakMap<object, Adapter>();

/** On the router of every adapter, also of another copy of this package: for messages only, because other code can write it. */
const mark = Symbol.for('express-auth-adapters');

export const otherCopy =
  'it comes from another copy of express-auth-adapters; npm ls express-auth-adapters shows where the copies are, and one of them has to go';

export function registerRouter(router: object, definition: Adapter): void {
  const identity = identityOf(router);
  definitions.set(identity, definition);
  Object.defineProperty(identity, mark, { value: true });
}

/** Whether a handler is an adapter that another copy of this package has made. */
export function isOfOtherCopy(handler: object): boolean {
  const identity = identityOf(handler);
  return mark in identity && !definitions.has(identity);
}

/** The adapter of a router, or of what wraps it; `undefined` for any other router. */
export function adapterOf(router: object): Adapter | undefined {
  return definitions.get(identityOf(router));
}

/**
 * The adapter of a function's first argument.
 *
 * @param caller the function's name, for the message
 * @throws {ConfigurationError} where it is something else
 */
export function definitionOf(caller: string, auth: unknown): Adapter {
  const definition = typeof auth === 'function' ? adapterOf(auth) : undefined;
  if (definition !== undefined) return definition;
  const isCopy = typeof auth === 'function' && isOfOtherCopy(auth);
  const problem = 'the first argument must be what b2bAuth() or backendAuth() returned';
  throw new ConfigurationError(caller, [isCopy ? `${problem}; ${otherCopy}` : problem]);
}
