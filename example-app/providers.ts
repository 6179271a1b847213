import { randomBytes } from 'node:crypto';
import type { B2bAuthOptions } from 'express-auth-adapters/b2b';
import type { BackendAuthOptions } from 'express-auth-adapters/backend';
import { startSupabaseLocal } from './providers/supabase/index.ts';
import type { SupabaseLocal } from './providers/supabase/index.ts';
import { startWorkosStandIn } from './providers/workos/index.ts';
import type { WorkosStandIn } from './providers/workos/index.ts';
import type { Settings } from './settings.ts';

/** What the adapters sign in against, and how to reach it. */
export interface Providers {
  /** Undefined where the real WorkOS is used. */
  readonly workos: WorkosStandIn | undefined;
  /** Undefined where a real Supabase project is used. */
  readonly supabase: SupabaseLocal | undefined;
  /** Empty where the adapter finds everything in the environment. */
  readonly b2bOptions: B2bAuthOptions;
  /** Empty where the adapter finds everything in the environment. */
  readonly backendOptions: BackendAuthOptions;
  /** The provider's origin: a sign-out form leads there, so the pages' policy must allow it. */
  readonly b2bOrigin: string;
  close(): Promise<void>;
}

/** Starts a stand-in for each provider that the environment does not name. */
export async function startProviders(settings: Settings, port: number): Promise<Providers> {
  const workos = settings.isRealWorkos ? undefined : await startWorkos(port);
  const supabase = settings.isRealSupabase ? undefined : await startSupabase(port, settings.confirmsEmail);
  return {
    workos,
    supabase,
    b2bOptions: workos === undefined ? {} : standInOptions(workos),
    backendOptions: supabase === undefined ? {} : { url: supabase.url, anonKey: supabase.publishableKey },
    b2bOrigin: workos?.url ?? realWorkosOrigin(process.env),
    close: async () => {
      await Promise.all([workos?.close(), supabase?.close()]);
    },
  };
}

/** The app may be called by either name of this machine, so both are registered. */
function startWorkos(port: number): Promise<WorkosStandIn> {
  const origins = [`http://localhost:${port}`, `http://127.0.0.1:${port}`];
  return startWorkosStandIn({
    clientId: 'client_example',
    apiKey: `sk_test_${randomBytes(16).toString('hex')}`,
    redirectUris: origins.map((origin) => `${origin}/callback`),
    logoutReturnTos: origins.map((origin) => `${origin}/`),
  });
}

function startSupabase(port: number, confirmEmail: boolean): Promise<SupabaseLocal> {
  return startSupabaseLocal({ siteUrl: `http://localhost:${port}`, confirmEmail });
}

function standInOptions({ clientId, apiKey, hostname, port }: WorkosStandIn): B2bAuthOptions {
  return {
    clientId,
    apiKey,
    apiHostname: hostname,
    port,
    https: false,
    // The stand-in forgets its sessions when it stops; the cookies may as well.
    cookiePassword: randomBytes(32).toString('base64'),
  };
}

function realWorkosOrigin(environment: NodeJS.ProcessEnv): string {
  const host = environment['B2B_API_HOSTNAME'] ?? 'api.workos.com';
  const port = environment['B2B_API_PORT'];
  return `${environment['B2B_API_HTTPS'] === 'false' ? 'http' : 'https'}://${host}${port === undefined ? '' : `:${port}`}`;
}
