import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { createAcceptance } from '../../lib/http/acceptance.ts';
import type { BackendSession } from '../../lib/types.ts';

const now = (): number => 1_800_000_000_000;
const settings = { timeoutMs: 1_000, maxCachedSessions: 0, emit: () => undefined, now };
const req = new IncomingMessage(new Socket());
const sessionOf = (accessToken: string) =>
  ({ adapter: 'backend', credential: 'cookie', accessToken, expiresAt: now() + 60_000 }) as BackendSession;

it('keeps the answers about a thousand short tokens, and as many bytes of longer ones', async () => {
  const isKept = async (length: number): Promise<boolean> => {
    const acceptance = createAcceptance('backend', () => true, settings)!;
    for (let index = 0; index < 1_000; index += 1) {
      await acceptance.ask(sessionOf(String(index).padStart(length, 'x')), req, performance.now());
    }
    return acceptance.isAccepted(sessionOf('0'.padStart(length, 'x')));
  };
  expect([await isKept(1_500), await isKept(12_000)]).toEqual([true, false]);
});
