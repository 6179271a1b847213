import { startBackendApp } from '../../support/backend-app.ts';
import type { BackendAppSetup } from '../../support/backend-app.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import type { Visitor } from '../../support/visitor.ts';

const closing = closeAfterEach();
const script = { accept: '*/*', 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin' };
const tab = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };

async function start(setup?: BackendAppSetup) {
  const app = await closing(startBackendApp(setup));
  const authorized = async (location: string): Promise<string> =>
    (await app.supabase.authorize(location, { approve: true })).href;
  const pathOf = (returnTo: string): string => `/auth/login?provider=github&returnTo=${returnTo}`;
  const open = async (visitor: Visitor, returnTo: string): Promise<string> =>
    authorized((await visitor.get(pathOf(returnTo), { headers: tab })).location);
  const poll = async (visitor: Visitor, returnTo: string): Promise<string> =>
    authorized((await visitor.get(pathOf(returnTo), { headers: script })).json.redirectTo);
  return { app, authorized, open, poll, visitor: app.visitor() };
}

const flowsOf = ({ cookies }: Visitor): number =>
  [...cookies.keys()].filter((name) => /-flow-.*-code-verifier$/.test(name)).length;

describe('an OAuth sign-in in progress', () => {
  it('is not pushed out by flows that scripts start, of which two are kept', async () => {
    const { app, open, poll, visitor } = await start();
    const first = await open(visitor, '/account?tab=1');
    const polls: string[] = [];
    for (let count = 0; count < 6; count += 1) polls.push(await poll(visitor, '/account?poll'));
    expect(flowsOf(visitor)).toBe(3);
    expect((await visitor.get(polls.at(-1)!)).headers.location).toBe('/account?poll');
    visitor.cookies.delete(app.cookieName);
    expect((await visitor.get(first)).headers.location).toBe('/account?tab=1');
  });

  it('leaves no room for a script’s where five navigations wait', async () => {
    const { open, poll, visitor } = await start();
    await poll(visitor, '/account');
    const tabs: string[] = [];
    for (let count = 0; count < 5; count += 1) tabs.push(await open(visitor, '/account'));
    const before = new Map(visitor.cookies);
    // A URL without its flow could not lead to a session.
    const refused = await visitor.get('/auth/login?provider=github&returnTo=/account', { headers: script });
    expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limited']);
    expect(visitor.cookies).toEqual(before);
    expect((await visitor.get(tabs[0]!)).headers.location).toBe('/account');
  });

  it('starts over once where newer tabs have pushed it out, and ends signed in where all tabs were', async () => {
    const { authorized, open, visitor } = await start();
    const tabs: string[] = [];
    for (let count = 0; count < 8; count += 1) tabs.push(await open(visitor, '/account'));
    const again = await visitor.get(tabs[0]!);
    expect([again.status, again.headers.location]).toEqual([303, '/auth/login?provider=github&returnTo=%2Faccount']);
    const begin = await visitor.get(again.location);
    const done = await visitor.get(await authorized(begin.location));
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect((await visitor.get('/auth/session')).status).toBe(200);
  });

  it('that was pushed out starts over once only, and then says so in words of its own', async () => {
    const { open, visitor } = await start();
    const tabs: string[] = [];
    for (let count = 0; count < 7; count += 1) tabs.push(await open(visitor, '/account'));
    expect((await visitor.get(tabs[0]!)).status).toBe(303);
    const second = await visitor.get(tabs[1]!);
    expect([second.status, second.text.includes('Your sign-in expired')]).toEqual([400, true]);
    expect(second.text).not.toContain('This link');
  });
});
