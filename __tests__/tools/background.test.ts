import { createBackground, noBackground } from '../../lib/tools/background.ts';

const platforms = ['AWS_LAMBDA_FUNCTION_NAME', 'VERCEL', 'K_SERVICE', 'NETLIFY'];

it.each(platforms)('knows a platform that may stop the process after a response: %s', (name) => {
  expect(createBackground({ timeoutMs: 1_000 }, { [name]: '1' })).toMatchObject({ mayFreeze: true, mustWait: true });
  expect(createBackground({ timeoutMs: 1_000 }, { [name]: '' })).toMatchObject({ mayFreeze: false, mustWait: false });
  const withWaitUntil = createBackground({ timeoutMs: 1_000, waitUntil: () => undefined }, { [name]: '1' });
  expect(withWaitUntil).toMatchObject({ mayFreeze: true, mustWait: false });
});

it('elsewhere nothing waits', () => {
  for (const background of [noBackground, createBackground({ timeoutMs: 1_000 }, {})]) {
    background.run(new Promise(() => undefined));
    background.outlive(new Promise(() => undefined));
    expect([background.mayFreeze, background.settled()]).toEqual([false, undefined]);
  }
});

it('waits for what is under way, and for what that starts', async () => {
  const background = createBackground({ timeoutMs: 60_000 }, { VERCEL: '1' });
  const [first, second] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const ended: string[] = [];
  background.run(
    first.promise.then(() => {
      ended.push('first');
      background.run(second.promise.then(() => ended.push('second')));
    }),
  );
  background.run(Promise.reject(new Error('of its own caller')));
  background.outlive(new Promise(() => undefined));
  const settled = background.settled()?.then(() => ended.push('settled'));
  first.resolve(undefined);
  second.resolve(undefined);
  await settled;
  expect(ended).toEqual(['first', 'second', 'settled']);
  expect(background.settled()).toBeUndefined();
});

it('waits no longer than a request may take', async () => {
  const background = createBackground({ timeoutMs: 1 }, { VERCEL: '1' });
  background.run(new Promise(() => undefined));
  await expect(background.settled()).resolves.toBeUndefined();
});

it('hands over everything that may outlive a response, and nothing that rejects', async () => {
  const handed: Promise<unknown>[] = [];
  const background = createBackground({ timeoutMs: 1, waitUntil: (work) => handed.push(work) }, {});
  background.run(Promise.reject(new Error('one')));
  background.outlive(Promise.reject(new Error('two')));
  expect([handed.length, background.settled()]).toEqual([2, undefined]);
  await expect(Promise.all(handed)).resolves.toEqual([undefined, undefined]);
});

it('ends no process where the platform’s function is asynchronous and fails', async () => {
  const refuse = (): Promise<never> => Promise.reject(new Error('outside of a request'));
  const background = createBackground({ timeoutMs: 1, waitUntil: refuse }, {});
  background.run(Promise.resolve());
  background.outlive(Promise.resolve());
  await new Promise((resolve) => setImmediate(resolve));
  expect(background.settled()).toBeUndefined();
});

it('waits itself where the platform takes nothing, as outside of a request', async () => {
  const refuse = (): never => {
    throw new Error('outside of a request');
  };
  const background = createBackground({ timeoutMs: 60_000, waitUntil: refuse }, {});
  const work = Promise.withResolvers<undefined>();
  background.run(work.promise);
  background.outlive(work.promise);
  const settled = background.settled();
  expect(settled).toBeDefined();
  work.resolve(undefined);
  await settled;
});
