import { accepts } from '../loopback.ts';
import type { OnLoopback } from '../loopback.ts';
import { problemPage } from './pages.ts';
import { redirect } from './replies.ts';
import type { Reply } from './replies.ts';

/** A well-formed `GET /user_management/authorize`. https://workos.com/docs/reference/authkit/authentication/get-authorization-url */
export interface AuthorizationRequest {
  readonly query: URLSearchParams;
  readonly organizationId: string | undefined;
  readonly loginHint: string | undefined;
  readonly isSignUp: boolean;
  readonly invitationToken: string | undefined;
  /** Whether the page is shown although the browser is signed in (OpenID Connect Core §3.1.2.1, `prompt=login`). */
  readonly asksAgain: boolean;
  /** The OAuth provider, such as `Google`; undefined for AuthKit's own page. */
  readonly provider: string | undefined;
  readonly authenticationMethod: string;
  readonly codeChallenge: string | undefined;
  /** Redirects to the application's redirect URI, with its state. */
  readonly sendBack: (parameters: Readonly<Record<string, string>>) => Reply;
}

export type ParsedRequest =
  | { readonly kind: 'accepted'; readonly request: AuthorizationRequest }
  | { readonly kind: 'refused'; readonly reply: Reply };

/** `GoogleOAuth`, `VercelMarketplaceOAuth`: as WorkOS names the OAuth providers. */
const oauthProvider = /^([A-Z]\w{1,40})OAuth$/;
const screenHints = ['sign-in', 'sign-up'];

export interface Registration {
  readonly clientId: string;
  readonly redirectUris: string[];
  readonly onRedirectUri: OnLoopback | undefined;
}

export function parseAuthorizationRequest(
  query: URLSearchParams,
  { clientId, redirectUris, onRedirectUri }: Registration,
): ParsedRequest {
  const get = (name: string) => query.get(name) ?? undefined;
  const refuse = (title: string, text: string, value?: string): ParsedRequest => {
    const shown = { title, text, ...(value !== undefined && { value }), backTo: get('redirect_uri') };
    return { kind: 'refused', reply: problemPage(shown) };
  };

  // Never redirects to an unregistered address, especially not with an error (RFC 6749 §4.1.2.1).
  if (query.get('client_id') !== clientId) return refuse('Unknown client', 'This client_id is not registered here.');
  const redirectUri = get('redirect_uri');
  if (redirectUri === undefined) return refuse('No redirect URI', 'The request carries no redirect_uri.');
  if (!accepts(redirectUris, redirectUri, onRedirectUri)) {
    const text = 'Open the app under a registered address, or register exactly this one as a redirect URI:';
    return refuse('Redirect URI not registered', text, redirectUri);
  }
  const sendBack: AuthorizationRequest['sendBack'] = (parameters) => {
    const target = new URL(redirectUri);
    for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
    const state = query.get('state');
    if (state !== null) target.searchParams.set('state', state);
    return redirect(target.href);
  };

  const problem = findProblem(get);
  if (problem) {
    const { error = 'invalid_request', description } = problem;
    return { kind: 'refused', reply: sendBack({ error, error_description: description }) };
  }
  const provider = get('provider');
  const request: AuthorizationRequest = {
    query,
    organizationId: get('organization_id'),
    loginHint: get('login_hint'),
    isSignUp: get('screen_hint') === 'sign-up',
    invitationToken: get('invitation_token'),
    asksAgain: get('prompt') === 'login' || get('screen_hint') === 'sign-up' || get('max_age') !== undefined,
    provider: oauthProvider.exec(provider ?? '')?.[1],
    authenticationMethod: provider !== undefined && oauthProvider.test(provider) ? provider : 'Password',
    codeChallenge: get('code_challenge'),
    sendBack,
  };
  return { kind: 'accepted', request };
}

type Problem = { readonly error?: string; readonly description: string } | null;

function findProblem(get: (name: string) => string | undefined): Problem {
  if (get('response_type') !== 'code') {
    return { error: 'unsupported_response_type', description: 'response_type must be code.' };
  }
  const provider = get('provider');
  if ((provider ?? get('connection_id') ?? get('organization_id')) === undefined) {
    return { description: 'One of provider, connection_id and organization_id is required.' };
  }
  if (provider !== undefined && provider !== 'authkit' && !oauthProvider.test(provider))
    return { description: 'Unknown provider.' };
  const screenHint = get('screen_hint');
  if (screenHint !== undefined && (provider !== 'authkit' || !screenHints.includes(screenHint))) {
    return { description: 'screen_hint is sign-in or sign-up, and for the provider authkit only.' };
  }
  const challenge = get('code_challenge');
  const method = get('code_challenge_method');
  if (challenge === undefined) {
    return method === undefined ? null : { description: 'code_challenge_method without code_challenge.' };
  }
  // RFC 7636 §4.2: a SHA-256 challenge has 43 characters.
  if (method !== 'S256' || !/^[\w-]{43}$/.test(challenge)) return { description: 'code_challenge must be S256.' };
  return null;
}
