import { randomInt } from 'node:crypto';
import type { StandInUser } from './people.ts';
import { json } from './replies.ts';
import type { Reply } from './replies.ts';

type RequestBody = Readonly<Record<string, unknown>>;

/** A user that an application's own form has identified, or why not. */
export type Identified =
  | { readonly kind: 'user'; readonly user: StandInUser; readonly method: string }
  | { readonly kind: 'refused'; readonly reply: Reply };

/**
 * The grants of sign-in forms of an application's own: passwords, and codes by email.
 *
 * @param passwords by email address
 * @see https://workos.com/docs/reference/authkit/authentication/password
 */
export function createHeadless(users: ReadonlyMap<string, StandInUser>, passwords: ReadonlyMap<string, string>) {
  const codes = new Map<string, string>();
  const refuse = (code: string, message: string): Identified => ({
    kind: 'refused',
    // WorkOS answers 400, also to a wrong password.
    reply: json(400, { code, message }),
  });
  const userOf = (email: unknown): StandInUser | undefined =>
    [...users.values()].find((user) => typeof email === 'string' && user.email === email.toLowerCase());

  return {
    /** The code that was last sent to each address. */
    codes,
    /** `POST /user_management/magic_auth`: sends a code. */
    sendCode(body: RequestBody): Reply {
      const user = userOf(body['email']);
      if (user === undefined) return json(404, { message: 'User not found.' });
      const code = String(randomInt(1_000_000)).padStart(6, '0');
      codes.set(user.email, code);
      return json(201, { object: 'magic_auth', id: 'magic_auth_1', user_id: user.id, email: user.email, code });
    },
    byPassword(body: RequestBody): Identified {
      const user = userOf(body['email']);
      const isRight = user !== undefined && passwords.has(user.email) && passwords.get(user.email) === body['password'];
      if (!isRight) return refuse('invalid_credentials', `Invalid credentials for '${String(body['email'])}'.`);
      return { kind: 'user', user, method: 'Password' };
    },
    byCode(body: RequestBody): Identified {
      const user = userOf(body['email']);
      const code = codes.get(user?.email ?? '');
      if (user === undefined || code === undefined || code !== body['code']) {
        return refuse('invalid_one_time_code', 'The code is invalid or has expired.');
      }
      codes.delete(user.email);
      return { kind: 'user', user, method: 'MagicAuth' };
    },
  };
}

export type Headless = ReturnType<typeof createHeadless>;
