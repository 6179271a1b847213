import type { Feature } from '../feature.ts';
import { createHeldProviderTokens } from './held.ts';

/** The OAuth providers' own tokens, for `onSignIn` and, where the options keep them, in the session's cookie. */
export const providerTokens: Feature = {
  parts: ({ settings }) => ({ providerTokens: createHeldProviderTokens(settings) }),
};
