import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import type { SignInPart } from '../slots.ts';
import { buildingIcon } from '../../pages/icons.ts';
import { lastUsedAt, link, withReturnTo } from '../pages/parts.ts';
import { ssoRoute } from './route.ts';

/** Its name among the ways in. */
const ssoWay = 'sso';

const show: SignInPart<BackendContext>['show'] = (site, request, state) => {
  const { settings, text } = site;
  const sso = withReturnTo(request.localPath(settings.paths.sso), state);
  return { below: [{ ...link('sso', sso, text.toSsoLink, 'quiet'), icon: buildingIcon, ...lastUsedAt(site, ssoWay) }] };
};

/** SAML single sign-on by the email's domain. */
export const sso: Feature = {
  routes: (backend) => (backend.settings.sso ? [ssoRoute(backend)] : []),
  signIn: (settings) => (settings.sso ? { ways: [ssoWay], show } : undefined),
  account: (settings) => (settings.sso ? { signsIn: (provider) => provider.startsWith('sso:') } : undefined),
};
