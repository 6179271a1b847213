import * as v from 'valibot';

export const providerTokensEntries = {
  /**
   * Whether the session cookie keeps an OAuth provider's own tokens until the first refresh, where `getSupabaseClient(req)` finds
   * them. Default false: store what you need in `onSignIn`, which gets them once.
   */
  keepProviderTokens: v.optional(v.boolean('must be true or false'), false),
};
