import { ConfigurationError } from '../errors.ts';

/**
 * A testing kit can sign in as any user. It is asked at every call, so that a kit made before `NODE_ENV` was set is of no
 * more use than one made after.
 *
 * @throws {ConfigurationError} with `NODE_ENV=production`
 */
export function refuseInProduction(): void {
  if (process.env['NODE_ENV'] !== 'production') return;
  throw new ConfigurationError('express-auth-adapters/testing', [
    'makes sessions of people who never signed in, so it refuses to run with NODE_ENV=production; import it from tests only',
  ]);
}
