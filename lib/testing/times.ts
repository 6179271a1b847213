/**
 * Whole seconds since the epoch. A clock that a test starts at the epoch leaves no time before it: what would be earlier is the epoch.
 *
 * @param at the kit's clock, in seconds
 */
export function secondsBefore(at: number, seconds: number): number {
  return Math.max(0, Math.floor(at) - seconds);
}

/**
 * When a session's person signed in, in seconds since the epoch.
 *
 * @param at the kit's clock, in seconds
 * @throws {TypeError} where that is before the epoch, because the session would not be as old as the test says
 */
export function signInTime(at: number, signedInAgo = 0): number {
  if (signedInAgo <= at) return at - signedInAgo;
  throw new TypeError(`signedInAgo: ${signedInAgo} is before 1970 by the kit's clock (now); start the clock later`);
}
