import type { Visitor } from '../../support/visitor.ts';
import { cookieName } from './application.ts';

/** Where a sign-in waits for its next step. */
export const pendingName = `${cookieName}-pending`;

/** What an attacker reads from a pending sign-in of their own: it is not sealed. */
export function pendingOf(visitor: Visitor): any {
  const value = visitor.cookies.get(pendingName);
  return value === undefined ? undefined : JSON.parse(Buffer.from(value, 'base64url').toString());
}

/** Presents tokens as a sign-in that waits for a new password. */
export function setPending(visitor: Visitor, fields: object): void {
  const value = { needs: ['password'], returnTo: '/', ...fields };
  visitor.cookies.set(pendingName, Buffer.from(JSON.stringify(value)).toString('base64url'));
}
