import { ada, postForm } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { itAtRoot } from '../../support/only.ts';
import { addPasskey, startPasskeyApp } from '../../support/passkeys.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

const offerUrl = '/auth/passkeys?offer=yes&returnTo=%2Faccount';

let app: BackendApp;
const start = async (setup: BackendAppSetup = {}): Promise<Visitor> => {
  app = await startPasskeyApp(setup);
  return app.visitor();
};
afterEach(() => app.close());

const signIn = (visitor: Visitor, returnTo = '/account'): Promise<Answer> =>
  postForm(visitor, '/auth/login', { ...ada, returnTo });
const isOffer = ({ status, headers }: Answer): boolean => status === 303 && headers.location === offerUrl;

it('after a password, a user without a passkey is asked once per browser, and either answer leads on', async () => {
  const visitor = await start();
  const answer = await signIn(visitor);
  expect(isOffer(answer)).toBe(true);
  const page = await visitor.get(answer.location);
  expect(page.status).toBe(200);
  expect(page.text).toContain('Sign in faster next time?');
  expect(page.text).toMatch(
    /<a class="button" href="\/auth\/passkeys\?returnTo=%2Faccount"><svg.*<\/svg>Add a passkey<\/a>/,
  );
  expect(page.text).toContain('<a class="button quiet" href="/account">Not now</a>');
  expect(page.text).not.toMatch(/<script|<form/);
  expect((await visitor.get('/auth/passkeys?returnTo=/account')).text).toContain('<a href="/account">Done</a>');

  await postForm(visitor, '/auth/logout', {});
  const again = await signIn(visitor);
  expect([again.status, again.headers.location]).toEqual([303, '/account']);
});

it('the sign-in itself asks the project nothing more', async () => {
  const answer = await signIn(await start());
  expect([isOffer(answer), app.supabase.calls('passkeys'), app.supabase.calls('user')]).toEqual([true, 0, 0]);
});

it('a user who has a passkey is not asked', async () => {
  await start();
  await addPasskey(await app.signedIn());
  const visitor = app.visitor();
  const answer = await visitor.get((await signIn(visitor)).location);
  expect([answer.status, answer.headers.location]).toEqual([302, '/account']);
});

it.each<[string, (visitor: Visitor) => unknown]>([
  ['the project does not answer', () => app.supabase.fail('passkeys', 503)],
  ['the project has passkeys switched off', () => (app.supabase.switches.passkeys = false)],
  ['the session has ended', (visitor) => visitor.cookies.clear()],
])('the way goes on where %s', async (_name, change) => {
  const visitor = await start();
  const { location } = await signIn(visitor);
  change(visitor);
  const answer = await visitor.get(location);
  expect([answer.status, answer.headers.location]).toEqual([302, '/account']);
});

it.each([503, 429] as const)('an outage (%d) leaves the question for the next sign-in', async (status) => {
  const visitor = await start();
  const { location } = await signIn(visitor);
  app.supabase.fail('passkeys', status);
  expect((await visitor.get(location)).headers.location).toBe('/account');
  app.supabase.heal();
  await postForm(visitor, '/auth/logout', {});
  const again = await signIn(visitor);
  expect(isOffer(again)).toBe(true);
  expect((await visitor.get(again.location)).text).toContain('Sign in faster next time?');
});

it('a project without passkeys is asked once, too', async () => {
  const visitor = await start();
  app.supabase.switches.passkeys = false;
  const { location } = await signIn(visitor);
  await visitor.get(location);
  await postForm(visitor, '/auth/logout', {});
  expect((await signIn(visitor)).headers.location).toBe('/account');
});

it('comes with a front end on another origin, too, and leads on there', async () => {
  const visitor = await start({ options: { frontendOrigin: 'https://front.example' } });
  const { location } = await signIn(visitor);
  expect(location).toContain('/auth/passkeys?offer=yes&returnTo=%2Faccount');
});

it('a JSON client is never asked', async () => {
  const visitor = await start();
  const answer = await visitor.postJson('/auth/login', { ...ada, returnTo: '/account' });
  expect([answer.status, answer.json, answer.setCookies.some((line) => line.includes('-offer='))]).toEqual([
    200,
    { redirectTo: '/account' },
    false,
  ]);
  expect((await visitor.getJson('/auth/passkeys?offer=yes')).json).toEqual({ passkeys: [] });
});

itAtRoot('the way where onSignIn leads is not interrupted', async () => {
  const visitor = await start({ options: { onSignIn: () => ({ redirectTo: '/welcome' }) } });
  const answer = await signIn(visitor);
  expect([answer.status, answer.headers.location]).toEqual([303, '/welcome']);
});

it.each<[string, BackendAppSetup, string]>([
  ['a consent', { options: { oauthConsent: true } }, '/oauth/consent?authorization_id=a'],
  ['another page of ours', {}, '/auth/passkeys?returnTo=%2Faccount'],
  ['a page after the application’s own sign-in page', { options: { pages: { signIn: '/hello' } } }, '/account'],
  ['everything without passkeys', { options: { signInMethods: ['password'] } }, '/account'],
])('the way to %s is not interrupted', async (_name, setup, to) => {
  const visitor = await start(setup);
  const answer = await signIn(visitor, to);
  expect([answer.status, answer.headers.location]).toEqual([303, to]);
  expect(answer.setCookies.some((line) => line.includes('-offer='))).toBe(false);
});

it('a second factor comes first, and nothing is asked after it', async () => {
  const visitor = await start();
  const factor = app.supabase.addFactor(ada.email);
  const answer = await signIn(visitor);
  expect(answer.headers.location).toBe('/auth/verify?returnTo=%2Faccount');
  const done = await postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(factor), returnTo: '/account' });
  expect([done.status, done.headers.location]).toEqual([303, '/account']);
});
