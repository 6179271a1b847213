import { createAskOnce } from '../../../lib/session/refresh/ask-once.ts';
import { createOutageReport } from '../../../lib/session/outages.ts';
import { createClock } from '../../support/clock.ts';
import { createMemoryApp } from '../../support/memory-sessions.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { SharedMemory } from '../../support/shared-memory.ts';

const clock = createClock();

/** One process; `calls` counts how often the provider was asked. */
function createProcess(shared?: SharedMemory, timeoutMs = 1_000) {
  const outages = createOutageReport(shared, () => undefined);
  const askOnce = createAskOnce('backend', { now: clock.now, timeoutMs, shared, outages });
  let calls = 0;
  const ask = (text: string) => (): Promise<{ readonly kind: 'renewed'; readonly text: string }> => {
    calls += 1;
    return Promise.resolve({ kind: 'renewed', text });
  };
  return { askOnce, ask, calls: () => calls };
}

describe('a question that the provider answers once', () => {
  it('is asked once for all who ask it, for ten minutes', async () => {
    const { askOnce, ask, calls } = createProcess();
    const answers = await Promise.all([askOnce(['a'], ask('1')), askOnce(['a'], ask('2'))]);
    expect(
      [...answers, await askOnce(['a'], ask('3'))].map((answer) => answer.kind === 'renewed' && answer.text),
    ).toEqual(['1', '1', '1']);
    clock.advance(600_000);
    expect(await askOnce(['a'], ask('4'))).toMatchObject({ text: '1' });
    clock.advance(1);
    expect(await askOnce(['a'], ask('5'))).toMatchObject({ text: '5' });
    expect(calls()).toBe(2);
  });

  it('is another one with another secret', async () => {
    const { askOnce, ask } = createProcess();
    await askOnce(['a', 'b'], ask('1'));
    expect(await askOnce(['a', 'c'], ask('2'))).toMatchObject({ text: '2' });
    expect(await askOnce(['a,b'], ask('3'))).toMatchObject({ text: '3' });
    expect(await askOnce(['a', 'b'], ask('4'))).toMatchObject({ text: '1' });
  });

  it('keeps a refusal, and no failure', async () => {
    const { askOnce, ask } = createProcess();
    const refuse = () => Promise.resolve({ kind: 'ended', reason: 'gone' } as const);
    await expect(askOnce(['a'], () => Promise.reject(new Error('down')))).rejects.toMatchObject({
      code: 'provider_unavailable',
    });
    expect(await askOnce(['a'], refuse)).toEqual({ kind: 'ended', reason: 'gone' });
    expect(await askOnce(['a'], ask('late'))).toEqual({ kind: 'ended', reason: 'gone' });
  });

  it('is asked by one process, and another one gets the answer and the refusal', async () => {
    const shared = createShared(clock.now);
    const [one, two] = [createProcess(shared), createProcess(shared)];
    await one.askOnce(['a'], one.ask('1'));
    await one.askOnce(['b'], () => Promise.resolve({ kind: 'ended', reason: 'gone' }));
    expect(await two.askOnce(['a'], two.ask('2'))).toMatchObject({ text: '1' });
    expect(await two.askOnce(['b'], two.ask('2'))).toEqual({ kind: 'ended', reason: 'gone' });
    expect(two.calls()).toBe(0);
    clock.advance(600_001);
    expect(await two.askOnce(['a'], two.ask('3'))).toMatchObject({ text: '3' });
  });

  it('is asked by the sessions of an adapter, which share their coordinator', async () => {
    const shared = createShared(clock.now);
    const [one, two] = [createMemoryApp({ clock, shared }).resolver, createMemoryApp({ clock, shared }).resolver];
    const answer = (text: string) => () => Promise.resolve({ kind: 'renewed', text } as const);
    await one.askOnce(['a'], answer('1'));
    expect(await two.askOnce(['a'], answer('2'))).toMatchObject({ text: '1' });
  });

  it('is asked by each process while the coordinator is down', async () => {
    const shared = createShared(clock.now);
    const [one, two] = [createProcess(shared), createProcess(shared)];
    shared.isDown = true;
    await one.askOnce(['a'], one.ask('1'));
    await two.askOnce(['a'], two.ask('2'));
    expect([one.calls(), two.calls()]).toEqual([1, 1]);
  });

  it('whose answer is too large to keep is answered all the same', async () => {
    const { askOnce, ask } = createProcess();
    expect(await askOnce(['a'], ask('x'.repeat(100_000)))).toMatchObject({ kind: 'renewed' });
    expect(await askOnce(['a'], ask('2'))).toMatchObject({ text: '2' });
  });
});
