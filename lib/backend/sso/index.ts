import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import type { SignInPart } from '../slots.ts';
import { buildingIcon } from '../../pages/icons.ts';
import { link, withReturnTo } from '../pages/parts.ts';
import { ssoRoute } from './route.ts';

const show: SignInPart<BackendContext>['show'] = ({ settings, text }, request, state) => {
  const sso = withReturnTo(request.localPath(settings.ssoPath), state);
  return { below: [{ ...link('sso', sso, text.toSsoLink, 'quiet'), icon: buildingIcon }] };
};

/** SAML single sign-on by the email's domain. */
export const sso: Feature = {
  routes: (backend) => (backend.settings.sso ? [ssoRoute(backend)] : []),
  signIn: (settings) => (settings.sso ? { show } : undefined),
};
