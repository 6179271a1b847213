export const resetTexts = {
  forgotHeading: 'Reset your password',
  forgotText: 'Enter your email, and we’ll send you a link to choose a new password.',
  forgotButton: 'Send link',
  forgotSentHeading: 'Check your email',
  forgotSentText: 'If {email} has an account, we sent a link to choose a new password.',
  passwordHeading: 'Choose a new password',
  passwordFor: 'For {email}',
  passwordOtherAccount: 'This form was for another account. Check the address and try again.',
  passwordMaybeSaved: 'It may have been saved. Sign in with it.',
  currentPassword: 'Current password',
  newPassword: 'New password',
  passwordButton: 'Save password',
} as const satisfies Record<string, string>;
