import { lineOf } from './application.ts';
import type { Application, AdapterFunction } from './application.ts';
import type { AdapterName } from '../../types.ts';

/** What the application calls. */
export const functionNames = { b2b: 'b2bAuth', backend: 'backendAuth' } as const;

/** Of an adapter that is mounted beside the other one: both have a session route of the same name. */
export const secondSessionPath = '/auth/me';

/** The way in that the adapter has by default. */
export const signInPaths = { b2b: '/login', backend: '/auth/login' } as const;

interface Style {
  readonly isModule: boolean;
  readonly quote: string;
  readonly semicolon: ';' | '';
}

/** What loads the adapter and what mounts it. */
export function linesOf(adapter: AdapterName, isSecond: boolean, style: Style, application = 'app') {
  const { isModule, quote, semicolon } = style;
  const name: AdapterFunction = functionNames[adapter];
  const source = `${quote}express-auth-adapters/${adapter}${quote}`;
  const options = isSecond ? `{ sessionPath: ${quote}${secondSessionPath}${quote} }` : '';
  return {
    load: isModule
      ? `import { ${name} } from ${source}${semicolon}`
      : `const { ${name} } = require(${source})${semicolon}`,
    mount: `${application}.use(${name}(${options}))${semicolon}`,
  };
}

export interface Edit {
  readonly text: string;
  /** The new lines, by their numbers in the new text. */
  readonly added: readonly { readonly line: number; readonly text: string }[];
}

/** A source with the adapter mounted right after its application is made. */
export function mountIn(source: string, application: Application, adapter: AdapterName, isSecond: boolean): Edit {
  const { importAt, mountAt, indentation, name } = application;
  const { load, mount } = linesOf(adapter, isSecond, application, name);
  const inside = importAt === undefined ? [load, mount] : [mount];
  const places = [
    ...(importAt === undefined ? [] : [{ at: importAt, lines: [load] }]),
    { at: mountAt, lines: inside.map((line) => indentation + line) },
  ].sort((one, other) => one.at - other.at);
  const newline = source.includes('\r\n') ? '\r\n' : '\n';
  const added: { line: number; text: string }[] = [];
  let text = '';
  let from = 0;
  for (const { at, lines } of places) {
    text += source.slice(from, at);
    for (const line of lines) {
      text += newline + line;
      added.push({ line: lineOf(text, text.length), text: line });
    }
    from = at;
  }
  return { text: text + source.slice(from), added };
}
