import { ConfigurationError } from '../errors.ts';
import type { AdapterName } from '../types.ts';
import { findingsOf } from './finding.ts';
import type { Step } from './finding.ts';

/** What the adapter's own reader makes of the environment: its options, or every problem that it would refuse to start with. */
export function readOrReport<Options>(
  adapter: AdapterName,
  read: () => Options,
): { readonly options: Options | undefined; readonly steps: readonly Step[] } {
  try {
    return { options: read(), steps: [] };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const found = findingsOf(adapter);
    return { options: undefined, steps: error.problems.map((problem) => found('problem', 'options', problem)) };
  }
}

/** The first of several variables that is set, as the adapters read them. */
export function setVariable(env: NodeJS.ProcessEnv, names: readonly string[]): string | undefined {
  return names.find((name) => (env[name] ?? '') !== '');
}

/** A misspelt variable is an option that silently stays at its default. */
export function* checkSpelling(
  adapter: AdapterName,
  env: NodeJS.ProcessEnv,
  prefix: RegExp,
  variables: Readonly<Record<string, readonly string[]>>,
): Generator<Step, void, undefined> {
  const known = Object.values(variables).flat();
  const found = findingsOf(adapter);
  for (const name of Object.keys(env)) {
    if (!prefix.test(name) || env[name] === '' || known.includes(name)) continue;
    yield found('warning', 'variables', `${name} is set, but nothing reads it`, {
      fix: `Check its spelling; these are read: ${known.join(', ')}`,
    });
  }
}
