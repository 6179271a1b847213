export const oauthTexts = {
  continueWith: 'Continue with {provider}',
} satisfies Record<string, string>;
