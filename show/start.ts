import { createApp } from './app.ts';
import { startGateway } from './gateway.ts';
import { listenOnLocalhost } from './listen.ts';
import { liveSockets } from './live.ts';
import { neighbor } from './neighbor.ts';
import { openNotes } from './notes.ts';
import { startProviders } from '../stand-ins/providers.ts';
import type { Providers } from '../stand-ins/providers.ts';
import type { Settings } from '../stand-ins/settings.ts';

export interface RunningTour {
  /** `http://localhost:<port>` */
  readonly origin: string;
  readonly providers: Providers;
  close(): Promise<void>;
}

export interface StartOptions {
  readonly settings: Settings;
  /** The folder with the typed client's modules, for the browser. */
  readonly clientModules: string;
}

/**
 * Opens the port first, because the providers need the redirect address; then starts the providers, then the app.
 *
 * @throws PortTakenError, and `ConfigurationError` for options that the adapters refuse
 */
export async function startTour({ settings, clientModules }: StartOptions): Promise<RunningTour> {
  const listener = await listenOnLocalhost(settings.port);
  const providers = await startProviders(settings, listener.port);
  const { databaseUrl } = settings;
  const notes = databaseUrl === undefined ? undefined : await openNotes(databaseUrl);
  const { app, b2b } = createApp({ providers, clientModules, notes });
  const gateway = await startGateway(app, neighbor);
  listener.serve(gateway.handler, liveSockets(b2b));
  return {
    origin: `http://localhost:${listener.port}`,
    providers,
    close: async () => {
      await listener.close();
      await gateway.close();
      await providers.close();
      await notes?.end();
    },
  };
}
