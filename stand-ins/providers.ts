import { randomBytes } from 'node:crypto';
import type { B2bAuthOptions } from 'express-auth-adapters/b2b';
import type { BackendAuthOptions } from 'express-auth-adapters/backend';
import { createDemoClock } from './clock.ts';
import type { DemoClock } from './clock.ts';
import { startSupabaseLocal } from './supabase/index.ts';
import type { SupabaseLocal, SupabaseLocalOptions } from './supabase/index.ts';
import { picturePath } from './page.ts';
import { startWorkosStandIn } from './workos/index.ts';
import { displayName } from './workos/people.ts';
import type { WorkosStandIn } from './workos/index.ts';
import type { Addresses } from './addresses.ts';
import type { Variables } from './env-file.ts';
import type { Settings } from './settings.ts';
import { portsIn, standInClientId } from './variables.ts';

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

/** Tells the developer a sentence. */
type Tell = (sentence: string) => void;

interface StartOptions {
  readonly tell?: Tell;
  /** The variables of an earlier start, whose keys and free ports are used again. */
  readonly kept?: Variables;
  /** What the application registers, where it is known before its first request. */
  readonly addresses?: Addresses | undefined;
}

const silent: Tell = () => undefined;

/** Starts a stand-in for each provider that the environment does not name. */
export async function startProviders(
  settings: Settings,
  port: number,
  { tell = silent, kept = {}, addresses }: StartOptions = {},
): Promise<Providers> {
  const clock = createDemoClock();
  const { now } = clock;
  const siteUrl = `http://localhost:${port}`;
  const ports = portsIn(kept);
  const { B2B_API_KEY: apiKey, BAAS_PUBLISHABLE_KEY: publishableKey, SUPABASE_SECRET_KEY: secretKey } = kept;
  const workos = settings.isRealWorkos
    ? undefined
    : await onPort(ports.workos, (own) => startWorkos(siteUrl, { apiKey, port: own, now, tell, addresses }));
  const local: SupabaseLocalOptions = {
    publishableKey,
    secretKey,
    siteUrl,
    confirmEmail: settings.confirmsEmail,
    now,
    onRedirect: (address, isAllowed) => {
      if (address === addresses?.callback) return;
      tell(
        isAllowed
          ? `Supabase: the real one sends people back to ${address} only if it is in your project's redirect URLs.`
          : `Supabase: ${address} is not an address of this machine. People are sent to ${siteUrl} instead.`,
      );
    },
    onMail: ({ to, subject, text, link }) => tell(`Mail to ${to}: ${subject}. ${text} ${link}`),
  };
  const supabase = settings.isRealSupabase
    ? undefined
    : await onPort(ports.supabase, (own) => startSupabaseLocal({ ...local, port: own }));
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

/** On a free port where another program has this one. */
async function onPort<Started>(port: number, start: (port: number) => Promise<Started>): Promise<Started> {
  try {
    return await start(port);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    return start(0);
  }
}

interface WorkosSettings {
  readonly apiKey: string | undefined;
  readonly port: number;
  readonly now: () => number;
  readonly tell: Tell;
  readonly addresses: Addresses | undefined;
}

async function startWorkos(siteUrl: string, settings: WorkosSettings): Promise<WorkosStandIn> {
  const { apiKey, port, now, tell, addresses } = settings;
  const tellOf = (name: string) => (address: string) =>
    tell(`WorkOS: the real one refuses ${address} unless you register it as a ${name}.`);
  const workos = await startWorkosStandIn({
    clientId: standInClientId,
    apiKey: apiKey ?? `sk_test_${randomBytes(16).toString('hex')}`,
    port,
    ...(addresses && { redirectUris: [addresses.callback], signInUrl: addresses.signIn }),
    logoutReturnTos: [`${siteUrl}/`],
    onRedirectUri: tellOf('redirect URI'),
    onLogoutReturnTo: tellOf('sign-out redirect'),
    now,
  });
  for (const user of workos.users.values())
    workos.users.set(user.id, { ...user, profilePictureUrl: `${workos.url}${picturePath(displayName(user))}` });
  return workos;
}

function standInOptions({ clientId, apiKey, hostname, port }: WorkosStandIn): B2bAuthOptions {
  return {
    clientId,
    apiKey,
    apiUrl: `http://${hostname}:${port}`,
    // The stand-in loses its sessions when it stops, so the cookies need not outlive it.
    cookiePassword: randomBytes(32).toString('base64'),
  };
}

function realWorkosOrigin(environment: NodeJS.ProcessEnv): string {
  const host = environment['B2B_API_HOSTNAME'] ?? 'api.workos.com';
  const port = environment['B2B_API_PORT'];
  return `${environment['B2B_API_HTTPS'] === 'false' ? 'http' : 'https'}://${host}${port === undefined ? '' : `:${port}`}`;
}
