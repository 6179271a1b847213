/**
 * The code of an error of jose's, by which its documentation tells them apart; telling them apart by class would load it.
 *
 * @see https://github.com/panva/jose/blob/main/docs/util/errors/README.md
 */
export function joseCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^ERR_J(?:OSE|W[A-Z]+)_/.test(code) ? code : undefined;
}
