/** A word, a mark or a literal of JavaScript or TypeScript, with its place in the source. */
export interface Token {
  /** Never holds a blank: of strings, only the names of packages are kept. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const blank = /(?:\s+|\/\/.*|\/\*[^]*?\*\/|(?<![^])#!.*)*/y;
const string = /'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"/y;
const word = /[\p{L}\p{N}_$#]+/uy;
const regularExpression = /\/(?![*/])(?:[^\\/[\n]|\\.|\[(?:[^\\\]\n]|\\.)*\])+\/\w*/y;
const templateText = /(?:[^\\`$]|\\[^]|\$(?!\{))*(?:`|\$\{)/y;
const packageName = /^.(express(?:-auth-adapters(?:\/\w+)?)?).$/;

/** After these words a slash begins a regular expression; after other words it divides. */
const beforeExpression = new Set(['return', 'typeof', 'case', 'in', 'of', 'delete', 'void', 'throw', 'new', 'else']);

/**
 * The tokens of a source, without comments. A template literal is one token for each of its texts.
 *
 * @returns `undefined` where a literal or a comment does not end, as in a language that this is not
 */
export function readTokens(source: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  /** How many braces are open in each `${` that is open. */
  const templates: number[] = [];
  let at = 0;
  while (at < source.length) {
    at += matchAt(source, at, blank).length;
    if (at === source.length) break;
    const token = templateAt(source, at, templates) ?? tokenAt(source, at, tokens.at(-1)?.text);
    if (token === undefined || token.end === at) return undefined;
    countBraces(token.text, templates);
    tokens.push(token);
    at = token.end;
  }
  return templates.length === 0 ? tokens : undefined;
}

/** The text of a template from its mark to its end or to the next `${`. Without an end it has no length. */
function templateAt(source: string, at: number, templates: number[]): Token | undefined {
  const mark = source.charAt(at);
  const isNext = mark === '}' && templates.at(-1) === 0;
  if (mark !== '`' && !isNext) return undefined;
  if (isNext) templates.pop();
  const text = matchAt(source, at + 1, templateText);
  if (text.endsWith('{')) templates.push(0);
  return { text: '``', start: at, end: text === '' ? at : at + 1 + text.length };
}

function tokenAt(source: string, at: number, last: string | undefined): Token | undefined {
  const mark = source.charAt(at);
  const token = (text: string, length: number): Token => ({ text, start: at, end: at + length });
  if (mark === '"' || mark === "'") {
    const literal = matchAt(source, at, string);
    return token(`"${packageName.exec(literal)?.[1] ?? ''}"`, literal.length);
  }
  if (source.startsWith('/*', at)) return undefined;
  const expression = mark === '/' && isExpressionNext(last) ? matchAt(source, at, regularExpression) : '';
  if (expression !== '') return token('//', expression.length);
  const text = matchAt(source, at, word) || (source.startsWith('=>', at) ? '=>' : mark);
  return token(text, text.length);
}

function countBraces(text: string, templates: number[]): void {
  const open = templates.at(-1);
  if (open === undefined) return;
  if (text === '{') templates[templates.length - 1] = open + 1;
  if (text === '}') templates[templates.length - 1] = open - 1;
}

function matchAt(source: string, at: number, pattern: RegExp): string {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? '';
}

function isExpressionNext(last: string | undefined): boolean {
  return last === undefined || beforeExpression.has(last) || /^[^\w$)\]}"`]/.test(last);
}
