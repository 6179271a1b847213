import { randomBytes, randomUUID } from 'node:crypto';
import { createSigningKey } from './provider.ts';
import type { ProviderCall, ProviderState } from './provider.ts';
import { assurance, toWire, userOf } from './backend-users.ts';
import type { BackendTestSession } from './backend-users.ts';
import { secondsBefore } from './times.ts';

/** Seconds; Supabase's own default. */
export const tokenLifetime = 3600;

export interface Started {
  /** The session's id, constant through all renewals. */
  readonly id: string;
  readonly session: BackendTestSession;
  /** The first method in `amr`. Default: `password`, or that of an email's link. */
  readonly method?: string;
  /** When its first token was issued, in seconds since the epoch. Default: now. */
  readonly at?: number;
}

export interface Issued {
  readonly access_token: string;
  readonly token_type: 'bearer';
  readonly expires_in: number;
  /** Seconds since the epoch. */
  readonly expires_at: number;
  readonly refresh_token: string;
  readonly user: ReturnType<typeof toWire>;
}

/** A call to the project. */
export interface ProjectCall {
  /** Method and path, such as `POST token`. */
  readonly call: string;
  readonly url: URL;
  readonly body: ProviderCall['body'];
  /** Whose token is on it. */
  readonly started: Started | undefined;
}

/** What a capability adds to the project. */
export interface ProjectPart {
  /** Members of a user. */
  readonly userMembers?: (session: BackendTestSession) => object;
  /** `undefined` for a call of another kind. */
  readonly answer: (call: ProjectCall) => Response | undefined | Promise<Response | undefined>;
}

/** The SDK calls that `backendAuth` makes, answered for the sessions that tests start. */
export class InMemorySupabase {
  readonly #url: string;
  readonly #now: () => number;
  readonly #key = createSigningKey('ES256');
  readonly #parts: ProjectPart[] = [];
  readonly #byRefreshToken = new Map<string, Started>();
  readonly #byAccessToken = new Map<string, Started>();
  readonly #byLink = new Map<string, Started>();

  /** @param now milliseconds since the epoch */
  constructor(url: string, now: () => number) {
    this.#url = url;
    this.#now = now;
  }

  add(part: ProjectPart): void {
    this.#parts.push(part);
  }

  /** Seconds since the epoch at which a challenge of now ends. */
  challengeEnd(): number {
    return Math.floor(this.#now() / 1000) + 300;
  }

  /** @returns the hash of an email's link that signs this person in, once */
  mail(session: BackendTestSession): string {
    const hash = randomBytes(18).toString('base64url');
    this.#byLink.set(hash, { id: session.sessionId ?? randomUUID(), session });
    return hash;
  }

  /** @param age seconds since the token was issued */
  async issue(started: Started, age = 0): Promise<Issued> {
    // With milliseconds, so that `endSession` can distinguish sessions of the same second.
    const { id, session, method, at = this.#now() / 1000 } = started;
    const known = { ...started, at };
    const user = userOf(session);
    const iat = secondsBefore(this.#now() / 1000, age);
    const exp = secondsBefore(this.#now() / 1000, age - tokenLifetime);
    const refreshToken = randomBytes(9).toString('base64url');
    const accessToken = await this.#key.sign({
      iss: `${this.#url}/auth/v1`,
      sub: user.id,
      aud: 'authenticated',
      exp,
      iat,
      email: user.email ?? '',
      phone: user.phone ?? '',
      app_metadata: { ...user.appMetadata },
      user_metadata: { ...user.userMetadata },
      role: user.role,
      ...assurance(session, at, method),
      session_id: id,
      is_anonymous: user.isAnonymous,
      ...session.claims,
    });
    this.#byRefreshToken.set(refreshToken, known);
    this.#byAccessToken.set(accessToken, known);
    return {
      access_token: accessToken,
      token_type: 'bearer',
      expires_in: tokenLifetime,
      expires_at: exp,
      refresh_token: refreshToken,
      user: this.#toWire(session),
    };
  }

  async answer({ method, url, body, headers }: ProviderCall, state: ProviderState): Promise<Response | undefined> {
    const path = url.href.startsWith(`${this.#url}/auth/v1/`) ? url.pathname.split('/auth/v1/')[1] : undefined;
    const token = (headers.get('authorization') ?? '').replace(/^Bearer /i, '');
    const started = state === 'revoking' ? undefined : this.#byAccessToken.get(token);
    const call = `${method} ${path ?? ''}`;
    switch (call) {
      case 'GET .well-known/jwks.json':
        return Response.json(await this.#key.jwks());
      case 'POST token':
        if (url.searchParams.get('grant_type') !== 'refresh_token') return undefined;
        return this.#refresh(String(body['refresh_token']), state);
      case 'GET user':
      case 'PUT user':
        return started === undefined ? noSession() : Response.json(this.#toWire(started.session));
      case 'POST verify':
        return this.#openLink(String(body['token_hash']));
      case 'POST logout':
        return new Response(null, { status: 204 });
      default:
        return this.#answerByParts({ call, url, body, started });
    }
  }

  async #answerByParts(call: ProjectCall): Promise<Response | undefined> {
    for (const { answer } of this.#parts) {
      const answered = await answer(call);
      if (answered !== undefined) return answered;
    }
    return undefined;
  }

  #toWire(session: BackendTestSession) {
    const members = this.#parts.map(({ userMembers }) => userMembers?.(session));
    return { ...toWire(session), ...(Object.assign({}, ...members) as object) };
  }

  async #openLink(hash: string): Promise<Response> {
    const started = this.#byLink.get(hash);
    this.#byLink.delete(hash);
    if (started === undefined) return refusal(403, 'otp_expired', 'Email link is invalid or has expired');
    return Response.json(await this.issue(started));
  }

  async #refresh(token: string, state: ProviderState): Promise<Response> {
    const started = state === 'revoking' ? undefined : this.#byRefreshToken.get(token);
    this.#byRefreshToken.delete(token);
    if (started === undefined) return refusal(400, 'refresh_token_not_found', 'Invalid Refresh Token');
    return Response.json(await this.issue(started));
  }
}

/** Supabase's answer to a token whose session is over. */
export const noSession = (): Response => refusal(403, 'session_not_found', 'The session does not exist');

export const refusal = (status: number, code: string, message: string): Response =>
  Response.json({ code, message }, { status, headers: { 'x-supabase-api-version': '2024-01-01' } });
