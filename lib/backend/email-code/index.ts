import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import type { SignInPart } from '../slots.ts';
import { offers } from '../options.ts';
import { envelopeIcon } from '../../pages/icons.ts';
import { lastUsedAt, withReturnTo } from '../pages/parts.ts';
import { emailCodeMethod } from './options.ts';
import { codeAddressForm } from './page.ts';
import { codeRoute } from './route.ts';

const show: SignInPart<BackendContext>['show'] = (site, request, state) => {
  const action = request.localPath(site.settings.paths.code);
  return {
    form: ({ autocomplete }) => {
      const form = codeAddressForm(site, request, { ...state, autocomplete });
      return { ...form, buttons: form.buttons.map((button) => ({ ...button, ...lastUsedAt(site, emailCodeMethod) })) };
    },
    button: {
      label: site.text.toCodeButton,
      look: 'quiet',
      icon: envelopeIcon,
      action,
      ...lastUsedAt(site, emailCodeMethod),
    },
    links: { code: withReturnTo(action, state) },
  };
};

/** Sign-in by a code or link sent by email. */
export const emailCode: Feature = {
  routes: (backend) => (offers(backend.settings, emailCodeMethod) ? [codeRoute(backend)] : []),
  signIn: (settings) => (offers(settings, emailCodeMethod) ? { ways: [emailCodeMethod], show } : undefined),
  account: (settings) =>
    offers(settings, emailCodeMethod) ? { signsIn: (provider) => provider === 'email' } : undefined,
  ways: (settings) => (offers(settings, emailCodeMethod) ? { code: settings.paths.code } : {}),
};
