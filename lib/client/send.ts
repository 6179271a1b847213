import type { AuthErrorCode } from '../errors.ts';
import { createTab } from './tabs.ts';
import type { Identity } from './tabs.ts';

/** The error, with the server's message where it sent one. */
export interface ClientError {
  /** The HTTP status; 0 when no answer arrived. */
  readonly status: number;
  /**
   * One of the server's error codes, or what only the client can know: `network_error` (no answer), `aborted` (by your signal),
   * `unexpected_response` (an answer that is not this package's JSON, such as a proxy's error page or a redirect).
   */
  readonly code: ClientErrorCode;
  /** Safe to show. */
  readonly message: string;
  /** What is wrong with single fields, by their names. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** The server's codes (docs/errors.md), and the three that only the client can give. A newer server may know further codes. */
export type ClientErrorCode = AuthErrorCode | 'network_error' | 'aborted' | 'unexpected_response';

/** Either `data` or `error` is there, the other one is null. */
export type ClientResult<Data> =
  { readonly data: Data; readonly error: null } | { readonly data: null; readonly error: ClientError };

export interface ClientOptions<Paths> {
  /** Where the adapter is mounted: a prefix (`/app`) or another origin (`https://api.example.com`). Default: this origin's root. */
  readonly baseUrl?: string | undefined;
  /** The adapter's option of this name. */
  readonly pathPrefix?: string | undefined;
  /** The routes' paths below `baseUrl`, where they are not the adapter's defaults. It takes the adapter's option `paths` as it is. */
  readonly paths?: { readonly [Name in keyof Paths]?: Paths[Name] | undefined } | undefined;
  /** Stands in for the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface CallOptions {
  /** Gives the call up; it then resolves to the error `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

/** A call with these fields. */
export interface PostCall<Fields> extends CallOptions {
  readonly body: Fields & ReturnTo;
}

export interface ReturnTo {
  /** A root-relative path to go to afterwards. */
  readonly returnTo?: string;
}

export interface TabCalls<Session> {
  /**
   * Calls `listener` after another tab signed in, signed out or switched organizations, with the answer of `session()`.
   *
   * @returns a function that ends it
   */
  subscribe(listener: (session: ClientResult<Session>) => void): () => void;
}

/** Email and password, to sign in or to create an account. */
export type PasswordCall = PostCall<{ readonly email: string; readonly password: string }>;

/** A route: the members that identify a valid response to each method. */
interface Route {
  /** The adapter's default. */
  readonly path: string;
  /** In the option `paths`. Default: the call's name. */
  readonly pathName?: string;
  readonly get?: string | readonly string[];
  readonly post?: string | readonly string[];
}

/** A route for each call. */
export type Routes<Calls> = Readonly<Record<Exclude<keyof Calls, keyof TabCalls<unknown>>, Route>>;

interface Call extends CallOptions {
  readonly query?: object;
  readonly body?: object;
}

/** The adapter's rule for `pathPrefix` (`lib/options/paths.ts`): the prefix stands in for `/auth`. */
export function prefixPath(prefix: string | undefined, path: string): string {
  return prefix === undefined ? path : prefix + path.replace(/^\/auth(?=\/)/, '');
}

/** A method for each route, which posts where there is a body or nothing to get. None rejects: every failure becomes an `error`. */
export function createClient<Client, Paths>(
  options: ClientOptions<Paths>,
  routes: Routes<Client> & { readonly session: Route },
): Client {
  const moved: Readonly<Record<string, string>> = { ...options.paths };
  const base = (options.baseUrl ?? '').replace(/\/$/, '');
  const credentials = /^(\w+:)?\/\//.test(base) ? 'include' : 'same-origin';

  async function send({ path, get, post }: Route, { query, body, signal }: Call): Promise<ClientResult<unknown>> {
    const proof = get === undefined || body ? post : get;
    try {
      const response = await (options.fetch ?? globalThis.fetch)(base + path + toQueryString(query), {
        method: proof === get ? 'GET' : 'POST',
        credentials,
        // No route redirects JSON clients, and following a foreign redirect could send a password along.
        redirect: 'manual',
        headers: { Accept: 'application/json', ...(body && { 'Content-Type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
      const answer = parseJson(await response.text());
      return response.ok && [proof].flat().some((member) => member !== undefined && has(answer, member))
        ? { data: answer, error: null }
        : failure(response.status, has(answer, 'error') ? answer.error : undefined);
    } catch {
      return signal?.aborted
        ? failure(0, { code: 'aborted', message: 'The request was given up.' })
        : failure(0, { code: 'network_error', message: 'The server could not be reached. Please try again.' });
    }
  }

  const withPath = (name: string, route: Route): Route => ({
    ...route,
    path: moved[route.pathName ?? name] ?? prefixPath(options.pathPrefix, route.path),
  });
  const session = withPath('session', routes.session);
  const tab = createTab(base + session.path, () => send(session, {}) as Promise<ClientResult<Identity>>);

  const methods = Object.entries<Route>(routes).map(([name, given]) => {
    const route = withPath(name, given);
    return [
      name,
      (call: Call = {}) => {
        const answer = send(route, call);
        if (name === 'session') tab.learn(answer as Promise<ClientResult<Identity>>);
        // A form that leads on may have signed in or out.
        else if (route.get === undefined || call.body)
          void answer.then(({ data }) => has(data, 'redirectTo') && tab.change());
        return answer;
      },
    ];
  });
  return { ...Object.fromEntries(methods), subscribe: tab.subscribe } as Client;
}

function toQueryString(query: object = {}): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return entries.length > 0 ? `?${new URLSearchParams(entries).toString()}` : '';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function has<Name extends string>(value: unknown, name: Name): value is Record<Name, unknown> {
  return typeof value === 'object' && value !== null && name in value;
}

function failure(status: number, reported: unknown): ClientResult<never> {
  if (has(reported, 'code') && has(reported, 'message')) {
    const { code, message } = reported;
    const fields = has(reported, 'fields') ? { fields: reported.fields as Readonly<Record<string, string>> } : {};
    if (typeof code === 'string' && typeof message === 'string')
      return { data: null, error: { status, code: code as ClientErrorCode, message, ...fields } };
  }
  return {
    data: null,
    error:
      status === 401
        ? { status, code: 'unauthenticated', message: 'You’re not signed in.' }
        : { status, code: 'unexpected_response', message: 'The server gave an unexpected answer. Please try again.' },
  };
}
