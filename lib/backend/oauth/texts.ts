export const oauthTexts = {
  or: 'or',
  continueWith: 'Continue with {provider}',
} as const satisfies Record<string, string>;
