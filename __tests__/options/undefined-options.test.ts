import { b2bAuth, backendAuth } from 'express-auth-adapters';
import type {
  B2bAuthOptions,
  BackendAuthOptions,
  BackendPagesOptions,
  OAuthProviderOptions,
} from 'express-auth-adapters';
import type { CookieOptions, ThrottleOptions } from 'express-auth-adapters';

/** As `process.env` gives it. */
type Undefined<Options> = Record<keyof Options, undefined>;

/** Never called: these lines only have to compile, also under `exactOptionalPropertyTypes`. */
export function everyOptionTakesUndefined(
  b2b: Undefined<B2bAuthOptions>,
  backend: Undefined<BackendAuthOptions>,
  cookie: Undefined<CookieOptions>,
  pages: Undefined<BackendPagesOptions>,
  provider: Undefined<Omit<OAuthProviderOptions, 'name'>>,
  throttle: Undefined<ThrottleOptions>,
): void {
  b2bAuth(b2b);
  backendAuth(backend);
  b2bAuth({ cookieOptions: cookie });
  backendAuth({ cookieOptions: { ...cookie, httpOnly: undefined }, pages, throttle });
  backendAuth({ providers: [{ name: 'github', ...provider }], pages: { text: { signInHeading: undefined } } });
}

it('treats an undefined option as one that is not given', () => {
  const b2b = { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) };
  expect(b2bAuth({ ...b2b, organizationId: undefined, cookieOptions: { domain: undefined } })).toBeInstanceOf(Function);
  const backend = { url: 'https://project.supabase.co', anonKey: 'sb_publishable_abcdefghijklmnopqrstuv' };
  const pages = { title: undefined, text: { signInHeading: undefined } };
  expect(backendAuth({ ...backend, defaultProvider: undefined, pages })).toBeInstanceOf(Function);
});
