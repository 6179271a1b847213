import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { App } from '@supabase/lite';
import { createConnection } from '@supabase/lite/sqlite';
import { createGithubStandIn } from './github.ts';
import { serveRequest } from './http-bridge.ts';
import { notesSchema, welcomeTrigger } from './notes.ts';
import { createOutbox } from './outbox.ts';
import type { Outbox } from './outbox.ts';

export type { Mail, Outbox } from './outbox.ts';

export interface SupabaseLocalOptions {
  /** 0 picks a free port. */
  readonly port: number;
  /** A loopback address; anything else is refused. */
  readonly host?: string;
  /** The application's origin: where mails and OAuth lead back to. */
  readonly siteUrl: string;
  /** Whether a new account needs a click in a mail first; default true. */
  readonly confirmEmail?: boolean;
  /** An SQLite file that outlives the process; default: in memory. */
  readonly databaseFile?: string;
}

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

export interface SupabaseLocal {
  readonly url: string;
  readonly publishableKey: string;
  readonly outbox: Pick<Outbox, 'list' | 'clear'>;
  /** An account that exists already. It opens nothing but this local database. */
  readonly demo: Credentials;
  close(): Promise<void>;
}

const loopback: readonly string[] = ['127.0.0.1', '::1', 'localhost'];
const demo: Credentials = { email: 'demo@example.com', password: 'try-me-locally' };
const githubAccount = { id: 583231, login: 'octavia', name: 'Octavia Demo', email: 'octavia@example.com' };
const githubPath = '/github-stand-in';

/**
 * A Supabase project inside this process, on @supabase/lite: auth with mails that go to an outbox, "GitHub" as an OAuth
 * provider, and a `notes` table with row-level security. For looking around and for tests; its keys last as long as it runs.
 *
 * @throws Error in production, and for a host that others could reach.
 */
export async function startSupabaseLocal(options: SupabaseLocalOptions): Promise<SupabaseLocal> {
  const { port, host = '127.0.0.1', siteUrl, confirmEmail = true, databaseFile } = options;
  if (process.env['NODE_ENV'] === 'production')
    throw new Error('supabase-local is a toy: it does not run in production.');
  if (!loopback.includes(host)) throw new Error(`supabase-local listens on loopback only, not on ${host}.`);
  // @supabase/lite reads its bcrypt cost from the environment only; 10 makes every sign-in here wait for nothing.
  process.env['LITE_AUTH_BCRYPT_COST'] ??= '4';

  // The port must be known first; requests that come before there is a handler wait for it.
  const ready = Promise.withResolvers<Handle>();
  const server = createServer((req, res) => void ready.promise.then((handle) => serveRequest(handle, url, req, res)));
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('supabase-local has no port.');
  const url = `http://${host === '::1' ? '[::1]' : host}:${address.port}`;

  const publishableKey = `sb_publishable_${randomBytes(24).toString('base64url')}`;
  const outbox = createOutbox();
  const github = {
    clientId: 'supabase-local',
    clientSecret: randomBytes(24).toString('base64url'),
    redirectUri: `${url}/auth/v1/callback`,
    account: githubAccount,
  };
  const connection = createConnection({ url: databaseFile === undefined ? ':memory:' : `file:${databaseFile}` });
  const app = new App({
    connection,
    auth: {
      enabled: true,
      jwt_secret: randomBytes(32).toString('base64url'),
      publishable_key: publishableKey,
      site_url: siteUrl,
      minimum_password_length: 8,
      email: {
        enable_confirmations: confirmEmail,
        template: {
          confirmation: {
            subject: 'Confirm your sign-up',
            content_path: `${import.meta.dirname}/confirmation.html`,
          },
        },
      },
      external: {
        github: {
          enabled: true,
          client_id: github.clientId,
          secret: github.clientSecret,
          redirect_uri: github.redirectUri,
          url: `${url}${githubPath}`,
        },
      },
    },
    options: { drivers: { email: outbox } },
  });
  await app.ensureSystemSchema();
  await connection.createMigrator(notesSchema).migrate();
  await connection.exec(welcomeTrigger);

  const githubStandIn = createGithubStandIn(github);
  const handle: Handle = (request) => {
    const { pathname } = new URL(request.url);
    return pathname.startsWith(`${githubPath}/`)
      ? githubStandIn(request, pathname.slice(githubPath.length))
      : // No peer address: lite's admin mode, which would read every row, stays out of reach.
        app.fetch(request, { peerAddress: null });
  };
  await seedDemoUser({ handle, url, publishableKey, outbox });
  ready.resolve(handle);

  return {
    url,
    publishableKey,
    outbox,
    demo,
    async close() {
      server.close();
      server.closeAllConnections();
      await connection.close();
    },
  };
}

type Handle = (request: Request) => Response | Promise<Response>;

interface SeedContext {
  readonly handle: Handle;
  readonly url: string;
  readonly publishableKey: string;
  readonly outbox: Outbox;
}

/** Signs the demo user up through the front door and clicks the mail's link; with a database file it may exist already. */
async function seedDemoUser({ handle, url, publishableKey, outbox }: SeedContext): Promise<void> {
  const post = (path: string, body: object) =>
    handle(
      new Request(`${url}/auth/v1/${path}`, {
        method: 'POST',
        headers: { apikey: publishableKey, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    );
  await post('signup', demo);
  const link = outbox.list()[0]?.link;
  if (link === undefined) return;
  const tokenHash = new URL(link).searchParams.get('token_hash');
  await post('verify', { type: 'signup', token_hash: tokenHash });
  outbox.clear();
}
