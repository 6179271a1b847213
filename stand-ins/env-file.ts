import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

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
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  const from = lines.indexOf(first);
  const to = lines.indexOf(last, from);
  return from === -1 || to === -1 ? {} : (parseEnv(lines.slice(from, to).join('\n')) as Variables);
}

/** The text of a `.env` file with the variables in a block at its end. The block replaces that of an earlier start; other lines stay. */
export function withVariables(text: string, variables: Variables): EnvChange {
  const lines = text.split('\n');
  const from = lines.indexOf(first);
  const to = lines.indexOf(last, from);
  if (from !== -1 && to !== -1) lines.splice(from, to - from + 1);
  const kept = lines.join('\n').trimEnd();
  const block = [first, ...Object.entries(variables).map(([name, value]) => `${name}=${value}`), last].join('\n');
  const others = parseEnv(kept);
  return {
    text: `${kept === '' ? '' : `${kept}\n\n`}${block}\n`,
    overridden: Object.keys(variables).filter((name) => name in others),
  };
}

/** Writes the variables to the file, and returns messages for the user, one sentence each. */
export function writeEnvFile(path: string, variables: Variables): string[] {
  const isThere = existsSync(path);
  const { text, overridden } = withVariables(isThere ? readFileSync(path, 'utf8') : '', variables);
  // The file may later contain real keys.
  writeFileSync(path, text, { mode: 0o600 });
  const names = Object.keys(variables).join(', ');
  return [
    isThere
      ? `${path} was there: its own lines are kept, and ${names} are set at its end.`
      : `${path} is new: it sets ${names}.`,
    ...(overridden.length === 0
      ? []
      : [
          `${overridden.join(', ')} ${overridden.length === 1 ? 'was' : 'were'} set before; delete the block at the end of the file to use those values again.`,
        ]),
  ];
}
