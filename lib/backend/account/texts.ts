export const accountTexts = {
  accountHeading: 'Your account',
  /** Below the address, while it is being changed. */
  accountNewEmail: '{email} isn’t confirmed yet',
  /** Above accounts of OAuth providers that sign in to this account. */
  linksHeading: 'Linked sign-ins',
  linkButton: 'Link {provider}',
  linkText: 'Sign in there, and we’ll bring you back.',
  unlinkButton: 'Unlink',
  unlinkHeading: 'Unlink {provider}?',
  unlinkText: 'You won’t be able to sign in with it anymore.',
  signOutOthersButton: 'Sign out other devices',
  signOutAllButton: 'Sign out everywhere',
  signedOutOthersHeading: 'Your other devices are signed out',
  changeEmailHeading: 'Change your email',
  /** The project decides whether one email is sent or two. */
  changeEmailText:
    'We’ll email a link to your new address, and maybe one to your old address. Your email changes once you’ve opened each link that you get.',
  newEmail: 'New email',
  sameEmail: 'This is your email already.',
  changeEmailSentText: 'If {email} can be used, we’ve sent a link to it. Open it to change your email.',
  /** `{email}` is the old address. */
  changeEmailBothText: 'If a link comes to {email}, too, open both.',
} satisfies Record<string, string>;
