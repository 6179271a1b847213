import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { startGoTrue } from './gotrue.ts';
import type { GoTrueSetup } from './gotrue.ts';
import { startMailSink } from './mail-sink.ts';
import { serveMailTemplates } from './mail-templates.ts';
import { startOAuthProvider } from './oauth-provider.ts';
import { startProxy } from './proxy.ts';
import { portOf, readSettings } from './settings.ts';

export interface User {
  readonly id: string;
  readonly email: string;
  readonly password: string;
}

/** GoTrue's own word, asked without the gateway. */
export interface Verdict {
  readonly status: number;
  readonly body: any;
}

export type Project = Awaited<ReturnType<typeof startProject>>;

/** A Supabase project made of a real GoTrue and of what stands around it: gateway, mail server, templates, OAuth provider. */
export async function startProject(setup?: GoTrueSetup) {
  const settings = readSettings();
  let own = setup === undefined ? undefined : await startGoTrue(setup);
  const gotrue = (): string => own?.url ?? process.env['GOTRUE_URL'] ?? '';
  const secret = setup === undefined ? process.env['GOTRUE_JWT_SECRET'] : settings['GOTRUE_JWT_SECRET'];
  const publishableKey = `sb_publishable_${randomUUID().replaceAll('-', '')}`;
  const secretKey = await signServiceRole(secret);
  const keys = [publishableKey, secretKey];
  const proxy = await startProxy(portOf(settings['API_EXTERNAL_URL'] ?? ''), gotrue(), keys);
  const mails = await startMailSink(Number(settings['GOTRUE_SMTP_PORT']));
  const templates = await serveMailTemplates(portOf(settings['GOTRUE_MAILER_TEMPLATES_INVITE'] ?? ''));
  const oauth = await startOAuthProvider(portOf(settings['GOTRUE_EXTERNAL_KEYCLOAK_URL'] ?? ''));

  async function ask(path: string, method = 'GET', body?: unknown, token?: string): Promise<Verdict> {
    const answer = await fetch(gotrue() + path, {
      method,
      headers: {
        'content-type': 'application/json',
        'x-supabase-api-version': '2024-01-01',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** What only the project's owner may do; the package itself never can. */
  async function admin(path: string, method = 'GET', body?: unknown): Promise<any> {
    const token = await signServiceRole(secret);
    const { status, body: answer } = await ask(path, method, body, token);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  }

  return {
    url: proxy.url,
    publishableKey,
    /** For what the project's owner runs. It is never given to the package. */
    secretKey,
    proxy,
    mails,
    oauth,
    ask,
    admin,
    /** A user with a confirmed address. */
    async addUser(fields: Readonly<Record<string, unknown>> = {}): Promise<User> {
      const user = { ...newUser(), ...fields };
      const { id } = await admin('/admin/users', 'POST', { ...user, email_confirm: true });
      return { ...user, id };
    },
    /** What GoTrue says to a refresh token; a good one is spent by it. */
    refresh: (token: string) => ask('/token?grant_type=refresh_token', 'POST', { refresh_token: token }),
    /** Stops the test's own GoTrue and starts another one on the same database. */
    async restart(next: GoTrueSetup) {
      await own?.close();
      own = await startGoTrue(next);
      proxy.redirect(own.url);
    },
    async close() {
      for (const server of [proxy, mails, templates, oauth]) await server.close();
      await own?.close();
    },
  };
}

function signServiceRole(secret: string | undefined): Promise<string> {
  return new SignJWT({ role: 'service_role' })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret));
}

/** An address and a password that GoTrue has not seen. */
export function newUser(): Omit<User, 'id'> {
  return { email: `${randomUUID()}@example.com`, password: 'correct horse battery' };
}
