import { refuseInProduction } from './refuse-in-production.ts';

/**
 * How the provider behaves: `working`; `down`, so that every call to it fails; `revoking`, so that it ends each session that is
 * renewed, as after an administrator's sign-out.
 */
export type ProviderState = 'working' | 'down' | 'revoking';

/** A call to the provider, as the adapter made it. */
export interface ProviderCall {
  readonly method: string;
  readonly url: URL;
  /** The JSON body's members; empty where there is none. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

export interface InMemoryProvider {
  readonly fetch: typeof globalThis.fetch;
  simulate(state: ProviderState): void;
}

/**
 * A `fetch` that never touches the network.
 *
 * @param answer `undefined` for calls that it does not know
 * @param otherwise where those go; default: a 501, and a warning that says so
 */
export function createInMemoryProvider(
  answer: (call: ProviderCall, state: ProviderState) => Promise<Response | undefined>,
  otherwise: typeof globalThis.fetch = refuse,
): InMemoryProvider {
  let state: ProviderState = 'working';
  return {
    async fetch(input, init) {
      refuseInProduction();
      const request = new Request(input, init);
      const call: ProviderCall = {
        method: request.method,
        url: new URL(request.url),
        body: await bodyOf(request.clone()),
        headers: request.headers,
      };
      if (state === 'down')
        throw new TypeError('fetch failed', { cause: new Error('The provider is simulated to be down') });
      return (await answer(call, state)) ?? otherwise(input, init);
    },
    simulate(next) {
      state = next;
    },
  };
}

async function bodyOf(request: Request): Promise<ProviderCall['body']> {
  const text = await request.text();
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return Object.fromEntries(new URLSearchParams(text));
  }
}

/** An answer rather than a broken connection, which SDKs would try again for seconds; a warning, as a 503 is easily overlooked. */
const refuse: typeof globalThis.fetch = (input, init) => {
  const { method, url } = new Request(input, init);
  const { origin, pathname } = new URL(url);
  const message = `express-auth-adapters/testing has no answer to ${method} ${origin}${pathname}; give the adapter the kit's own \`options\``;
  process.emitWarning(message, { code: 'EXPRESS_AUTH_ADAPTERS_TESTING' });
  return Promise.resolve(Response.json({ message }, { status: 501 }));
};
