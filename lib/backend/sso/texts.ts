export const ssoTexts = {
  ssoHeading: 'Single sign-on',
  ssoText: 'Sign in with your organization’s account.',
  ssoHint: 'We find your organization by your email’s domain.',
  ssoButton: 'Continue',
  toSsoLink: 'Single sign-on',
} satisfies Record<string, string>;
