import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Variables } from './env-file.ts';
import type { SupabaseLocal } from './supabase/index.ts';
import type { WorkosStandIn } from './workos/index.ts';

/** The stand-in for WorkOS has one client. */
export const standInClientId = 'client_example';

export function workosVariables(
  workos: Pick<WorkosStandIn, 'clientId' | 'apiKey' | 'hostname' | 'port'> | undefined,
): Variables {
  if (workos === undefined) return {};
  const { clientId, apiKey, hostname, port } = workos;
  return {
    B2B_CLIENT_ID: clientId,
    B2B_API_KEY: apiKey,
    B2B_API_HOSTNAME: hostname,
    B2B_API_PORT: String(port),
    B2B_API_HTTPS: 'false',
  };
}

export function supabaseVariables(
  supabase: Pick<SupabaseLocal, 'url' | 'publishableKey' | 'secretKey'> | undefined,
): Variables {
  if (supabase === undefined) return {};
  const { url, publishableKey, secretKey } = supabase;
  // The adapter takes no secret key: it is for an application's own admin calls.
  return { BAAS_URL: url, BAAS_PUBLISHABLE_KEY: publishableKey, SUPABASE_SECRET_KEY: secretKey };
}

/** Settings of a stand-in that is started later with them. */
export async function newVariables(adapter: 'b2b' | 'backend'): Promise<Variables> {
  const [port, key] = [await freePort(), randomBytes(16).toString('hex')];
  return adapter === 'b2b'
    ? workosVariables({ clientId: standInClientId, apiKey: `sk_test_${key}`, hostname: '127.0.0.1', port })
    : supabaseVariables({
        url: `http://127.0.0.1:${port}`,
        publishableKey: `sb_publishable_${key}`,
        secretKey: `sb_secret_${randomBytes(16).toString('hex')}`,
      });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** The port of each stand-in in such variables; 0 where there is none. */
export function portsIn(variables: Variables): { readonly workos: number; readonly supabase: number } {
  const { B2B_API_PORT: workos = '', BAAS_URL: url = '' } = variables;
  return { workos: portOf(workos), supabase: portOf(URL.parse(url)?.port ?? '') };
}

const portOf = (text: string): number => (/^\d{1,5}$/.test(text) && Number(text) < 65_536 ? Number(text) : 0);
