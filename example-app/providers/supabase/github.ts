import { createHash, randomBytes } from 'node:crypto';
import { consentPage } from './github-page.ts';
import type { GithubAccount } from './github-page.ts';

/** The person behind the stand-in's one account. */
export interface GithubStandInOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The only redirect URI that is served, as registered with the OAuth app. */
  readonly redirectUri: string;
  readonly account: GithubAccount;
}

const json = (value: unknown, status = 200) => Response.json(value, { status });

/**
 * The four routes of GitHub that an OAuth sign-in needs: authorize (with a consent page), access_token, user and
 * user/emails. Paths are relative to wherever it is mounted.
 * https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 */
export function createGithubStandIn({ clientId, clientSecret, redirectUri, account }: GithubStandInOptions) {
  const codes = new Set<string>();
  const tokens = new Set<string>();
  const secretOf = () => randomBytes(20).toString('hex');

  function authorize(query: URLSearchParams): Response {
    if (query.get('client_id') !== clientId || query.get('redirect_uri') !== redirectUri) {
      return new Response('Unknown client_id or redirect_uri.', { status: 400 });
    }
    const { markup, style } = consentPage(account, query);
    // No form-action: the redirects after the button cross three origins, and Chromium checks each of them.
    const styleHash = createHash('sha256').update(style).digest('base64');
    const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'`;
    return new Response(markup, {
      headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
    });
  }

  async function decide(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    if (form.get('redirect_uri') !== redirectUri) return new Response('Unknown redirect_uri.', { status: 400 });
    const target = new URL(redirectUri);
    const state = form.get('state');
    if (state) target.searchParams.set('state', state);
    if (form.get('decision') === 'approve') {
      const code = secretOf();
      codes.add(code);
      target.searchParams.set('code', code);
    } else {
      target.searchParams.set('error', 'access_denied');
      target.searchParams.set('error_description', 'The user has denied your application access.');
    }
    return new Response(null, { status: 302, headers: { location: target.href } });
  }

  async function exchange(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    // GitHub answers errors of the exchange with status 200.
    if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret) {
      return json({ error: 'incorrect_client_credentials' });
    }
    if (!codes.delete(form.get('code') ?? '')) return json({ error: 'bad_verification_code' });
    const token = `gho_${secretOf()}`;
    tokens.add(token);
    return json({ access_token: token, token_type: 'bearer', scope: 'user:email' });
  }

  function signedIn(request: Request, body: unknown): Response {
    const [, token = ''] = (request.headers.get('authorization') ?? '').split(' ');
    return tokens.has(token) ? json(body) : json({ message: 'Bad credentials' }, 401);
  }

  return async function handle(request: Request, path: string): Promise<Response> {
    const { id, login, name, email } = account;
    switch (`${request.method} ${path}`) {
      case 'GET /login/oauth/authorize':
        return authorize(new URL(request.url).searchParams);
      case 'POST /login/oauth/authorize':
        return decide(request);
      case 'POST /login/oauth/access_token':
        return exchange(request);
      case 'GET /api/v3/user':
        return signedIn(request, { id, login, name, email, avatar_url: '' });
      case 'GET /api/v3/user/emails':
        return signedIn(request, [{ email, primary: true, verified: true, visibility: 'public' }]);
      default:
        return json({ message: 'Not Found' }, 404);
    }
  };
}
