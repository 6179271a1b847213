import { parse, pathToRegexp } from 'path-to-regexp';
import type { Token } from 'path-to-regexp';
import { composeLetters, decodeLeniently, foldCase } from './request-path.ts';

/** `(.*)`, the wildcard of older path-to-regexp versions, removed in current ones. */
const REMAINDER = '(.*)';

interface PathPattern {
  /** The text before the first parameter, decoded and folded by `foldCase`; the whole text without parameters. */
  readonly start: string;
  readonly hasRemainder: boolean;
  readonly parameterised: Parameterised | undefined;
}

/** Both test a whole path, folded by `foldCase`. */
export interface Parameterised {
  /** A parameter is one segment. */
  readonly exact: RegExp;
  /** A parameter is any text, for paths whose segments can be read in several ways. */
  readonly loose: RegExp;
}

/**
 * Returns the problem of a path pattern and the fix.
 *
 * A pattern is a root-relative path. `:name` stands for one segment, or a part of one; `(.*)` at the end for any
 * remainder: `/dashboard(.*)` is everything that starts so, `/dashboards` too; `/dashboard/(.*)` is `/dashboard` and
 * everything below it. Letter case and a trailing slash make no difference, as in Express.
 *
 * @returns one sentence, or `undefined` for a valid pattern
 */
export function patternProblem(pattern: unknown): string | undefined {
  if (typeof pattern !== 'string') return 'A path pattern must be a string such as "/dashboard(.*)".';
  const shown = JSON.stringify(pattern);
  const says = (problem: string) => `The path pattern ${shown} ${problem}`;
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(pattern)) return says('is a URL: write its path alone, such as "/dashboard".');
  if (!pattern.startsWith('/')) return says(`must start with "/": write ${JSON.stringify(`/${pattern.trim()}`)}.`);
  const path = withoutRemainder(pattern);
  return problemOfCharacters(path, says) ?? problemOfSegments(path, says) ?? problemOfSyntax(pattern, says);
}

/** @param pattern a valid pattern, by `patternProblem` */
export function parsePattern(pattern: string): PathPattern {
  const tokens = tokensOf(pattern);
  const [first] = tokens;
  const hasRemainder = pattern.endsWith(REMAINDER);
  return {
    start: first?.type === 'text' ? first.value : '',
    hasRemainder,
    parameterised: tokens.length > 1 ? compileBoth(tokens, hasRemainder) : undefined,
  };
}

function compileBoth(tokens: readonly Token[], hasRemainder: boolean): Parameterised {
  const remainder = hasRemainder ? [remainderAfter(tokens)] : [];
  const bare = trimEnd(tokens);
  return { exact: compile([...bare, ...remainder]), loose: compile([...bare.map(widen), ...remainder]) };
}

function tokensOf(pattern: string): Token[] {
  return parse(withoutRemainder(pattern)).tokens.map((token) =>
    token.type === 'text' ? { ...token, value: foldText(token.value) } : token,
  );
}

function foldText(text: string): string {
  return foldCase(composeLetters(decodeLeniently(text)));
}

/** `(.*)` as path-to-regexp tokens. After a parameter or a slash, only a slash can start the remainder. */
function remainderAfter(tokens: readonly Token[]): Token {
  const last = tokens.at(-1);
  const isPartOfSegment = last?.type === 'text' && !last.value.endsWith('/');
  const rest: Token = { type: 'wildcard', name: 'remainder' };
  return { type: 'group', tokens: isPartOfSegment ? [rest] : [{ type: 'text', value: '/' }, rest] };
}

function trimEnd(tokens: readonly Token[]): Token[] {
  const last = tokens.at(-1);
  if (last?.type !== 'text' || !last.value.endsWith('/')) return [...tokens];
  return [...tokens.slice(0, -1), { type: 'text', value: last.value.slice(0, -1) }];
}

function widen(token: Token): Token {
  return token.type === 'param' ? { type: 'wildcard', name: token.name } : token;
}

function compile(tokens: Token[]): RegExp {
  return pathToRegexp({ tokens }).regexp;
}

/** The pattern before its `(.*)`, if it has one. */
export function withoutRemainder(pattern: string): string {
  return pattern.endsWith(REMAINDER) ? pattern.slice(0, -REMAINDER.length) : pattern;
}

type Says = (problem: string) => string;

function problemOfCharacters(path: string, says: Says): string | undefined {
  if (path.includes(REMAINDER)) return says('has "(.*)" before its end: write ":name" for one segment there.');
  if (/[?#]/.test(path))
    return says('has a "?" or "#": write the path alone; for an optional part, write two patterns.');
  if (path.includes('*')) return says('has a "*": write "(.*)" at the end for any remainder, ":name" for one segment.');
  if (/[{}]/.test(path)) return says('has an optional group: write two patterns, one with the part and one without.');
  if (/[()[\]+!"]/.test(path))
    return says('has a reserved character: write ":name" for a part that varies, or percent-encode it.');
  if (/\\|%5c|%2f/i.test(path)) return says('has a backslash or an encoded slash: write "/" between segments.');
  if (/[\0-\x1f\x7f]|%[01][\da-f]|%7f/i.test(path)) return says('has a control character: remove it.');
  return undefined;
}

function problemOfSegments(path: string, says: Says): string | undefined {
  const segments = decodeLeniently(path).split('/');
  if (segments.some((segment) => segment === '.' || segment === '..')) {
    return says('has a "." or ".." segment: write the path that it leads to.');
  }
  if (path.includes('//')) return says('has an empty segment: write single slashes.');
  if (path !== path.trim()) return says('has a blank at its end: remove it.');
  return undefined;
}

function problemOfSyntax(pattern: string, says: Says): string | undefined {
  try {
    parsePattern(pattern);
    return undefined;
  } catch {
    return says('has a ":" without a name, or two parameters without text between them: write "/:first/:second".');
  }
}
