import { readFileSync } from 'node:fs';

const page = readFileSync('docs/contributing/promises.md', 'utf8');
const promises =
  page
    .split(/^## /m)
    .find((section) => section.startsWith('What is promised\n'))
    ?.match(/^- .*$/gm) ?? [];
const files = new Map(
  [...page.matchAll(/^(\[[^\]]+\]): .*\/blob\/main\/(\S+)$/gm)].map(([, name, file]) => [name, file]),
);

it('names an existing test at the end of each promise', () => {
  expect(promises.length).toBeGreaterThan(25);
  const names = (promise: string): string[] => /((?:\[[^\]]+\](?:, )?)+)$/.exec(promise)?.[1]?.split(', ') ?? [];
  expect(promises.filter((promise) => names(promise).length === 0)).toEqual([]);
  const unknown = promises.flatMap(names).filter((name) => {
    const file = files.get(name);
    return file === undefined || readFileSync(file, 'utf8') === '';
  });
  expect(unknown).toEqual([]);
});

it('can be skimmed: a promise has at most three sentences of 20 words', () => {
  const sentences = promises.map((promise) =>
    promise
      .replace(/(?:,? ?\[[^\]]+\])+$/, '')
      .slice(2)
      .split(/(?<=[.]) (?=[A-Z`])/),
  );
  expect(sentences.filter((each) => each.length > 3)).toEqual([]);
  expect(sentences.flat().filter((sentence) => sentence.split(' ').length > 20)).toEqual([]);
});
