import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import { textOf } from '../../tools/html.ts';
import { FormProblem } from '../forms/fields.ts';
import type { AccountPart, SignInPart } from '../slots.ts';
import { offers } from '../options.ts';
import { lastUsedAt, returnToOf } from '../pages/parts.ts';
import { pageScript } from '../pages/script-route.ts';
import { ceremonyFallback, ceremonyForm, keyDrawing } from '../webauthn/page.ts';
import { passkeyMethod } from './options.ts';
import { passkeysRoute } from './manage-route.ts';
import { offerPasskey } from './offer.ts';
import { listPasskeys } from './passkeys.ts';
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

/** None where the project has them switched off. */
const row: AccountPart<BackendContext>['row'] = async (backend, request, { site, content }) => {
  const listed = await listPasskeys(backend, request, content).catch((error: unknown) => {
    if (error instanceof FormProblem && error.text === 'passkeysOff') return undefined;
    throw error;
  });
  if (listed === undefined) return undefined;
  const { passkeys: path } = backend.settings.paths;
  const value = listed.length;
  return {
    field: 'passkeys',
    value,
    label: site.text.passkeysHeading,
    state: textOf(String(value)),
    path,
    icon: keyDrawing,
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
  account: (settings) => (offers(settings, passkeyMethod) ? { row } : undefined),
};
