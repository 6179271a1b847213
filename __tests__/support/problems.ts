import { ConfigurationError } from '../../lib/errors.ts';

/** The problems that a call reports by a `ConfigurationError`, without the call's name; none where it returns. */
export function problemsBy(call: () => unknown): readonly string[] {
  try {
    call();
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
}
