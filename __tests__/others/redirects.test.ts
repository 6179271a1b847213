import { forwardAuth } from '../../lib/index.ts';
import { ada } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { consentUrl, startConsentApp } from '../support/consent.ts';
import type { Handler } from '../support/handler-list.ts';
import { casesNamed } from './proof.ts';
import { payloads, redirects, urlTests } from './redirects.ts';

const trusted = 'https://trusted.example.com';
let app: BackendApp;
let hookSays: string;

beforeAll(async () => {
  app = await startConsentApp({
    options: {
      throttle: false,
      trustedOrigins: [trusted],
      onSignIn: () => ({ redirectTo: hookSays }),
    },
    after: (host, auth) => host.use('/forward', forwardAuth(auth) as Handler),
  });
});
afterAll(() => app.close());

/** A sign-in and a consent take a while: a fifth of the values each, and all of them in `npm run test:nightly`. */
const share = Number(process.env['REDIRECT_SHARE'] ?? 5);
const some = redirects.filter((_, index) => index % share === 0);

/** Where a browser goes from a page of the application. */
const goesTo = (location: string): URL => new URL(location, `${app.origin}/auth/login`);

it('the lists hold as many values as docs/contributing/proofs.md says', () => {
  expect(casesNamed('web-platform-tests')).toBe(urlTests.length);
  expect(casesNamed('PayloadsAllTheThings')).toBe(payloads.length);
});

it('no returnTo of a sign-out leaves the origin', async () => {
  const visitor = app.visitor();
  const left: unknown[] = [];
  for (const returnTo of redirects) {
    const { status, json } = await visitor.postJson('/auth/logout', { returnTo });
    if (status !== 200 || goesTo(json.redirectTo).origin !== app.origin) left.push([returnTo, status, json]);
  }
  expect(left).toEqual([]);
});

it('no redirectTo of a hook leaves the origin and those that the application trusts', async () => {
  const left: unknown[] = [];
  for (const value of some) {
    hookSays = value;
    const { status, json } = await app.visitor().postJson('/auth/login', { ...ada, returnTo: value });
    const isOwn = status === 200 && [app.origin, trusted].includes(goesTo(json.redirectTo).origin);
    if (!isOwn) left.push([value, status, json]);
  }
  expect(left).toEqual([]);
});

it('no target that a gateway reports leads elsewhere after the sign-in', async () => {
  const visitor = app.visitor();
  const left: unknown[] = [];
  for (const value of redirects.filter((candidate) => /^[\x20-\x7e\x80-\xff]*$/.test(candidate))) {
    const { status, headers } = await visitor.get('/forward', { headers: { 'x-original-uri': value } });
    if (status === 400) continue;
    const signIn = new URL(String(headers['x-auth-redirect']));
    const returnTo = signIn.searchParams.get('returnTo') ?? '/';
    if (status !== 401 || signIn.origin !== app.origin || goesTo(returnTo).origin !== app.origin)
      left.push([value, status, headers['x-auth-redirect']]);
  }
  expect(left).toEqual([]);
});

it('a consent leads to the client’s own address as a browser reads it, or nowhere', async () => {
  const visitor = await app.signedIn();
  const left: unknown[] = [];
  for (const value of some) {
    const id = app.supabase.askConsent(app.supabase.addClient({ name: 'Cursor', redirectUris: [value] }));
    const { status, json } = await visitor.getJson(consentUrl(id));
    if (status === 400) continue;
    const url = URL.parse(value);
    if (status !== 200 || url === null || json.client.redirectUri !== url.href || !isSafe(url))
      left.push([value, status, json]);
  }
  expect(left).toEqual([]);
});

/** No script, no file, and nothing of the browser's own; http for this machine alone. */
function isSafe({ protocol, hostname, username, password }: URL): boolean {
  if (username + password !== '') return false;
  if (protocol === 'http:') return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  return !/^(?:javascript|vbscript|data|file|blob|about|ftp|wss?|view-source|filesystem|intent):$/.test(protocol);
}
