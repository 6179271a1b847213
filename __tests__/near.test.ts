import { changedFunctions, changedLines, nearestSuites, type SuiteMap } from '../tools/near.ts';

const path = 'lib/http/reply.ts';
const text = [
  'const status = 200;',
  'export function json(body) {',
  '  const later = () => {',
  '    return body;',
  '  };',
  '  return later();',
  '}',
  'export const page = { send() { return 1; } };',
].join('\n');
const known = new Set([`${path} > json`, `${path} > json > later`, `${path} > send`]);

describe('the changed functions', () => {
  const at = (...lines: number[]): string[] => changedFunctions({ path, text, lines }, known);

  it('are the innermost ones around the lines', () => {
    expect(at(4)).toEqual([`${path} > json > later`]);
    expect(at(6, 8)).toEqual([`${path} > json`, `${path} > send`]);
  });

  it('are all of the file for a line outside of them, and where no line is named', () => {
    expect(at(1)).toEqual([...known]);
    expect(at()).toEqual([...known]);
  });

  it('are those around a new one, which no suite can have entered', () => {
    expect(changedFunctions({ path, text, lines: [4] }, new Set([`${path} > json`]))).toEqual([`${path} > json`]);
  });
});

describe('the nearest suites', () => {
  const suite = (count: number, ...functions: string[]) => ({
    ms: 100,
    functions: [...functions, ...Array.from({ length: count }, (_, index) => `lib/other.ts > f${index}`)],
  });
  const map: SuiteMap = {
    '__tests__/b2b/callback.test.ts': suite(300, `${path} > json`),
    '__tests__/http/body.test.ts': suite(20, `${path} > json`),
    '__tests__/http/reply.test.ts': suite(60, `${path} > json`),
    '__tests__/tools/url.test.ts': suite(2),
    '__tests__/b2b/events.test.ts': suite(40, `${path} > json`),
    '__tests__/b2b/slow.test.ts': { ...suite(0, `${path} > json`), ms: 9_000 },
  };

  it('are those of the file, of its folder, and then those that enter the fewest others', () => {
    expect(nearestSuites([`${path} > json`], map)).toEqual([
      '__tests__/http/reply.test.ts',
      '__tests__/http/body.test.ts',
      '__tests__/b2b/events.test.ts',
      '__tests__/b2b/callback.test.ts',
    ]);
  });

  it('enter most of the changed functions', () => {
    const both = { ...map, '__tests__/b2b/both.test.ts': suite(400, `${path} > json`, `${path} > send`) };
    expect(nearestSuites([`${path} > json`, `${path} > send`], both)[0]).toBe('__tests__/b2b/both.test.ts');
  });

  it('are eight at most, and slow ones only where there are no others', () => {
    const many = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`__tests__/b2b/${index}.test.ts`, suite(index, `${path} > json`)]),
    );
    expect(nearestSuites([`${path} > json`], { ...map, ...many })).toHaveLength(8);
    const slow = { '__tests__/b2b/slow.test.ts': map['__tests__/b2b/slow.test.ts']! };
    expect(nearestSuites([`${path} > json`], slow)).toEqual(['__tests__/b2b/slow.test.ts']);
  });
});

it('the changed lines are those of the new side, or the one before removed ones', () => {
  const diff = ['@@ -10,2 +12,3 @@ function one() {', '+a', '@@ -20 +23 @@', '@@ -30,4 +32,0 @@'].join('\n');
  expect(changedLines(diff)).toEqual([12, 13, 14, 23, 32]);
});
