import type { AuthenticateError } from './faults.ts';
import { newId } from './ids.ts';
import { toWire } from './people.ts';
import type { StandInUser } from './people.ts';
import { json } from './replies.ts';
import type { Reply } from './replies.ts';

/** The errors that require a further step, with the bodies of https://workos.com/docs/reference/authkit/authentication-errors */
export function authenticateErrorReply(
  error: AuthenticateError,
  user: StandInUser,
  token: string,
  nowMs: number,
): Reply {
  if (typeof error === 'object') return json(error.status, error.body);
  const { email } = user;
  const pendingToken = { pending_authentication_token: token };
  switch (error) {
    case 'email_verification_required': {
      const message = 'Email ownership must be verified before authentication.';
      const id = newId('email_verification', nowMs);
      return json(403, { code: error, message, ...pendingToken, email, email_verification_id: id });
    }
    case 'mfa_enrollment': {
      const message = 'The user must enroll in MFA to finish authenticating.';
      return json(403, { code: error, message, ...pendingToken, user: toWire(user) });
    }
    case 'mfa_challenge': {
      const message = 'The user must complete an MFA challenge to finish authenticating.';
      const factors = [{ id: newId('auth_factor', nowMs), type: 'totp' }];
      return json(403, { code: error, message, ...pendingToken, authentication_factors: factors, user: toWire(user) });
    }
    case 'sso_required': {
      const description = 'User must authenticate using one of the matching connections.';
      const connections = [newId('conn', nowMs)];
      return json(403, { error, error_description: description, connection_ids: connections, email });
    }
    case 'organization_authentication_methods_required': {
      const description = 'User must authenticate using one of the methods allowed by the organization.';
      return json(403, { error, error_description: description, email, sso_connection_ids: [], auth_methods: {} });
    }
  }
}
