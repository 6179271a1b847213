import { globSync, readFileSync } from 'node:fs';

/** Words that "How we write code" in docs/contributing/layout.md rules out, and what to write instead. */
const words = {
  nobody: { pattern: /\bnobody\b/gi, instead: 'no one, nothing, or the subject that acts' },
  somebody: { pattern: /\bsomebody\b/gi, instead: 'a user, another user, someone' },
  everybody: { pattern: /\b(?:every|any)body\b/gi, instead: 'everyone, all users, anyone who' },
  'belongs into': { pattern: /\bbelongs? into\b/gi, instead: 'belongs in, add it to' },
  whoever: { pattern: /\bwhoever\b/gi, instead: 'anyone who, users who' },
  visits: { pattern: /\bvisits\b/gi, instead: 'requests, sign-ins, runs' },
  mutants: { pattern: /\bmutants?\b/gi, instead: 'mutation' },
  'e-mail': { pattern: /\be-mails?\b/gi, instead: 'email, email messages' },
  shall: { pattern: /\bshall\b/gi, instead: 'will, must, should' },
  'British spelling': {
    // `cancelled` in quotes is an error code.
    pattern:
      /\b(?:behaviour|colour|favour|honour|licence|organis|recognis)\w*|(?<!['`])\bcancell(?:ed|ing)\b(?!['`:])/gi,
    instead: 'behavior, color, license, organize, canceled',
  },
} as const;

type Word = keyof typeof words;
type Area = 'lib' | 'docs' | 'examples' | 'tools' | 'tests';

/** How often each word may occur in an area; 0 where it is not listed. A limit may fall, and never rises. */
const limits: Readonly<Record<Area, Partial<Record<Word, number>>>> = {
  lib: {},
  // A German text of the example for translations.
  docs: { 'British spelling': 1 },
  examples: {},
  // The word of Stryker's reports.
  tools: { mutants: 2 },
  tests: {},
};

interface Text {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

const lines = (path: string): Text[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .map((text, index) => ({ path, line: index + 1, text }));

const pathsOf = (...patterns: string[]): string[] =>
  globSync(patterns, { exclude: (path) => path.includes('node_modules') || path.startsWith('docs/api') }).sort();

/** This file. */
const otherWords = ['__tests__/docs/words.test.ts'];

const areas: Readonly<Record<Area, readonly Text[]>> = {
  // Translations are not English.
  lib: pathsOf('lib/**/*.ts')
    .filter((path) => !path.startsWith('lib/texts/'))
    .flatMap(lines),
  docs: pathsOf(
    '*.md',
    'llms.txt',
    'docs/**/*.md',
    'skills/**/*.md',
    'tools/agent-files/*.md',
    'bench/*.md',
    '.github/**/*.{md,yml}',
  ).flatMap(lines),
  examples: pathsOf('{example-app,show}/**/*.{ts,js,mjs,md}', 'stand-ins/**/*.{ts,js,md}').flatMap(lines),
  tools: pathsOf('tools/*.{js,ts}', 'bench/*.ts', 'bench/variants/*.js', '.ci/*').flatMap(lines),
  tests: pathsOf('__tests__/**/*.{ts,js}')
    .filter((path) => !otherWords.includes(path))
    .flatMap(lines),
};

function occurrences(texts: readonly Text[], word: Word): string[] {
  return texts.flatMap(({ path, line, text }) =>
    [...text.matchAll(words[word].pattern)].map(() => `${path}:${line} ${text.trim()} (write: ${words[word].instead})`),
  );
}

it('finds the texts that it reads', () => {
  for (const texts of Object.values(areas)) expect(texts.length).toBeGreaterThan(100);
});

const cases = (Object.keys(areas) as Area[]).flatMap((area) =>
  (Object.keys(words) as Word[]).map((word) => [word, area] as const),
);

it.each(cases)('%s of %s stay within the limit', (word, area) => {
  const found = occurrences(areas[area], word);
  const limit = limits[area][word] ?? 0;
  expect(found.length > limit ? found : []).toEqual([]);
});
