import { randomBytes } from 'node:crypto';
import type { B2bAuthOptions } from 'express-auth-adapters/b2b';
import type { BackendAuthOptions } from 'express-auth-adapters/backend';
import { createDemoClock } from './clock.ts';
import type { DemoClock } from './clock.ts';
import { startSupabaseLocal } from './supabase/index.ts';
import type { SupabaseLocal } from './supabase/index.ts';
import { startWorkosStandIn } from './workos/index.ts';
import type { WorkosStandIn } from './workos/index.ts';
import type { Settings } from './settings.ts';

/** The providers of the adapters, and their settings. */
export interface Providers {
  /** Undefined where the real WorkOS is used. */
  readonly workos: WorkosStandIn | undefined;
  /** Undefined where a real Supabase project is used. */
  readonly supabase: SupabaseLocal | undefined;
  /** The clock of the stand-ins and of the adapters that use them. */
  readonly clock: DemoClock;
  /** Empty where the adapter reads everything from the environment. */
  readonly b2bOptions: B2bAuthOptions;
  /** Empty where the adapter reads everything from the environment. */
  readonly backendOptions: BackendAuthOptions;
  /** The provider's origin: a sign-out form redirects there, so the pages' CSP must allow it. */
  readonly b2bOrigin: string;
  close(): Promise<void>;
}

/** Starts a stand-in for each provider that the environment does not name. */
export async function startProviders(settings: Settings, port: number): Promise<Providers> {
  const clock = createDemoClock();
  const { now } = clock;
  const siteUrl = `http://localhost:${port}`;
  const workos = settings.isRealWorkos ? undefined : await startWorkos(port, now);
  const supabase = settings.isRealSupabase
    ? undefined
    : await startSupabaseLocal({ siteUrl, confirmEmail: settings.confirmsEmail, now });
  return {
    workos,
    supabase,
    clock,
    b2bOptions: workos === undefined ? {} : { ...standInOptions(workos), now },
    backendOptions: supabase === undefined ? {} : { url: supabase.url, anonKey: supabase.publishableKey, now },
    b2bOrigin: workos?.url ?? realWorkosOrigin(process.env),
    close: async () => {
      await Promise.all([workos?.close(), supabase?.close()]);
    },
  };
}

/** Either name of this machine may be used, so both are registered. */
function startWorkos(port: number, now: () => number): Promise<WorkosStandIn> {
  const origins = [`http://localhost:${port}`, `http://127.0.0.1:${port}`];
  return startWorkosStandIn({
    clientId: 'client_example',
    apiKey: `sk_test_${randomBytes(16).toString('hex')}`,
    redirectUris: origins.map((origin) => `${origin}/**`),
    logoutReturnTos: origins.map((origin) => `${origin}/`),
    now,
  });
}

function standInOptions({ clientId, apiKey, hostname, port }: WorkosStandIn): B2bAuthOptions {
  return {
    clientId,
    apiKey,
    apiHostname: hostname,
    port,
    https: false,
    // The stand-in loses its sessions when it stops, so the cookies need not outlive it.
    cookiePassword: randomBytes(32).toString('base64'),
  };
}

function realWorkosOrigin(environment: NodeJS.ProcessEnv): string {
  const host = environment['B2B_API_HOSTNAME'] ?? 'api.workos.com';
  const port = environment['B2B_API_PORT'];
  return `${environment['B2B_API_HTTPS'] === 'false' ? 'http' : 'https'}://${host}${port === undefined ? '' : `:${port}`}`;
}
