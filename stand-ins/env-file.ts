import { parseEnv } from 'node:util';
import { readLoosely, readText, refuseLinkOut, writeText } from '../lib/commands/files.ts';

const first = '# express-auth-adapters providers: local stand-ins';
const last = '# express-auth-adapters providers: end';

export type Variables = Readonly<Record<string, string>>;

export interface EnvChange {
  readonly text: string;
  /** Variables that the rest of the file also sets; the last line takes precedence. */
  readonly overridden: readonly string[];
}

/** What the block of an earlier start sets; empty where there is none. */
export function keptVariables(path: string): Variables {
  return blockIn((readLoosely(path) ?? '').split('\n')).variables;
}

function blockIn(lines: readonly string[]) {
  const from = lines.indexOf(first);
  const to = lines.indexOf(last, from);
  const block = from === -1 || to === -1 ? [] : lines.slice(from, to + 1);
  return { from, length: block.length, variables: parseEnv(block.join('\n')) as Variables };
}

/** The text of a `.env` file with the variables in a block at its end, beside those of an earlier block. Other lines stay. */
export function withVariables(text: string, variables: Variables): EnvChange {
  const lines = text.split('\n');
  const { from, length, variables: earlier } = blockIn(lines);
  lines.splice(from, length);
  const kept = lines.join('\n').trimEnd();
  const block = [
    first,
    ...Object.entries({ ...variables, ...earlier, ...variables }).map(([name, value]) => `${name}=${value}`),
    last,
  ].join('\n');
  const others = parseEnv(kept);
  return {
    text: `${kept === '' ? '' : `${kept}\n\n`}${block}\n`,
    overridden: Object.keys(variables).filter((name) => name in others),
  };
}

/** Writes the variables to the file, and returns messages for the user, one sentence each. */
export function writeEnvFile(path: string, variables: Variables): string[] {
  refuseLinkOut(path);
  const before = readText(path);
  const { text, overridden } = withVariables(before ?? '', variables);
  // The file may later contain real keys.
  writeText(path, text, { mode: 0o600 });
  const names = Object.keys(variables).join(', ');
  return [
    before !== undefined
      ? `${path} was there: its own lines are kept, and ${names} are set at its end.`
      : `${path} is new: it sets ${names}.`,
    ...(overridden.length === 0
      ? []
      : [
          `${overridden.join(', ')} ${overridden.length === 1 ? 'was' : 'were'} set before; delete the block at the end of the file to use those values again.`,
        ]),
  ];
}
