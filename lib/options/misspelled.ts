import { valueOf } from '../tools/environment.ts';
import type { Environment } from '../tools/environment.ts';
import { nearestName } from '../nearest.ts';

/**
 * Hints for a start without variables, where others are set that resemble them: `BAAS_URLL`, or `VITE_SUPABASE_URL` of a front end.
 *
 * @param missing the environment variables that are missing
 * @param read those that the adapter reads
 */
export function misspelledVariables(
  environment: Environment,
  missing: readonly string[],
  read: readonly string[],
): string[] {
  return Object.keys(environment).flatMap((name) => {
    if (read.includes(name) || valueOf(environment[name]) === '') return [];
    const meant =
      missing.find((each) => name.endsWith(`_${each}`)) ??
      nearestName(name, read) ??
      missing.find((each) => isShortFor(name, each));
    return meant === undefined || !missing.includes(meant)
      ? []
      : [`${name} is set, but nothing reads it; did you mean ${meant}?`];
  });
}

/** `SUPABASE_KEY` for `SUPABASE_PUBLISHABLE_KEY`. */
function isShortFor(name: string, variable: string): boolean {
  const words = name.split('_');
  return words.length === 2 && variable.startsWith(`${words[0]}_`) && variable.endsWith(`_${words[1]}`);
}
