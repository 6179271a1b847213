import { randomUUID } from 'node:crypto';
import { GoTrueError } from '../errors.ts';
import { readChallenge } from '../flows.ts';
import type { PkceChallenge } from '../flows.ts';
import { json, redirect, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import { confirm } from '../project.ts';
import type { Project } from '../project.ts';
import { withParameters } from '../redirects.ts';
import type { Person, User } from '../types.ts';
import { addressAt, identityIdOf, profileOf } from '../users.ts';
import { authenticate } from './authenticate.ts';
import { providerPage } from './provider-page.ts';
import { errorParameters } from './verify.ts';

interface Started {
  readonly provider: string;
  readonly target: string;
  readonly pkce: PkceChallenge | undefined;
  readonly startedAt: number;
  /** Whose account the provider's is linked to. */
  readonly linkTo?: User;
}

/** Supabase's names of the OAuth providers. */
export const everyProvider: ReadonlySet<string> = new Set(
  (
    'apple azure bitbucket discord facebook figma fly github gitlab google kakao keycloak linkedin linkedin_oidc notion ' +
    'slack slack_oidc snapchat spotify twitch twitter vercel_marketplace workos x zoom'
  ).split(' '),
);

/** The value of `prompt` with which a provider asks for the account; others of these providers ignore the parameter. */
const accountPrompts: Readonly<Record<string, string>> = {
  azure: 'select_account',
  github: 'select_account',
  google: 'select_account',
};

/** Parameters of Supabase's own endpoint. It passes every other one on to the provider. */
const ownParameters = new Set(['provider', 'scopes', 'redirect_to', 'code_challenge', 'code_challenge_method']);

/** The provider's cookie, which names the person who is signed in there. */
const providerCookie = 'provider-stand-in';

/** The browser's path through an OAuth provider: /authorize → the provider's consent page → /callback → the application. */
export function createOauth(project: Project) {
  const { siteUrl, redirectTo, people, switches, users, sessions, flows, now, url: origin } = project;
  const started = new Map<string, Started>();
  const approvals = new Map<string, string>();

  /** `GET /user/identities/authorize`: the provider's URL, for a new identity of the token's user. */
  async function link(request: StandInRequest): Promise<Reply> {
    const { user } = await authenticate(project, request);
    requireLinking();
    return json(200, { url: authorize(request, user).headers['location'] });
  }

  /** `DELETE /user/identities/:id` */
  async function unlink(request: StandInRequest): Promise<Reply> {
    const { user } = await authenticate(project, request);
    requireLinking();
    const id = request.url.pathname.split('/').at(-1);
    if (user.providers.length <= 1) {
      throw new GoTrueError(422, 'single_identity_not_deletable', 'User must have at least 1 identity after unlinking');
    }
    const index = user.providers.findIndex((provider) => identityIdOf(provider, user) === id);
    if (index < 0) throw new GoTrueError(422, 'identity_not_found', "Identity doesn't exist");
    const left = user.providers.filter((_provider, at) => at !== index).map((provider) => addressAt(provider, user));
    const email = left.includes(user.email) ? user.email : left.find((address) => users.find(address) === undefined);
    if (email === undefined) {
      const message = 'Unable to unlink identity due to email conflict';
      throw new GoTrueError(422, 'email_conflict_identity_not_deletable', message);
    }
    for (const provider of user.providers.splice(index, 1)) user.addresses.delete(provider);
    user.email = email;
    return json(200, {});
  }

  function requireLinking(): void {
    if (!switches.manualLinking) throw new GoTrueError(404, 'manual_linking_disabled', 'Manual linking is disabled');
  }

  function authorize({ url }: StandInRequest, linkTo?: User): Reply {
    const query = (name: string) => url.searchParams.get(name) ?? '';
    const provider = query('provider');
    const isOwn = provider.startsWith('custom:');
    if (!everyProvider.has(provider) && !isOwn) {
      const message = `Unsupported provider: Provider ${provider} could not be found`;
      throw new GoTrueError(400, 'validation_failed', message);
    }
    if (!switches.providers.has(provider) && !(isOwn && switches.providers === everyProvider)) {
      throw new GoTrueError(400, 'validation_failed', 'Unsupported provider: provider is not enabled');
    }
    const pkce = readChallenge(query('code_challenge'), query('code_challenge_method'));
    const target = redirectTo(query('redirect_to'));
    const state = randomUUID();
    started.set(state, { provider, target, pkce, startedAt: now(), ...(linkTo && { linkTo }) });
    const others = [...url.searchParams].filter(([name]) => !ownParameters.has(name));
    const parameters = { ...Object.fromEntries(others), state, scope: query('scopes') };
    return redirect(302, withParameters(`${origin}/provider/${provider}/authorize`, parameters, 'query'));
  }

  /** `POST /sso`: redirects to the identity provider of a domain. `redirect_to` is in the body. */
  function sso({ body }: StandInRequest): Reply {
    const { ssoDomains } = switches;
    if (!ssoDomains) throw new GoTrueError(404, 'saml_provider_disabled', 'SAML 2.0 is disabled');
    const [domain, providerId] = [textField(body, 'domain'), textField(body, 'provider_id')];
    if (domain !== '' && providerId !== '') {
      throw new GoTrueError(400, 'validation_failed', 'Only one of provider_id or domain supported');
    }
    if (domain === '' && providerId === '') {
      throw new GoTrueError(400, 'validation_failed', 'A provider_id or domain needs to be provided');
    }
    if (!ssoDomains.has(domain)) {
      throw new GoTrueError(404, 'sso_provider_not_found', 'No SSO provider assigned for this domain');
    }
    const pkce = readChallenge(textField(body, 'code_challenge'), textField(body, 'code_challenge_method'));
    const target = redirectTo(textField(body, 'redirect_to'));
    const state = randomUUID();
    started.set(state, { provider: `sso:${domain}`, target, pkce, startedAt: now() });
    const url = withParameters(`${origin}/provider/saml/authorize`, { state }, 'query');
    return body['skip_http_redirect'] === true ? json(200, { url }) : redirect(303, url);
  }

  /** The provider's page, and what its buttons do. With `oauthSessions` it asks each browser once, and then only on request. */
  function consent({ method, url, headers, body }: StandInRequest): Reply {
    const state = url.searchParams.get('state') ?? '';
    const provider = url.pathname.split('/')[2] ?? '';
    const back = `${origin}/auth/v1/callback`;
    if (method !== 'POST') {
      const isAsked = url.searchParams.get('prompt') === (accountPrompts[provider] ?? 'never');
      const known = switches.oauthSessions && !isAsked ? signedInAt(headers.cookie) : undefined;
      return known === undefined ? providerPage(provider, offered(state)) : approve(known);
    }
    // A person's button has the address and no decision.
    const decision = textField(body, 'decision') || (textField(body, 'email') === '' ? 'cancel' : 'approve');
    if (decision !== 'approve') {
      // The provider's own error; GoTrue passes it on without an error_code.
      const denial = { error: 'access_denied', error_description: 'The user has denied your application access.' };
      return redirect(302, withParameters(back, { ...denial, state }, 'query'));
    }
    return approve(textField(body, 'email') || switches.oauthEmail);

    function approve(email: string): Reply {
      const code = randomUUID();
      approvals.set(code, email);
      const reply = redirect(302, withParameters(back, { code, state }, 'query'));
      const cookie = `${providerCookie}=${encodeURIComponent(email)}; Path=/provider/${provider}; HttpOnly; SameSite=Lax`;
      return switches.oauthSessions ? { ...reply, headers: { ...reply.headers, 'set-cookie': cookie } } : reply;
    }
  }

  /** At a company's identity provider each person has an address of the company. */
  function offered(state: string): readonly Person[] {
    const [, domain] = /^sso:(.*)/.exec(started.get(state)?.provider ?? '') ?? [];
    const { oauthEmail } = switches;
    const first = people.some(({ email }) => email === oauthEmail)
      ? []
      : [{ name: nameOf(oauthEmail), email: oauthEmail }];
    const all = [...first, ...people];
    return domain === undefined
      ? all
      : all.map(({ name, email }) => ({ name, email: email.replace(/@.*/, `@${domain}`) }));
  }

  async function callback({ url }: StandInRequest): Promise<Reply> {
    const query = (name: string) => url.searchParams.get(name) ?? '';
    const flow = started.get(query('state'));
    started.delete(query('state'));
    if (!flow) {
      // Without a state the browser's origin is unknown: it is redirected to the site, not to the application's callback.
      const error =
        query('state') === ''
          ? new GoTrueError(400, 'bad_oauth_callback', 'OAuth state parameter missing')
          : new GoTrueError(400, 'bad_oauth_state', 'OAuth state parameter is invalid');
      return redirect(303, withParameters(siteUrl, errorParameters(error), 'query'));
    }
    if (query('error') !== '') {
      const denial = { error: query('error'), error_description: query('error_description') };
      return redirect(302, withParameters(flow.target, denial, 'both'));
    }
    try {
      const person = approvals.get(query('code'));
      const user = flow.linkTo ? linkVia(flow.linkTo, flow.provider, person) : signInVia(flow.provider, person);
      approvals.delete(query('code'));
      const method = user.isSsoUser ? 'sso/saml' : 'oauth';
      if (flow.pkce) {
        const code = flows.issueCode(flow.pkce, user.id, flow.startedAt, method);
        return redirect(302, withParameters(flow.target, { code }, 'query'));
      }
      const { access_token, refresh_token } = await sessions.issue(user, { method });
      return redirect(302, withParameters(flow.target, { access_token, refresh_token }, 'fragment'));
    } catch (error) {
      if (!(error instanceof GoTrueError)) throw error;
      return redirect(302, withParameters(flow.target, errorParameters(error), 'both'));
    }
  }

  function linkVia(user: User, provider: string, email: string | undefined): User {
    if (email === undefined) throw new GoTrueError(500, 'unexpected_failure', 'Unable to exchange external code');
    if (ownerOf(provider, email) !== undefined || user.providers.includes(provider)) {
      throw new GoTrueError(422, 'identity_already_exists', 'Identity is already linked');
    }
    if (user.isAnonymous) takeAddress(user, email);
    user.providers.push(provider);
    user.addresses.set(provider, email.toLowerCase());
    return user;
  }

  /** Whose account of a provider it is. */
  function ownerOf(provider: string, email: string): User | undefined {
    const known = users.list().filter((user) => user.providers.includes(provider));
    return known.find((user) => addressAt(provider, user) === email.toLowerCase());
  }

  /** A guest that a provider is linked to is one no longer. */
  function takeAddress(user: User, email: string): void {
    if (users.find(email) !== undefined)
      throw new GoTrueError(400, 'email_exists', 'A user with this email address has already been registered');
    Object.assign(user, { email: email.toLowerCase(), isAnonymous: false });
    confirm(project, user);
  }

  function signInVia(provider: string, email: string | undefined): User {
    if (email === undefined) throw new GoTrueError(500, 'unexpected_failure', 'Unable to exchange external code');
    const isSso = provider.startsWith('sso:');
    // Users of an identity provider are never linked with others.
    const known = ownerOf(provider, email) ?? users.find(email);
    const existing = known?.isSsoUser === isSso ? known : undefined;
    if (existing?.banned) throw new GoTrueError(403, 'user_banned', 'User is banned');
    if (!existing && switches.signupDisabled) {
      throw new GoTrueError(422, 'signup_disabled', 'Signups not allowed for this instance');
    }
    const metadata = switches.oauthNames && !isSso ? profileOf(origin, nameOf(email)) : {};
    const user = existing ?? users.add({ email, metadata }, provider);
    user.metadata = { ...user.metadata, ...metadata };
    if (!user.providers.includes(provider)) user.providers.push(provider);
    user.addresses.set(provider, email.toLowerCase());
    confirm(project, user);
    return user;
  }

  /** Of someone unknown it is the address's: `grace.hopper@example.com` is Grace Hopper. */
  const nameOf = (email: string): string =>
    people.find((person) => person.email === email)?.name ??
    email
      .replace(/@.*/, '')
      .replace(/(?:^|[._-]+)(.)/g, (_, letter: string) => ` ${letter.toUpperCase()}`)
      .trim();

  return { authorize, link, unlink, sso, consent, callback };
}

function signedInAt(cookieHeader = ''): string | undefined {
  const cookie = cookieHeader.split(/; */).find((pair) => pair.startsWith(`${providerCookie}=`));
  return cookie && decodeURIComponent(cookie.slice(providerCookie.length + 1));
}

export type Oauth = ReturnType<typeof createOauth>;
