import fc from 'fast-check';
import { sealData, unsealData } from 'iron-session';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { rawRequest, sendRaw } from '../support/raw-socket.ts';
import { checkInputs } from '../support/inputs.ts';

const ownRoutes = ['/login', '/signup', '/callback', '/logout', '/auth/session', '/auth/pages.css'];

/** Strings that once caused open redirects, and mutations of them. */
const fragments = [
  '/',
  '//',
  '\\',
  '/\\',
  '%2f',
  '%5c',
  '%09',
  '\t',
  '\n',
  '\r',
  '.',
  '..',
  '%2e',
  ':',
  '@',
  '?',
  '#',
  '&',
  '=',
  ';',
  'evil.test',
  'https:',
  'http://',
  'javascript:',
  'login',
  'callback',
  'LOGIN',
  'dashboard',
  'caf\u00e9',
  '\u0000',
  '\u2028',
  '\ud800',
  ' ',
  '%',
  '%25',
  '%2525',
  '[',
  ']',
  '127.0.0.1',
  'localhost',
];
const hostile = fc.oneof(
  fc.array(fc.constantFrom(...fragments), { maxLength: 12 }).map((parts) => parts.join('')),
  fc.array(fc.constantFrom(...fragments), { maxLength: 12 }).map((parts) => `/${parts.join('')}`),
  fc.webUrl(),
  fc.string({ unit: 'binary', maxLength: 80 }),
);

const inputs = { least: 120, variable: 'RETURN_TO_FLOW_RUNS' };

let app: B2bApp;
beforeAll(async () => {
  app = await startB2bApp();
});
afterAll(() => app.close());

function expectHome(location: string | undefined): void {
  expect(location).toBeDefined();
  const resolved = new URL(location ?? '', app.origin);
  expect(resolved.origin).toBe(app.origin);
  // Byte by byte: what is no UTF-8 is decoded, too.
  const path = resolved.pathname
    .replace(/%([0-9a-f]{2})/gi, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .toLowerCase()
    .replace(/\/+$/, '');
  expect(ownRoutes).not.toContain(path);
  expect(location).toMatch(/^[\x21-\x7e]+$/);
}

/** The whole way: sign-in with this `returnTo`, the provider's page, the callback. */
async function locationAfterSignIn(returnTo: string): Promise<string | undefined> {
  const visitor = app.visitor();
  const start = await visitor.get(`/login?${new URLSearchParams({ returnTo: returnTo.toWellFormed() }).toString()}`);
  const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
  return (await visitor.get(callback.href)).headers.location;
}

it('a returnTo in the query never leads elsewhere or to an auth route', async () => {
  await checkInputs(
    fc.asyncProperty(hostile, async (returnTo) => expectHome(await locationAfterSignIn(returnTo))),
    inputs,
  );
});

it('the path of a guarded request never leads elsewhere', async () => {
  await checkInputs(
    fc.asyncProperty(hostile, async (tail) => {
      const target = `/dashboard${Buffer.from(tail, 'utf8')
        .toString('latin1')
        .replace(/[\s\0]/g, '')}`;
      const answer = await sendRaw(app.port, rawRequest('GET', target, ['Connection: close']));
      if (answer.status === 400 || answer.status === 0 || answer.status === 404) return;
      const signIn = new URL(/\r\nlocation: ([^\r]*)/i.exec(answer.head)?.[1] ?? '/dashboard', app.origin);
      if (signIn.pathname === '/login')
        expectHome(await locationAfterSignIn(signIn.searchParams.get('returnTo') ?? '/'));
      else expectHome(signIn.href.slice(app.origin.length));
    }),
    inputs,
  );
});

it('a flow cookie that was sealed with a hostile returnTo does not lead elsewhere either', async () => {
  const sealing = { password: app.cookiePassword, ttl: 0 };
  await checkInputs(
    fc.asyncProperty(hostile, async (returnTo) => {
      const visitor = app.visitor();
      const start = await visitor.get('/login');
      const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
      const [name, value] = [...visitor.cookies][0] ?? ['', ''];
      const flow = await unsealData<{ readonly returnTo: string }>(value, sealing);
      expect(flow.returnTo).toBe('/');
      visitor.cookies.set(name, await sealData({ ...flow, returnTo }, sealing));
      const answer = await visitor.get(callback.href);
      expect(answer.status).toBe(303);
      expectHome(answer.headers.location);
    }),
    inputs,
  );
});

it('legitimate paths survive unchanged', async () => {
  const places = [
    '/',
    '/dashboard',
    '/dashboard?tab=2&sort=name',
    '/a/b/c#part',
    '/search?q=a+b%20c',
    '/caf%C3%A9',
    '/x?next=https%3A%2F%2Fexample.com%2F',
    '/logins',
    '/login-help',
  ];
  for (const place of places) expect(await locationAfterSignIn(place)).toBe(place);
});
