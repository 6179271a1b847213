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
    const meant = missing.find((each) => name.endsWith(`_${each}`)) ?? nearestName(name, read);
    return meant === undefined || !missing.includes(meant)
      ? []
      : [`${name} is set, but nothing reads it; did you mean ${meant}?`];
  });
}
