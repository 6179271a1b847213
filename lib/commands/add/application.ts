import { readTokens } from './tokens.ts';
import type { Token } from './tokens.ts';

export type AdapterFunction = 'b2bAuth' | 'backendAuth';

/** Where a source makes its application by `express()`, and how it is written. */
export interface Application {
  /** As the code calls it: `app`, `this.app`. */
  readonly name: string;
  readonly line: number;
  /** The offset at the end of the statement's line. */
  readonly mountAt: number;
  /** The offset at the end of the line that loads express; `undefined` where no other statement can follow it. */
  readonly importAt: number | undefined;
  /** Whether it loads express by `import`. */
  readonly isModule: boolean;
  readonly indentation: string;
  readonly quote: string;
  readonly semicolon: ';' | '';
}

export type Reading =
  | { readonly kind: 'none' }
  | { readonly kind: 'application'; readonly application: Application }
  | { readonly kind: 'mounted'; readonly line: number }
  /** The reason follows the file's name in a sentence. */
  | { readonly kind: 'unclear'; readonly reason: string };

/** A source, and its tokens joined by blanks, so that an expression sees neither comments nor line breaks. */
interface Scan {
  readonly source: string;
  readonly tokens: readonly Token[];
  readonly text: string;
}

/** Reads a source as far as there is no doubt what it does. */
export function readApplication(source: string, adapter: AdapterFunction): Reading {
  if (!source.includes('express')) return { kind: 'none' };
  const tokens = readTokens(source);
  if (tokens === undefined)
    return /\bexpress\s*\(\s*\)/.test(source)
      ? unclear('has text that is no JavaScript or TypeScript')
      : { kind: 'none' };
  const scan = { source, tokens, text: tokens.map(({ text }) => text).join(' ') };
  const mount = new RegExp(`(?<=^| )${adapter} \\(`).exec(scan.text);
  if (mount !== null && scan.text.includes('"express-auth-adapters'))
    return { kind: 'mounted', line: lineOf(source, tokens[indexAt(scan, mount.index)]?.start) };

  const load = loadOfExpress(scan);
  const calls = callsOfExpress(scan, load?.name);
  const [call] = calls;
  if (call === undefined) return { kind: 'none' };
  if (calls.length > 1) return unclear('calls express() more than once');
  if (source.split('\n').some((line) => line.length > 1_000)) return unclear('was built from another file');
  if (mount !== null) return unclear(`has another ${adapter}`);
  return readCreation(scan, load, call);
}

function readCreation(scan: Scan, load: Load | undefined, call: Call): Reading {
  const { source, tokens } = scan;
  const made = creationBefore(scan, call.from, tokens[call.to + 1]?.text);
  const end = endOfStatement(scan, call.to);
  if (made === undefined || end === undefined)
    return unclear('makes its application in a line that does more than that');
  const isModule = load?.isModule === true;
  if (isModule && load.end === undefined) return unclear('imports express in a line that does more than that');
  const start = tokens[made.from]?.start ?? 0;
  return {
    kind: 'application',
    application: {
      name: made.name,
      line: lineOf(source, start),
      mountAt: end.at,
      importAt: load?.end,
      isModule,
      indentation: indentationAt(source, start),
      quote: /(["'])express\1/.exec(source)?.[1] ?? "'",
      semicolon: end.semicolon,
    },
  };
}

const unclear = (reason: string): Reading => ({ kind: 'unclear', reason });

const imports = [
  /(?:^| )import (?:\* as )?(?<name>[\w$]+)(?: , (?:\{[^}]*\}|\* as [\w$]+))? from "express"/,
  /(?:^| )import \{(?:[^}]*)? default as (?<name>[\w$]+)[^}]*\} from "express"/,
  /(?:^| )import (?<name>[\w$]+) = require \( "express" \)/,
];
const required = /(?:^| )(?:const|let|var|,) (?<name>[\w$]+)(?: : [^=;]+)? = require \( "express" \)(?! [(.])/;

interface Load {
  /** What the source calls express. */
  readonly name: string;
  readonly isModule: boolean;
  /** The end of its line. */
  readonly end: number | undefined;
}

function loadOfExpress(scan: Scan): Load | undefined {
  const imported = imports.map((pattern) => pattern.exec(scan.text)).find((match) => match !== null);
  const match = imported ?? required.exec(scan.text);
  if (match === null) return undefined;
  const last = indexAt(scan, match.index + match[0].length - 1);
  const isOutermost = indentationAt(scan.source, scan.tokens[last]?.start ?? 0) === '';
  const isModule = imported !== undefined;
  const end = isModule || isOutermost ? endOfStatement(scan, last)?.at : undefined;
  return { name: match.groups?.['name'] ?? '', isModule, end };
}

/** The first token and the last one. */
interface Call {
  readonly from: number;
  readonly to: number;
}

/** Each call without arguments. */
function callsOfExpress(scan: Scan, name: string | undefined): readonly Call[] {
  const names = name === undefined ? [] : [name.replaceAll('$', '\\$')];
  const callee = [...names, 'require \\( "express" \\)'].join('|');
  const pattern = new RegExp(`(?<=^| )(?<!(?:\\.|new|function) )(?:${callee}) \\( \\)`, 'g');
  return [...scan.text.matchAll(pattern)].map(({ 0: call, index }) => ({
    from: indexAt(scan, index),
    to: indexAt(scan, index + call.length - 1),
  }));
}

const declared =
  /^.* (?<statement>(?:const|let|var) (?<name>[\w$]+)(?: : [^=;]+)? = (?:(?:module \. )?exports(?: \. [\w$]+)? = )?)$/;
const listed = /^.* , (?<statement>(?<name>[\w$]+) = )$/;
const assigned = /^.* (?:;|\{|\}|"[^ ]*") (?<statement>(?<name>(?:this \. )?[\w$]+) = )$/;

/** The name that the call's value gets, and the first token of that statement. */
function creationBefore({ tokens }: Scan, from: number, after: string | undefined) {
  // A file may begin with the statement.
  const before = [';', ...tokens.slice(Math.max(0, from - 40), from).map(({ text }) => text)].join(' ') + ' ';
  const match = declared.exec(before) ?? (after === ';' ? listed.exec(before) : null) ?? assigned.exec(before);
  const { name, statement } = match?.groups ?? {};
  if (name === undefined || statement === undefined) return undefined;
  return { name: name.replaceAll(' ', ''), from: from - statement.trimEnd().split(' ').length };
}

/** How a line goes on that the next one does not end. */
const continues = /^(?:[.,([+\-*/%=?&|<>:^`]|(?:as|satisfies|in|instanceof)$)/;

/** Where the line of a statement ends whose last token this is; `undefined` where there is more in that line. */
function endOfStatement({ source, tokens }: Scan, last: number) {
  const [token, next] = [tokens[last], tokens[last + 1]];
  if (token === undefined) return undefined;
  const semicolon = next?.text === ';' ? ';' : '';
  const rest = /[ \t]*(?:\/\/.*?)?(?=\r?\n|(?![^]))/y;
  rest.lastIndex = next !== undefined && semicolon === ';' ? next.end : token.end;
  const isOver = rest.test(source) && (semicolon === ';' || next === undefined || !continues.test(next.text));
  return isOver ? ({ at: rest.lastIndex, semicolon } as const) : undefined;
}

/** The token at an offset of the joined text. */
const indexAt = ({ text }: Scan, offset: number): number => text.slice(0, offset).split(' ').length - 1;

export function lineOf(source: string, offset = 0): number {
  return source.slice(0, offset).split('\n').length;
}

function indentationAt(source: string, offset: number): string {
  return /^[ \t]*/.exec(source.slice(source.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? '';
}
