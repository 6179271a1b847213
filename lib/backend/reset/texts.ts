export const resetTexts = {
  forgotHeading: 'Reset your password',
  forgotText: 'Enter your email, and we’ll send you a link to choose a new password.',
  forgotButton: 'Send link',
  forgotSentHeading: 'Check your email',
  forgotSentText: 'If {email} has an account, open the link in our newest email to choose a new password.',
  noAddressHeading: 'Your account has no email address',
  noAddressText: 'Without one, a password can’t be changed here. You can still sign in the way you did before.',
  passwordHeading: 'Choose a new password',
  passwordFor: 'For {email}',
  passwordOtherAccount: 'This form was for another account. Check the address and try again.',
  passwordMaybeSaved: 'It may have been saved. Sign in with it.',
  /** On the page of the account. */
  passwordNone: 'Not set',
  currentPassword: 'Current password',
  newPassword: 'New password',
  passwordButton: 'Save password',
} satisfies Record<string, string>;
