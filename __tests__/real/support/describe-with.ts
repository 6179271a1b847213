/**
 * `describe` where all of these environment variables are set. Elsewhere its tests count as skipped; `tools/real.js` says why.
 *
 * The variables' values go to the suite in the same order.
 */
export function describeWith(
  variables: readonly string[],
  name: string,
  suite: (...values: readonly string[]) => void,
): void {
  const values = variables.map((variable) => process.env[variable] ?? '');
  const register = values.includes('') ? describe.skip : describe;
  register(name, () => suite(...values));
}

/** For what every GoTrue shows. */
export const describeGoTrue = (name: string, suite: () => void): void =>
  describeWith(['GOTRUE_URL', 'GOTRUE_JWT_SECRET'], name, suite);

/** For what needs other settings: `startProject({ … })` starts a process of its own. */
export const describeOwnGoTrue = (name: string, suite: () => void): void =>
  describeWith(['GOTRUE_BIN', 'GOTRUE_DATABASE_URL'], name, suite);
