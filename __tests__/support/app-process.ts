import { setTimeout as pause } from 'node:timers/promises';
import { startProviders } from '../../stand-ins/providers.ts';
import type { Providers } from '../../stand-ins/providers.ts';
import { freePortsInARow } from './servers.ts';
import { startTourProcess } from './show.ts';

/** A file that is a whole application, in a process of its own, beside stand-ins for both providers. */
export async function startAppProcesses() {
  // The providers must know it before the app listens.
  const port = await freePortsInARow(1);
  const settings = { port, isRealWorkos: false, isRealSupabase: false, confirmsEmail: false };
  const providers = await startProviders(settings, port);
  return {
    providers,
    /** Runs the file until `use` is done. */
    async running(file: string, use: (origin: string) => Promise<void>): Promise<void> {
      const app = startTourProcess({ PORT: String(port), ...variablesOf(providers) }, [file]);
      const origin = `http://localhost:${port}`;
      try {
        await Promise.race([
          answers(origin),
          app.ended.then((code) => Promise.reject(new Error(`It ended with ${code ?? 'a signal'}: ${app.output()}`))),
        ]);
        await use(origin);
      } finally {
        await app.stop();
      }
    },
  };
}

function variablesOf({ workos, supabase }: Providers): Record<string, string> {
  if (workos === undefined || supabase === undefined) throw new Error('There is no stand-in.');
  return {
    B2B_CLIENT_ID: workos.clientId,
    B2B_API_KEY: workos.apiKey,
    B2B_API_HOSTNAME: workos.hostname,
    B2B_API_PORT: String(workos.port),
    B2B_API_HTTPS: 'false',
    BAAS_URL: supabase.url,
    BAAS_PUBLISHABLE_KEY: supabase.publishableKey,
  };
}

async function answers(origin: string): Promise<void> {
  while (
    !(await fetch(origin).then(
      () => true,
      () => false,
    ))
  )
    await pause(50);
}
