import { jest } from '@jest/globals';
import fc from 'fast-check';
import { checkInputs } from './inputs.ts';

const variable = 'INPUTS_TEST_RUNS';
let seen = 0;
const counted = fc.property(fc.nat(), () => {
  seen += 1;
});
beforeEach(() => (seen = 0));
afterEach(() => {
  Reflect.deleteProperty(process.env, variable);
  jest.useRealTimers();
});

it('gives a property at least so many inputs, also where no time is left', async () => {
  await checkInputs(counted, { least: 50, budgetMs: 0, variable });
  expect(seen).toBe(50);
});

it('gives it ten times as many at most', async () => {
  await checkInputs(counted, { least: 50, budgetMs: 60_000, variable });
  expect(seen).toBe(500);
});

it('gives it the number that the environment names', async () => {
  process.env[variable] = '7';
  await checkInputs(counted, { least: 50, variable });
  expect(seen).toBe(7);
});

it('ends where a test has fake timers', async () => {
  jest.useFakeTimers();
  await checkInputs(counted, { least: 1, budgetMs: 1, variable });
  expect(seen).toBeGreaterThan(0);
});

it.each([1, 60])('fails with the property, at input %i', async (failing) => {
  const property = fc.asyncProperty(fc.nat(), async () => {
    seen += 1;
    if (seen >= failing) throw new Error('broken');
  });
  await expect(checkInputs(property, { least: 50, budgetMs: 60_000, variable })).rejects.toThrow('Property failed');
});
