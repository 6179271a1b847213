import type { Feature } from '../feature.ts';
import { wantsOtherAccount } from '../forms/forms.ts';
import { providerButtons, providerLabel, providersOf } from './buttons.ts';
import { allowedProvider, isAllowed, startOAuth, startsAtOnce } from './start.ts';

/** Sign-in with an OAuth provider, which comes back through the callback. */
export const oauth: Feature = {
  signIn: (settings) => ({
    ways: providersOf(settings).map(({ name }) => name),
    open(backend, request) {
      const isForProvider = request.query.has('provider') || startsAtOnce(backend.settings, wantsOtherAccount(request));
      return isForProvider ? startOAuth(backend, request) : undefined;
    },
    buttons: providerButtons,
  }),
  account: (settings) => ({
    // Without a list of providers any name is one, but for the ways in that are none.
    signsIn: (provider) => !otherWays.has(provider) && isAllowed(provider, settings),
    links: {
      names: providersOf(settings).map(({ name }) => name),
      find: (name) => allowedProvider(name, settings),
      labelOf: (name) => providersOf(settings).find((provider) => provider.name === name)?.label ?? providerLabel(name),
    },
  }),
};

/** Names of Supabase's for identities of no OAuth provider. */
const otherWays: ReadonlySet<string> = new Set(['email', 'phone', 'web3']);
