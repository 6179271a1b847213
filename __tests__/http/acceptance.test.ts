import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { createAcceptance } from '../../lib/http/acceptance.ts';
import type { BackendSession } from '../../lib/types.ts';

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
