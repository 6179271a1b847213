import type { AuthRoute } from '../../http/router.ts';
import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';

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

/** The consent page of the project's OAuth server, and the apps that users have allowed. */
export const consent: Feature = {
  routes,
  adapter: ({ settings }) => ({ keepsOpener: settings.oauthConsent }),
};
