/** The oldest Node that this package runs on: major and minor version. */
const oldest = [22, 13] as const;

/**
 * Why this Node cannot run the package; `undefined` where it can. Older ones load it and fail later, at a function that they do not have.
 *
 * @param version such as `22.13.0`
 */
export function nodeProblem(version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return undefined;
  return `Node ${version} is too old; use Node ${oldest.join('.')} or later`;
}
