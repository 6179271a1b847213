import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import type { Visitor } from '../support/visitor.ts';

const closing = closeAfterEach();
const script = { accept: '*/*', 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin' };
const tab = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };

async function start() {
  const app = await closing(startB2bApp());
  const authorized = async (location: string): Promise<string> => {
    app.clock.advance(1);
    return (await app.workos.authorize(location, { user: demoUsers.personal })).href;
  };
  const open = async (visitor: Visitor, returnTo: string): Promise<string> =>
    authorized((await visitor.get(`/login?returnTo=${returnTo}`, { headers: tab })).location);
  const poll = async (visitor: Visitor, returnTo: string): Promise<string> =>
    authorized((await visitor.get(`/login?returnTo=${returnTo}`, { headers: script })).json.redirectTo);
  return { app, authorized, open, poll, visitor: app.visitor() };
}

describe('a sign-in in progress', () => {
  it('is not pushed out by flows that scripts start, of which two are kept', async () => {
    const { open, poll, visitor } = await start();
    const first = await open(visitor, '/dashboard?tab=1');
    const polls: string[] = [];
    for (let count = 0; count < 6; count += 1) polls.push(await poll(visitor, '/dashboard?poll'));
    expect([...visitor.cookies.keys()].filter((name) => name.includes('-flow-'))).toHaveLength(3);
    expect((await visitor.get(polls.at(-1)!)).headers.location).toBe('/dashboard?poll');
    visitor.cookies.delete('b2b-session');
    expect((await visitor.get(first)).headers.location).toBe('/dashboard?tab=1');
  });

  it('leaves no room for a script’s where five navigations wait, and five navigations leave none to a script’s', async () => {
    const { open, poll, visitor } = await start();
    await poll(visitor, '/dashboard');
    for (let count = 0; count < 5; count += 1) await open(visitor, '/dashboard');
    const before = new Map(visitor.cookies);
    // A URL without its flow could not lead to a session.
    const refused = await visitor.get('/login?returnTo=/dashboard', { headers: script });
    expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limited']);
    expect(visitor.cookies).toEqual(before);
    expect([...before.keys()].filter((name) => name.includes('-flow-'))).toHaveLength(5);
  });

  it('starts over once where newer tabs have pushed it out, and ends signed in where all tabs were', async () => {
    const { app, authorized, open, visitor } = await start();
    const tabs: string[] = [];
    for (let count = 0; count < 8; count += 1) tabs.push(await open(visitor, '/dashboard'));
    app.workos.clearRequests();
    const again = await visitor.get(tabs[0]!);
    expect([again.status, app.workos.tokenCalls]).toEqual([303, 0]);
    const done = await visitor.get(await authorized(again.location));
    expect([done.status, done.headers.location]).toEqual([303, '/dashboard']);
    expect((await visitor.get('/auth/session')).status).toBe(200);
  });

  it('that was pushed out starts over once only, and never without another flow of this browser', async () => {
    const { app, open, visitor } = await start();
    const tabs: string[] = [];
    for (let count = 0; count < 7; count += 1) tabs.push(await open(visitor, '/dashboard'));
    expect((await visitor.get(tabs[0]!)).status).toBe(303);
    const second = await visitor.get(tabs[1]!);
    expect([second.status, second.text.includes('Your sign-in expired')]).toEqual([400, true]);
    expect((await app.visitor().get(tabs[0]!)).status).toBe(400);
  });
});
