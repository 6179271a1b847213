import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import type { SignInPart } from '../slots.ts';
import { offers } from '../options.ts';
import { envelopeIcon } from '../../pages/icons.ts';
import { withReturnTo } from '../pages/parts.ts';
import { codeAddressForm } from './page.ts';
import { codeRoute } from './route.ts';

const show: SignInPart<BackendContext>['show'] = (site, request, state) => {
  const action = request.localPath(site.settings.codePath);
  return {
    form: ({ autocomplete }) => codeAddressForm(site, request, { ...state, autocomplete }),
    button: { label: site.text.toCodeButton, look: 'quiet', icon: envelopeIcon, action },
    links: { code: withReturnTo(action, state) },
  };
};

/** Sign-in by a code or link sent by email. */
export const emailCode: Feature = {
  routes: (backend) => (offers(backend.settings, 'code') ? [codeRoute(backend)] : []),
  signIn: (settings) => (offers(settings, 'code') ? { show } : undefined),
  ways: (settings) => (offers(settings, 'code') ? { code: settings.codePath } : {}),
};
