/** `express-auth-adapters/passport`: the members that Passport gives a request, for code that still reads them. */
import { asError, passToNext } from '../http/next.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConfigurationError, isOutage } from '../errors.ts';
import { getSession } from '../http/get-session.ts';
import type { AdapterName, Session, SessionOf } from '../types.ts';

export interface PassportShapeOptions<User, Name extends AdapterName = AdapterName> {
  /** Asks this adapter only, and narrows the type of the session; default whichever has a session. */
  readonly adapter?: Name;
  /**
   * The user of a session, such as the row of your table. It runs once per request, as Passport's `deserializeUser`.
   * With `null`, `undefined` or `false` the request counts as signed out. An error goes to Express' error handling.
   */
  readonly load: (
    session: SessionOf<Name>,
    req: IncomingMessage,
  ) => User | null | undefined | false | Promise<User | null | undefined | false>;
}

/** A request after `passportShape`. */
export type PassportRequest<User> = IncomingMessage & {
  user?: User | undefined;
  isAuthenticated(): boolean;
  isUnauthenticated(): boolean;
};

/** A middleware for Express, Connect and `node:http`. */
export type PassportShape = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

/**
 * Sets `req.user`, `req.isAuthenticated()`, `req.isUnauthenticated()` and `res.locals.user` as Passport does, from the
 * session of an adapter that is mounted before. Mount it once; only your own code reads what it sets.
 *
 * `req.login` and `req.logout` (also `logIn`, `logOut`) fail and say what to use instead: to their callback where they
 * have one, else by throwing.
 *
 * Where an access token has expired and the provider is out of reach, `req.user` is `undefined`, and the two questions throw the
 * `AuthError` `provider_unavailable` (503): a public page that does not ask stays up.
 *
 * @throws {ConfigurationError} without `load`; on a request, where no adapter was mounted before
 * @example app.use(passportShape({ load: ({ user }) => users.find(user.id) }));
 */
export function passportShape<User, Name extends AdapterName = AdapterName>(
  options: PassportShapeOptions<User, Name>,
): PassportShape {
  const { adapter, load } = readOptions(options);

  async function shape(req: IncomingMessage, res: ServerResponse): Promise<void> {
    // At first no user, also for an error handler: what other code has set before is not trusted.
    setUser(req, res, undefined);
    const session = await find(req).catch((error: unknown) => {
      if (!isOutage(error)) throw error;
      // Public pages stay up. Who asks gets the error: an outage is no sign-out.
      askInVain(req, error);
      return null;
    });
    const user = session === null ? null : await load(session as SessionOf<Name>, req);
    // As Passport's own `isAuthenticated`.
    if (Boolean(user)) setUser(req, res, user);
  }

  function find(req: IncomingMessage): Promise<Session | null> {
    return adapter === undefined ? getSession(req) : getSession(req, adapter);
  }

  return (req, res, next) => {
    shape(req, res).then(
      () => passToNext(next),
      (error: unknown) => passToNext(next, asError(error)),
    );
  };
}

function setUser(req: IncomingMessage, res: ServerResponse & { locals?: object }, user: unknown): void {
  const isSignedIn = user !== undefined;
  const questions = { isAuthenticated: () => isSignedIn, isUnauthenticated: () => !isSignedIn };
  Object.assign(req, { user, ...questions, ...instead });
  res.locals = Object.assign(res.locals ?? {}, { user });
}

function askInVain(req: IncomingMessage, error: unknown): void {
  const ask = (): never => {
    throw error;
  };
  Object.assign(req, { isAuthenticated: ask, isUnauthenticated: ask });
}

/** @param options a caller without types may leave them out */
function readOptions<Options extends object>(options: Options | undefined): Options {
  const { adapter, load }: { readonly adapter?: unknown; readonly load?: unknown } = options ?? {};
  const problems = [
    ...(typeof load === 'function' ? [] : ['load must be a function that returns the user of a session, or null']),
    ...(adapter === undefined || adapter === 'b2b' || adapter === 'backend'
      ? []
      : ["adapter must be 'b2b' or 'backend'"]),
  ];
  if (options === undefined || problems.length > 0) throw new ConfigurationError('passportShape', problems);
  return options;
}

const login = unavailable('req.login', [
  'sign-in is a route of the adapter: send the browser there, or call storeSession() with tokens of your own',
]);
const logout = unavailable('req.logout', [
  'sign-out is a route of the adapter: post a form to /logout or /auth/logout; the hook onSignOut runs there',
]);
const instead = { login, logIn: login, logout, logOut: logout } as const;

/** A function that fails the way its caller expects: Passport's take a callback as their last argument. */
function unavailable(name: string, problems: readonly string[]): (...args: readonly unknown[]) => void {
  return (...args) => {
    const error = new ConfigurationError(name, problems);
    const callback = args.at(-1);
    if (typeof callback !== 'function') throw error;
    (callback as (error: ConfigurationError) => void)(error);
  };
}
