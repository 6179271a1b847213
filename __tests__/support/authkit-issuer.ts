import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { json, text } from 'node:stream/consumers';
import type { JWTPayload } from 'jose';
import { createSigningKey } from '../../lib/testing/provider.ts';
import { sendJson } from './hosts.ts';
import { serve } from './servers.ts';

/**
 * AuthKit as an authorization server, as strict as its documentation lets one expect: exact redirect addresses, PKCE with S256 only,
 * resources that were registered, codes for two minutes and once, rotating refresh tokens. Its tokens have the documented claims:
 * `iss`, `aud`, `sub`, `org_id`, `sid`, `jti`, `exp` and `iat`, and `scope` for a machine.
 *
 * @see https://workos.com/docs/reference/workos-connect/token
 */
export type AuthkitIssuer = Awaited<ReturnType<typeof startAuthkitIssuer>>;

interface Client {
  readonly id: string;
  readonly redirectUris: readonly string[];
  readonly name: string;
}

interface Grant {
  readonly client: Client;
  readonly sub: string;
  readonly organizationId: string | undefined;
  readonly resource: string | undefined;
  readonly consent: string;
  readonly scope: readonly string[];
}

interface Code extends Grant {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly expiresAt: number;
}

interface Reply {
  readonly status: number;
  readonly body: object;
}

export interface Person {
  readonly id: string;
  readonly organizationId?: string;
}

/** Seconds. */
const tokenLifetime = 300;
const codeMs = 120_000;

export async function startAuthkitIssuer({ now = () => Date.now() }: { readonly now?: () => number } = {}) {
  const key = createSigningKey('RS256');
  const clients = new Map<string, Client>();
  const machines = new Map<string, { readonly secret: string; readonly audience: string; readonly scope: string }>();
  const resources = new Set<string>();
  const codes = new Map<string, Code>();
  const refreshTokens = new Map<string, Grant>();
  const revoked = new Set<string>();
  /** The consent of a user and a client, which outlives sign-ins. */
  const consents = new Map<string, string>();
  const asked: string[] = [];
  let isDown = false;

  const server = await serve((req, res) => {
    if (isDown) {
      res.destroy();
      return;
    }
    res.setHeader('Access-Control-Allow-Origin', '*');
    answer(req).then(
      ({ status, body }) => sendJson(res, body, status),
      (error: unknown) => sendJson(res, { error: 'server_error', error_description: String(error) }, 500),
    );
  });
  const issuer = server.origin;

  const refuse = (error: string, description: string, status = 400): Reply => ({
    status,
    body: { error, error_description: description },
  });
  const reply = (body: object, status = 200): Reply => ({ status, body });

  async function answer(req: IncomingMessage): Promise<Reply> {
    const url = new URL(req.url ?? '/', issuer);
    const endpoint = `${req.method ?? ''} ${url.pathname}`;
    asked.push(endpoint);
    switch (endpoint) {
      case 'GET /.well-known/oauth-authorization-server':
        return reply(metadata());
      case 'GET /oauth2/jwks':
        return reply(await key.jwks());
      case 'POST /oauth2/register':
        return register(await json(req));
      case 'GET /oauth2/authorize':
        return reply({ error: 'sign_in_required' }, 200);
      case 'POST /oauth2/token':
        return token(new URLSearchParams(await text(req)));
      default:
        return reply({ message: 'Not found' }, 404);
    }
  }

  const metadata = () => ({
    issuer,
    authorization_endpoint: `${issuer}/oauth2/authorize`,
    token_endpoint: `${issuer}/oauth2/token`,
    jwks_uri: `${issuer}/oauth2/jwks`,
    registration_endpoint: `${issuer}/oauth2/register`,
    introspection_endpoint: `${issuer}/oauth2/introspection`,
    code_challenge_methods_supported: ['S256'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    response_modes_supported: ['query'],
    response_types_supported: ['code'],
    scopes_supported: ['email', 'offline_access', 'openid', 'profile'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_post', 'client_secret_basic'],
  });

  /** RFC 7591 */
  function register(body: unknown): Reply {
    const { redirect_uris: redirectUris, client_name: name = '' } = body as Readonly<Record<string, unknown>>;
    if (!Array.isArray(redirectUris) || redirectUris.length === 0)
      return refuse('invalid_redirect_uri', 'redirect_uris is required');
    const client = { id: `client_${randomUUID()}`, redirectUris: redirectUris as string[], name: String(name) };
    clients.set(client.id, client);
    return reply(
      { ...(body as object), client_id: client.id, token_endpoint_auth_method: 'none', client_id_issued_at: 0 },
      201,
    );
  }

  /** What the pages of AuthKit do when a person signs in and allows the client: the URL that the browser is sent to. */
  function approve(authorizationUrl: string | URL, person: Person): URL {
    const { searchParams: query, origin, pathname } = new URL(authorizationUrl);
    const get = (name: string): string => query.get(name) ?? '';
    const client = clients.get(get('client_id'));
    const redirectUri = get('redirect_uri');
    if (origin + pathname !== `${issuer}/oauth2/authorize`) throw new Error(`Not the authorize endpoint: ${pathname}`);
    if (client === undefined) throw new Error('invalid_client');
    if (!client.redirectUris.includes(redirectUri)) throw new Error('invalid_redirect_uri');
    const back = new URL(redirectUri);
    if (query.has('state')) back.searchParams.set('state', get('state'));
    const problem = problemOf(query);
    if (problem !== undefined) {
      back.searchParams.set('error', problem);
      return back;
    }
    const pair = `${person.id} ${client.id}`;
    const consent = consents.get(pair) ?? `app_consent_${randomUUID()}`;
    consents.set(pair, consent);
    revoked.delete(consent);
    const code = randomUUID();
    codes.set(code, {
      client,
      redirectUri,
      consent,
      sub: person.id,
      organizationId: person.organizationId,
      resource: query.get('resource') ?? undefined,
      challenge: get('code_challenge'),
      scope: get('scope').split(' '),
      expiresAt: now() + codeMs,
    });
    back.searchParams.set('code', code);
    return back;
  }

  function problemOf(query: URLSearchParams): string | undefined {
    const asks = query.getAll('resource');
    if (query.get('response_type') !== 'code') return 'unsupported_response_type';
    if (query.get('code_challenge_method') !== 'S256' || !query.has('code_challenge')) return 'invalid_request';
    // RFC 8707 §2
    return asks.length > 1 || asks.some((each) => !resources.has(each)) ? 'invalid_target' : undefined;
  }

  async function token(body: URLSearchParams): Promise<Reply> {
    switch (body.get('grant_type') ?? '') {
      case 'authorization_code':
        return redeem(body);
      case 'refresh_token':
        return refresh(body);
      case 'client_credentials':
        return machine(body);
      default:
        return refuse('unsupported_grant_type', 'This grant type is not supported');
    }
  }

  async function redeem(body: URLSearchParams): Promise<Reply> {
    const name = body.get('code') ?? '';
    const code = codes.get(name);
    codes.delete(name);
    const challenge = createHash('sha256')
      .update(body.get('code_verifier') ?? '')
      .digest('base64url');
    const isGood =
      code?.challenge === challenge &&
      code.expiresAt > now() &&
      code.client.id === body.get('client_id') &&
      code.redirectUri === body.get('redirect_uri') &&
      code.resource === (body.get('resource') ?? undefined);
    if (!isGood) return refuse('invalid_grant', 'The code is not valid');
    return reply(await tokens(code));
  }

  async function refresh(body: URLSearchParams): Promise<Reply> {
    const name = body.get('refresh_token') ?? '';
    const grant = refreshTokens.get(name);
    refreshTokens.delete(name);
    const isGood = grant?.client.id === body.get('client_id') && !revoked.has(grant.consent);
    if (!isGood) return refuse('invalid_grant', 'The refresh token is not valid');
    return reply(await tokens(grant));
  }

  async function machine(body: URLSearchParams): Promise<Reply> {
    const id = body.get('client_id') ?? '';
    const known = machines.get(id);
    if (known?.secret !== body.get('client_secret'))
      return refuse('invalid_client', 'Unknown client or wrong secret', 401);
    const access = await sign({ sub: id, aud: known.audience, org_id: 'org_machine', scope: known.scope });
    return reply({ access_token: access, token_type: 'Bearer', expires_in: tokenLifetime, scope: known.scope });
  }

  async function tokens(grant: Grant) {
    const { sub, resource, client, consent, organizationId, scope } = grant;
    const aud = resource ?? client.id;
    const org = organizationId === undefined ? {} : { org_id: organizationId };
    const accessToken = await sign({ sub, aud, sid: consent, ...org });
    const refreshToken = randomUUID();
    if (scope.includes('offline_access')) refreshTokens.set(refreshToken, grant);
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: tokenLifetime,
      ...(scope.includes('offline_access') ? { refresh_token: refreshToken } : {}),
    };
  }

  function sign(claims: JWTPayload): Promise<string> {
    const iat = Math.floor(now() / 1000);
    return key.sign({ iss: issuer, jti: randomUUID(), iat, exp: iat + tokenLifetime, ...claims });
  }

  return {
    issuer,
    /** `METHOD /path` of each request. */
    asked,
    clients,
    /** Registers a resource indicator, as in the dashboard. */
    addResource: (resource: string) => void resources.add(resource),
    addMachine(audience: string, scope = 'notes:read') {
      const id = `client_${randomUUID()}`;
      const secret = randomUUID();
      machines.set(id, { secret, audience, scope });
      return { id, secret };
    },
    approve,
    sign,
    /** Ends what the person has allowed: refresh tokens stop, access tokens live on until they expire. */
    revoke({ id }: Person) {
      for (const [pair, consent] of consents) if (pair.startsWith(`${id} `)) revoked.add(consent);
    },
    down: (value: boolean) => void (isDown = value),
    close: () => server.close(),
  };
}
