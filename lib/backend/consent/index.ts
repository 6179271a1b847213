import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import { AuthError } from '../../errors.ts';
import { appDrawing } from '../../pages/icons.ts';
import { textOf } from '../../tools/html.ts';
import type { AccountPart } from '../slots.ts';

/** The pages of the project's OAuth server, loaded by the first request for them. */
function routes(backend: BackendContext): readonly AuthRoute[] {
  const { settings } = backend;
  const consent = () => import('./route.ts');
  const apps = () => import('./apps-route.ts');
  if (!settings.oauthConsent) return [];
  return [
    {
      path: settings.paths.consent,
      option: 'paths.consent',
      isReturnTarget: true,
      hasGetEffects: true,
      get: async (request) => (await consent()).showConsent(backend, request),
      post: async (request) => (await consent()).answerConsent(backend, request),
    },
    {
      path: settings.paths.connectedApps,
      option: 'paths.connectedApps',
      isReturnTarget: true,
      get: async (request) => (await apps()).showApps(backend, request),
      post: async (request) => (await apps()).disconnectApp(backend, request),
    },
  ];
}

/** None where the project's OAuth server is off. */
const row: AccountPart<BackendContext>['row'] = async (backend, request, { site, content }) => {
  const { listApps } = await import('./apps-route.ts');
  const listed = await listApps(backend, request, { content }).catch((error: unknown) => {
    if (error instanceof AuthError && error.reason === 'feature_disabled') return undefined;
    throw error;
  });
  if (listed === undefined) return undefined;
  const { connectedApps: path } = backend.settings.paths;
  const value = listed.length;
  return { field: 'apps', value, label: site.text.appsHeading, state: textOf(String(value)), path, icon: appDrawing };
};

/** The consent page of the project's OAuth server, and the apps that users have allowed. */
export const consent: Feature = {
  routes,
  account: ({ oauthConsent }) => (oauthConsent ? { row } : undefined),
  adapter: ({ settings }) => ({ keepsOpener: settings.oauthConsent }),
};
