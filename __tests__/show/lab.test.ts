import { startTour } from '../../show/start.ts';
import type { RunningTour } from '../../show/start.ts';
import { createApp } from '../../show/app.ts';
import { createLab } from '../../show/lab.ts';
import { createEventLog } from '../../show/event-log.ts';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import { visitor as hostedPage } from '../../stand-ins/workos/visitor.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

let example: RunningTour;
let visitor: Visitor;
beforeEach(async () => {
  const settings = { port: 0, isRealWorkos: false, isRealSupabase: false, confirmsEmail: false };
  example = await startTour({ settings, clientModules: '.' });
  visitor = createVisitor(example.origin);
  const start = await visitor.get('/login');
  await visitor.get((await hostedPage.authorize(start.location, { user: demoUsers.personal })).href);
});
afterEach(() => example.close());

/** Presses a button of the start page, and returns the page that follows. */
async function press(name: string): Promise<string> {
  const answer = await visitor.post(`/lab/${name}`, { headers: { 'sec-fetch-site': 'same-origin' } });
  expect([answer.status, answer.location]).toEqual([303, `${example.origin}/#lab`]);
  return (await visitor.get('/')).text;
}

const signedIn = 'Signed in as <strong>Ada Lovelace</strong>';

it('an expired token is renewed, and the page shows it', async () => {
  const before = example.providers.workos!.tokenCalls;
  const page = await press('expire');
  expect(page).toContain('Your access token has expired');
  expect(page).toContain('<strong>session_refreshed</strong>');
  expect(page).toContain(signedIn);
  expect(example.providers.workos!.tokenCalls).toBe(before + 1);
});

it('an outage keeps the session, even with an expired token', async () => {
  expect(await press('outage')).toContain(signedIn);
  expect((await visitor.get('/dashboard')).status).toBe(200);
  const page = await press('expire');
  expect(page).toContain('The provider is out of reach. Your session is kept.');
  expect(page).toContain('it cannot be renewed now');
  expect(page).not.toContain('Sign in with WorkOS');
  expect((await visitor.get('/dashboard')).status).toBe(503);
  example.providers.workos!.heal();
  example.providers.clock.advance(60_000);
  expect((await visitor.get('/dashboard')).status).toBe(200);
});

it('an outage shows no HTML of a gateway where the notes would be', async () => {
  await visitor.postJson('/auth/login', example.providers.supabase!.demo);
  expect((await visitor.get('/account')).text).toContain('This row came from the database');
  await press('outage');
  const page = (await visitor.get('/account')).text;
  expect(page).toContain('The notes could not be read, and the terminal says why.');
  expect(page).not.toContain('502 Bad Gateway');
});

it('a new key is fetched', async () => {
  const before = example.providers.workos!.kid;
  const page = await press('rotate');
  expect(page).toContain(signedIn);
  expect(page).toContain(before.slice(-6));
  expect(page).toContain(example.providers.workos!.kid.slice(-6));
});

it('fifty requests at once cost one refresh, and the browser gets the new session', async () => {
  const before = [example.providers.workos!.tokenCalls, visitor.cookies.get('b2b-session')];
  const page = await press('fifty');
  expect(page).toMatch(/<dt>answered with 200<\/dt><dd>50<\/dd>/);
  expect(page).toMatch(/<dt>refresh at the provider<\/dt><dd>1<\/dd>/);
  expect(page).toContain(signedIn);
  expect(example.providers.workos!.tokenCalls).toBe(Number(before[0]) + 1);
  expect(visitor.cookies.get('b2b-session')).not.toBe(before[1]);
});

it('fifty requests without a session are not sent', async () => {
  visitor = createVisitor(example.origin);
  expect(await press('fifty')).toContain('Sign in first');
});

it('a sign-in shows what just happened, without ids of users', async () => {
  const page = (await visitor.get('/dashboard')).text;
  const strip = page.slice(page.indexOf('What just happened'));
  expect(strip).toContain('<strong>signed_in</strong>');
  expect(strip).toContain('sets the cookie <code>b2b-session</code>');
  expect(strip).not.toContain(demoUsers.personal.id);
});

it('another site cannot press the buttons, and unknown names are refused', async () => {
  const answer = await visitor.post('/lab/outage', { headers: { 'sec-fetch-site': 'cross-site' } });
  expect(answer.status).toBe(403);
  expect((await visitor.post('/lab/constructor', { headers: { 'sec-fetch-site': 'same-origin' } })).status).toBe(404);
  expect((await visitor.get('/lab/outage')).status).toBe(404);
});

it.each(['workos', 'supabase'] as const)(
  'there is nothing to break with a real provider instead of %s',
  async (name) => {
    const providers = { ...example.providers, [name]: undefined };
    expect(createLab(providers, createEventLog())).toBeUndefined();
    const { app } = createApp({ providers, clientModules: '.' });
    const server = app.listen(0, '127.0.0.1');
    try {
      await new Promise((resolve) => server.once('listening', resolve));
      const { port } = server.address() as { port: number };
      const other = createVisitor(`http://127.0.0.1:${port}`);
      expect((await other.post('/lab/outage')).status).toBe(404);
      expect((await other.get('/')).text).not.toContain('/lab/');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  },
);
