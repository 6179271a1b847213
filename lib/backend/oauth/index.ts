import type { Feature } from '../feature.ts';
import { wantsOtherAccount } from '../forms/forms.ts';
import { providerButtons, providersOf } from './buttons.ts';
import { startOAuth, startsAtOnce } from './start.ts';

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
};
