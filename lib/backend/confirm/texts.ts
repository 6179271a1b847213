export const confirmTexts = {
  /** The page of an email's link, by what the link is for. */
  confirmHeading: 'Confirm your email',
  confirmText: 'One click confirms your address and signs you in.',
  confirmButton: 'Confirm and continue',
  magicLinkHeading: 'Sign in',
  magicLinkText: 'This link signs you in.',
  magicLinkButton: 'Sign in',
  inviteHeading: 'Accept your invitation',
  inviteText: 'Accept the invitation, then choose a password.',
  inviteButton: 'Accept and continue',
  recoveryHeading: 'Choose a new password',
  recoveryText: 'Continue to choose your new password.',
  recoveryButton: 'Continue',
  emailChangeHeading: 'Confirm the change of your email',
  emailChangeText: 'One click confirms the change for this address.',
  emailChangeButton: 'Confirm the change',
  /** `{account}` is signed in, and the link is for `{other}`. */
  switchHeading: 'Switch accounts?',
  switchText: 'You’re signed in as {account}. This link signs you in as {other}.',
  /** The same where no one is signed in anymore. */
  switchAloneText: 'This link signs you in as {other}.',
  switchButton: 'Continue as {other}',
  stayAsButton: 'Stay signed in as {account}',
} satisfies Record<string, string>;
