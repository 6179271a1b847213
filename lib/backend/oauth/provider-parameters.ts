import * as v from 'valibot';
import { queryParameters } from '../../options/shared.ts';

/**
 * What the sign-in sets in the URL of Supabase's own route, and what Supabase sets in the provider's URL. GoTrue passes on every
 * other name.
 *
 * @see https://github.com/supabase/auth/blob/master/internal/api/external.go
 */
const flowParameters: ReadonlySet<string> = new Set([
  'apikey',
  'client_id',
  'client_secret',
  'code_challenge',
  'code_challenge_method',
  'code_verifier',
  'invite_token',
  'nonce',
  'provider',
  'redirect_to',
  'redirect_uri',
  'response_mode',
  'response_type',
  'scope',
  'scopes',
  'skip_http_redirect',
  'state',
]);

/** Further parameters of an OAuth provider's sign-in URL. */
export const providerParameters = queryParameters(v.string('must hold strings'), {
  form: /^[\w.-]{1,64}$/,
  example: 'access_type',
  isOwn: (name) => flowParameters.has(name.toLowerCase()),
});
