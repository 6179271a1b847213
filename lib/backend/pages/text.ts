import { sharedText } from '../../http/page-text.ts';
import type { Texts } from '../../http/page-text.ts';

/** Every word on the built-in pages, in English. `{…}` stands for a value; a text that leaves it out goes without. */
export const englishText = {
  ...sharedText,

  signInHeading: 'Sign in',
  /** Where `pages.title` names the application. */
  signInToHeading: 'Sign in to {title}',
  signInText: 'Welcome back. Sign in to continue.',
  signUpHeading: 'Create your account',
  email: 'Email',
  password: 'Password',
  newPasswordHint: 'Use a password you don’t use anywhere else.',
  signUpButton: 'Create account',
  or: 'or',
  continueWith: 'Continue with {provider}',
  toForgotLink: 'Forgot password?',
  toSignUp: 'New here?',
  toSignUpLink: 'Create an account',
  toSignIn: 'Already have an account?',
  toSignInLink: 'Sign in',
  emailMissing: 'Enter your email.',
  emailInvalid: 'Enter an email such as name@example.com.',
  passwordMissing: 'Enter your password.',

  signedInHeading: 'You’re signed in',

  /** The page of an email's link, by what the link is for. */
  confirmHeading: 'Confirm your email',
  confirmText: 'One click confirms your address and signs you in.',
  confirmButton: 'Confirm and continue',
  magicLinkHeading: 'Sign in',
  magicLinkText: 'One click and you’re in.',
  magicLinkButton: 'Sign in',
  inviteHeading: 'Accept your invitation',
  inviteText: 'One click accepts it. Then you choose a password.',
  inviteButton: 'Accept and continue',
  recoveryHeading: 'Choose a new password',
  recoveryText: 'One click, and you can choose it.',
  recoveryButton: 'Continue',
  emailChangeHeading: 'Confirm your new email',
  emailChangeText: 'One click confirms the change of your address.',
  emailChangeButton: 'Confirm the change',

  confirmationSentHeading: 'Check your email',
  confirmationSentText: 'We sent a link to {email}. Open it to confirm your address.',
  mailSentHeading: 'Check your email',
  mailSentText: 'If {email} still needs to be confirmed, a new link is on its way.',
  forgotHeading: 'Reset your password',
  forgotText: 'Enter your email, and we’ll send you a link to choose a new password.',
  forgotButton: 'Send link',
  forgotSentHeading: 'Check your email',
  forgotSentText: 'If {email} has an account, we sent a link to choose a new password.',
  passwordHeading: 'Choose a new password',
  passwordFor: 'For {email}',
  currentPassword: 'Current password',
  newPassword: 'New password',
  passwordButton: 'Save password',
  linkExpiredHeading: 'This link doesn’t work anymore',
  linkExpiredText: 'It has been used or has expired. Request a new one to choose your password.',
  newLinkButton: 'Request a new link',
  mailHint: 'Didn’t get it? Check your spam folder.',
  resendButton: 'Resend email',
  backToSignIn: 'Back to sign-in',

  pleaseSignInHeading: 'Sign in to continue',
  pleaseSignInText: 'This link has been used, has expired, or was opened in another browser.',
  otherLinkHeading: 'One more link to open',
  otherLinkText: 'Open the links in both emails: the one to your old address and the one to your new address.',

  verifyHeading: 'Confirm it’s you',
  verifyAppText: 'Enter the six-digit code from your authenticator app.',
  /** `{digits}` are the last digits of the number. */
  verifyPhoneText: 'We can send a code to your phone ending in {digits}.',
  sendCodeButton: 'Send a code',
  sendCodeAgainButton: 'Send a new code',
  codeSentText: 'We sent a six-digit code to your phone. Enter it here.',
  code: 'Code',
  codeMissing: 'Enter the six-digit code.',
  noFactorText: 'Your account no longer has a second factor.',
  factorApp: 'Authenticator app',
  factorPhone: 'Phone ending in {digits}',
  factorsHeading: 'Two-step sign-in',
  factorsText: 'When you sign in, we also ask for a code from one of these.',
  factorsEmptyText: 'Add an authenticator app. We’ll then ask for its code when you sign in.',
  addAppButton: 'Add an authenticator app',
  removeButton: 'Remove',
  doneLink: 'Done',
  enrollHeading: 'Set up your app',
  enrollScanText: 'Scan this picture with your authenticator app. Then enter the code that the app shows.',
  qrCodeLabel: 'QR code for your authenticator app',
  enrollSecretText: 'Can’t scan it? Type this key into the app:',
  enrollButton: 'Turn on',
  cancelLink: 'Cancel',
} as const satisfies Record<string, string>;

export type PagesTextKey = keyof typeof englishText;

/** A complete set of texts. */
export type PagesText = Texts<PagesTextKey>;
