import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import type { SignInPart } from '../slots.ts';
import { offers } from '../options.ts';
import { lastUsedAt, returnToOf } from '../pages/parts.ts';
import { pageScript } from '../pages/script-route.ts';
import { ceremonyFallback, ceremonyForm } from '../webauthn/page.ts';
import { passkeyMethod } from './options.ts';
import { passkeysRoute } from './manage-route.ts';
import { offerPasskey } from './offer.ts';
import { passkeyRoute } from './sign-in-route.ts';

/** The main button where there is no other form, which then needs a script. */
const show: SignInPart<BackendContext>['show'] = (site, request, state) => {
  const { settings, text } = site;
  const isAlone = settings.signInMethods.length === 1 || state.hasNoAddress === true;
  const form = ceremonyForm(site, request, {
    kind: 'get',
    name: 'passkey',
    path: settings.paths.passkey,
    hidden: returnToOf(state),
    label: text.passkeyButton,
    ...lastUsedAt(site, passkeyMethod),
    isQuiet: !isAlone,
    hasAutofill: !isAlone,
    isAgain: state.isAgain,
  });
  return {
    below: [isAlone && ceremonyFallback(site), form],
    needsNoAddress: true,
    script: pageScript(site, request, settings.paths.passkey),
    // Browsers offer passkeys in the field with `webauthn` (HTML §4.10.18.7.1), once the page's script asks for one.
    autocomplete: 'username webauthn',
  };
};

/** Sign-in with a passkey, and the page of an account's passkeys. */
export const passkeys: Feature = {
  routes(backend) {
    if (!offers(backend.settings, passkeyMethod)) return [];
    return [passkeyRoute(backend), passkeysRoute(backend)];
  },
  signIn: (settings) =>
    offers(settings, passkeyMethod) ? { ways: [passkeyMethod], offer: offerPasskey, show } : undefined,
};
