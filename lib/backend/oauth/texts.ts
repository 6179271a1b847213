export const oauthTexts = {
  continueWith: 'Continue with {provider}',
} as const satisfies Record<string, string>;
