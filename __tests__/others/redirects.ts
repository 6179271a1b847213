import { readFileSync } from 'node:fs';

const data = new URL('data/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, data), 'utf8');

interface UrlTest {
  readonly input: string;
  readonly href?: string;
}

/** The inputs of the URL standard's tests, and what they are read as. */
export const urlTests = unique(
  (JSON.parse(read('web-platform-tests/urltestdata.json')) as (UrlTest | string)[]).flatMap((test) =>
    typeof test === 'string' ? [] : [test.input, ...(test.href === undefined ? [] : [test.href])],
  ),
);

/** The lines of the lists, also with their escapes decoded. */
export const payloads = unique(
  ['Open-Redirect-payloads', 'open_redirect_wordlist', 'openredirects']
    .flatMap((name) => read(`payloads-all-the-things/${name}.txt`).split('\n'))
    .filter((line) => line !== ''),
);

export const redirects = unique([...urlTests, ...payloads]);

/** What an attacker puts before and into a value, so that one parser reads it as a path and another one as a host. */
const before = [
  '',
  '/',
  '//',
  '/\\',
  '\\',
  '/.',
  '/..//',
  '/%2f',
  '/%5c',
  '/\t/',
  '/\n',
  ' ',
  '/ /',
  '/;@',
  '/?',
  '/#',
  'https:',
  'http:/',
];
const written: readonly ((value: string) => string)[] = [
  (value) => value,
  encodeURIComponent,
  decoded,
  (value) => value.replaceAll('/', '\\'),
  (value) => value.replaceAll('/', '%2f'),
];

/** Every value in every spelling behind every beginning. */
export function everySpelling(): readonly string[] {
  const spelled = redirects.flatMap((value) => written.map((write) => write(value.toWellFormed())));
  return unique(unique(spelled).flatMap((value) => before.map((start) => start + value)));
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}
