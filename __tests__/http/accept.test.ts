import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { inspect } from 'node:util';
import { createAcceptance, NotAccepted } from '../../lib/http/accept.ts';
import type { Emit } from '../../lib/session/events.ts';
import type { BackendSession, Session } from '../../lib/types.ts';

const now = (): number => 1_800_000_000_000;
const settings = { timeoutMs: 1_000, maxCachedSessions: 0, emit: () => undefined, now };
const req = new IncomingMessage(new Socket());
const sessionOf = (accessToken: string) =>
  ({ adapter: 'backend', credential: 'cookie', accessToken, expiresAt: now() + 60_000 }) as BackendSession;

it('keeps the answers about a thousand tokens, whatever their length', async () => {
  const isKept = async (count: number, length: number): Promise<boolean> => {
    let calls = 0;
    const acceptance = createAcceptance('backend', () => ++calls > 0, settings)!;
    const ask = (index: number) => acceptance.ask(sessionOf(String(index).padStart(length, 'x')), req);
    for (let index = 0; index < count; index += 1) await ask(index);
    await ask(0);
    return calls === count;
  };
  expect([await isKept(1_000, 1_500), await isKept(1_000, 12_000), await isKept(1_001, 1_500)]).toEqual([
    true,
    true,
    false,
  ]);
});

it('asks about a bearer token apart from the same token of a cookie, whose session may show more', async () => {
  const asked: string[] = [];
  const acceptance = createAcceptance('backend', ({ credential }) => asked.push(credential) > 0, settings)!;
  for (const credential of ['cookie', 'bearer', 'cookie', 'bearer'] as const) {
    await acceptance.ask({ ...sessionOf('token'), credential }, req);
  }
  expect(asked).toEqual(['cookie', 'bearer']);
});

it('asks again once a call has taken the whole time of a request', async () => {
  let time = now();
  let calls = 0;
  const accept = (): Promise<boolean> => ((calls += 1) === 1 ? new Promise(() => undefined) : Promise.resolve(true));
  const acceptance = createAcceptance('backend', accept, { ...settings, now: () => time })!;
  const ask = () => acceptance.ask(sessionOf('token'), req);
  void ask();
  time += settings.timeoutMs;
  void ask();
  expect(calls).toBe(1);
  time += 1;
  expect([await ask(), calls]).toEqual([true, 2]);
});

it.each([
  ['of a token that is valid', 60_000],
  ['of a token that has expired, which is served during an outage', -1],
])('keeps the answer %s for a minute after its end', async (_what, left) => {
  let time = now();
  let calls = 0;
  const acceptance = createAcceptance('backend', () => (calls += 1) > 0, { ...settings, now: () => time })!;
  const session = { ...sessionOf('token'), expiresAt: now() + left };
  const ask = () => acceptance.ask(session, req);
  await ask();
  time += Math.max(0, left) + 60_000;
  await ask();
  expect(calls).toBe(1);
  time += 1;
  await ask();
  expect(calls).toBe(2);
});

it('refuses the session of another adapter, and does not show it to the application', async () => {
  let calls = 0;
  const acceptance = createAcceptance('b2b', () => (calls += 1) > 0, settings)!;
  expect([await acceptance.ask(sessionOf('token'), req), calls]).toEqual([false, 0]);
});

it('knows the session objects that were let in, and no others', async () => {
  const [good, same, bad] = [sessionOf('good'), sessionOf('good'), sessionOf('bad')];
  const acceptance = createAcceptance('backend', ({ accessToken }) => accessToken === 'good', settings)!;
  expect(acceptance.isAccepted(good)).toBe(false);
  expect([await acceptance.ask(good, req), await acceptance.ask(bad, req)]).toEqual([true, false]);
  expect([good, same, bad].map((session) => acceptance.isAccepted(session))).toEqual([true, false, false]);
  expect(await acceptance.admits(same, req)).toBe(true);
  expect(acceptance.isAccepted(same)).toBe(true);
});

it('reports the refusal of a session that exists, once per token, and no admission', async () => {
  const events: unknown[] = [];
  const emit: Emit = (event) => void events.push(event);
  const accept = ({ accessToken }: Session) => accessToken === 'good';
  const acceptance = createAcceptance('backend', accept, { ...settings, emit })!;
  const rejected = { type: 'session_rejected', reason: 'not_accepted' };
  // A sign-in has its own event.
  expect([await acceptance.ask(sessionOf('bad'), req), events]).toEqual([false, []]);
  for (const token of ['good', 'bad', 'bad', 'good']) {
    expect(await acceptance.admits(sessionOf(token), req)).toBe(token === 'good');
  }
  expect(events).toEqual([rejected]);
  await acceptance.admits(sessionOf('worse'), req);
  expect(events).toEqual([rejected, rejected]);
});

it('is left out where the application accepts every session', () => {
  expect(createAcceptance('backend', undefined, settings)).toBeUndefined();
});

it.each([
  [{ id: '1', email: 'ada@example.com', phone: '+441234' }, 'ada@example.com'],
  [{ id: '1', phone: '+441234' }, '+441234'],
  [{ id: '1' }, undefined],
])('the refusal of %j names the account to the error page, and to no log', (user, account) => {
  const refusal = new NotAccepted({ ...sessionOf('token'), user } as Session);
  expect([refusal.account, refusal.code, refusal.status]).toEqual([account, 'not_accepted', 403]);
  if (account === undefined) return;
  for (const text of [inspect(refusal), JSON.stringify(refusal), String(refusal)]) expect(text).not.toContain(account);
});
