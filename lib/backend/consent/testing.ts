import { randomBytes, randomUUID } from 'node:crypto';
import type { InMemorySupabase } from '../../testing/in-memory-supabase.ts';
import { userOf } from '../../testing/backend-users.ts';
import type { BackendUser } from '../../types.ts';

export interface ConsentTestKit {
  /**
   * An app asks a user for consent, with `oauthConsent: true`.
   *
   * @returns the id for `/oauth/consent?authorization_id=…`
   */
  askConsent(app?: TestApp): string;
}

/** An app at the project's OAuth server. */
export interface TestApp {
  /** Default `Test app`. Apps of one name are one app. */
  readonly name?: string;
  /** Default `https://app.example/callback`. */
  readonly redirectUri?: string;
  /** Default `['email']`. */
  readonly scopes?: readonly string[];
}

export function createConsentKit(supabase: InMemorySupabase): ConsentTestKit {
  const apps = new TestApps();
  supabase.add({
    answer: ({ call, url, body, started }) => started && apps.answer(call, url, body, userOf(started.session)),
  });
  return { askConsent: (app) => apps.ask(app) };
}

interface Asked extends Required<TestApp> {
  readonly clientId: string;
  userId?: string;
  isAnswered?: boolean;
}

/** The part of Supabase's OAuth server that the consent page and the list of connected apps call. */
class TestApps {
  readonly #clientIds = new Map<string, string>();
  readonly #authorizations = new Map<string, Asked>();
  /** By user and client. */
  readonly #grants = new Map<string, { readonly asked: Asked; readonly grantedAt: string }>();

  /** @returns the id of the authorization */
  ask({ name = 'Test app', redirectUri = 'https://app.example/callback', scopes = ['email'] }: TestApp = {}): string {
    const id = randomBytes(16).toString('hex');
    const clientId = this.#clientIds.get(name) ?? randomUUID();
    this.#clientIds.set(name, clientId);
    this.#authorizations.set(id, { name, redirectUri, scopes, clientId });
    return id;
  }

  /** `undefined` for a call of another kind. */
  answer(
    call: string,
    { searchParams }: URL,
    body: Readonly<Record<string, unknown>>,
    user: BackendUser,
  ): Response | undefined {
    if (call === 'GET user/oauth/grants') return this.#list(user);
    if (call === 'DELETE user/oauth/grants') return this.#revoke(user, searchParams.get('client_id') ?? '');
    const [, method, id = '', isConsent] = /^(GET|POST) oauth\/authorizations\/([^/]+)(\/consent)?$/.exec(call) ?? [];
    if (method === undefined) return undefined;
    const asked = this.#authorizations.get(id);
    const isOthers = asked?.userId !== undefined && asked.userId !== user.id;
    if (asked === undefined || isOthers) return refusal(404, 'oauth_authorization_not_found');
    if (asked.isAnswered === true) return refusal(400, 'validation_failed');
    return isConsent === undefined ? this.#read(id, asked, user) : this.#decide(asked, user, body['action']);
  }

  /** Supabase's own rule: the first read binds the authorization to the user, and approves what was granted before. */
  #read(id: string, asked: Asked, user: BackendUser): Response {
    const isNew = asked.userId === undefined;
    asked.userId ??= user.id;
    const granted = this.#grants.get(keyOf(user, asked.clientId))?.asked.scopes ?? [];
    if (isNew && granted.length > 0 && asked.scopes.every((scope) => granted.includes(scope))) {
      asked.isAnswered = true;
      return redirect(asked, { code: randomUUID() });
    }
    return Response.json({
      authorization_id: id,
      redirect_uri: asked.redirectUri,
      client: clientOf(asked),
      user: { id: user.id, email: user.email },
      scope: asked.scopes.join(' '),
    });
  }

  #decide(asked: Asked, user: BackendUser, action: unknown): Response {
    asked.isAnswered = true;
    if (action !== 'approve') return redirect(asked, { error: 'access_denied' });
    this.#grants.set(keyOf(user, asked.clientId), { asked, grantedAt: new Date().toISOString() });
    return redirect(asked, { code: randomUUID() });
  }

  #list(user: BackendUser): Response {
    const own = [...this.#grants].filter(([key]) => key.startsWith(keyOf(user, ''))).map(([, grant]) => grant);
    return Response.json(
      own.map(({ asked, grantedAt }) => ({ client: clientOf(asked), scopes: asked.scopes, granted_at: grantedAt })),
    );
  }

  #revoke(user: BackendUser, clientId: string): Response {
    if (this.#grants.delete(keyOf(user, clientId))) return new Response(null, { status: 204 });
    return refusal(404, 'oauth_consent_not_found');
  }
}

function keyOf({ id }: BackendUser, clientId: string): string {
  return `${id} ${clientId}`;
}

function clientOf({ clientId, name }: Asked): { readonly id: string; readonly name: string } {
  return { id: clientId, name };
}

function redirect({ redirectUri }: Asked, parameters: Readonly<Record<string, string>>): Response {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return Response.json({ redirect_url: url.href });
}

function refusal(status: number, code: string): Response {
  return Response.json({ code, message: code }, { status, headers: { 'x-supabase-api-version': '2024-01-01' } });
}
