import { format } from 'node:util';
import createDebug from 'debug';
import { AuthError } from '../../lib/errors.ts';
import { forwardAuth } from '../../lib/every-entry.ts';
import type { AuthRequest } from '../../lib/http/request.ts';
import { refusalReason } from '../../lib/http/error-reply.ts';
import { startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import type { Handler } from '../support/handler-list.ts';

let provider: SharedProvider;
let app: B2bApp;
const lines: string[] = [];
const { log } = createDebug;

beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({
    provider,
    after: (host, auth) => host.use('/forward', forwardAuth(auth) as Handler),
  });
  // Not before: an adapter that is made with it on also explains sessions from the cache, in all of the process, to its end.
  createDebug.log = (...given: unknown[]) => void lines.push(format(...given));
  createDebug.enable('express-auth-adapters:*');
});
beforeEach(() => void lines.splice(0));
afterAll(async () => {
  createDebug.disable();
  createDebug.log = log;
  await app.close();
  await provider.close();
});

const explained = (): string => lines.join('\n');

it('a guard that lets a request pass explains it', async () => {
  const visitor = await app.signedIn();
  provider.clock.advance(400_000);
  lines.length = 0;
  await visitor.get('/dashboard?secret=1');
  expect(explained()).toMatch(/GET \S*\/dashboard: let in$/m);
  expect(explained()).not.toContain('secret');
});

it('a guard that redirects to sign-in explains why, and where', async () => {
  await app.visitor().get('/dashboard');
  expect(explained()).toMatch(
    /GET \S*\/dashboard: signed out, as the browser sent no cookie b2b-session: 307 to \S*\/login/,
  );
  const visitor = app.visitor();
  visitor.cookies.set('b2b-session', 'not-ours');
  await visitor.get('/dashboard');
  expect(explained()).toMatch(/signed out, as the cookie b2b-session holds no live session: 307 to/);
});

it('a gateway’s request is explained, whatever the answer is', async () => {
  await app.visitor().get('/forward', { headers: { 'x-original-uri': '/wiki?secret=1' } });
  expect(explained()).toMatch(/GET \S*\/forward: signed out, as the browser sent no cookie b2b-session: 401$/m);
  const visitor = await app.signedIn();
  await visitor.get('/forward');
  expect(explained()).toMatch(/GET \S*\/forward: let in$/m);
  await visitor.post('/forward', { headers: { 'sec-fetch-site': 'cross-site' } });
  expect(explained()).toMatch(/POST \S*\/forward: refused with 403 cross_site_request \(it came from another site/);
  expect(explained()).not.toContain('secret');
});

it('a sign-in names the redirect URI that it sends', async () => {
  await app.visitor().get('/login');
  expect(explained()).toMatch(/sign-in starts, with the redirect URI http\S+\/callback/);
});

it('a refused request names its code, and the origin to add to trustedOrigins', async () => {
  const visitor = await app.signedIn();
  await visitor.post('/logout', { headers: { origin: 'https://front.example', 'sec-fetch-site': 'cross-site' } });
  expect(explained()).toMatch(
    /POST \S*\/logout: refused with 403 cross_site_request \(it came from https:\/\/front\.example; if that is your own site, add it to trustedOrigins\)/,
  );
});

describe('the reason for a refusal', () => {
  const request = (origin?: string): AuthRequest => ({ req: { headers: { origin } } }) as unknown as AuthRequest;

  it('contains our result, and the provider’s status and code from the cause', () => {
    const cause = Object.assign(new Error('the key sk_secret is wrong'), { status: 401, code: 'invalid_client' });
    expect(refusalReason(request(), new AuthError('provider_refused', { reason: 'unauthorized', cause }))).toBe(
      'refused with 502 provider_refused (unauthorized; the provider answered 401; its code is invalid_client)',
    );
    expect(refusalReason(request(), new AuthError('forbidden', { cause: { code: 'a b', status: '1' } }))).toBe(
      'refused with 403 forbidden',
    );
  });

  it.each(['null', 'https://x.example/path', `https://${'x'.repeat(300)}.example`, 'no origin'])(
    'does not repeat the origin %.30s',
    (origin) => {
      expect(refusalReason(request(origin), new AuthError('cross_site_request'))).toBe(
        'refused with 403 cross_site_request (it came from another site; an origin of your own belongs in trustedOrigins)',
      );
    },
  );
});
