import { errorTable } from '../../error-table.ts';

/** Every word on the built-in pages, in English. `{…}` stands for a value; a text that leaves it out goes without. */
export const englishText = {
  signInHeading: 'Sign in',
  signUpHeading: 'Create your account',
  email: 'E-mail address',
  password: 'Password',
  newPasswordHint: 'Choose one that you use nowhere else. A few random words are strong and easy to remember.',
  signInButton: 'Sign in',
  signUpButton: 'Create account',
  or: 'or',
  continueWith: 'Continue with {provider}',
  toForgotLink: 'Forgot password?',
  toSignUp: 'New here?',
  toSignUpLink: 'Create an account',
  toSignIn: 'Already have an account?',
  toSignInLink: 'Sign in',
  /** In front of the page's title when something went wrong: it is what a screen reader says first. */
  errorTitle: 'Error',
  /** `{time}` is a length of time in the page's language, such as "12 minutes". */
  retryIn: 'Try again in {time}.',

  /** Failures, by their code; the table's own words where nothing about them needs a form. */
  invalid_credentials: errorTable.invalid_credentials.message,
  email_not_confirmed: errorTable.email_not_confirmed.message,
  email_in_use: errorTable.email_in_use.message,
  weak_password: errorTable.weak_password.message,
  same_password: errorTable.same_password.message,
  current_password_wrong: errorTable.current_password_wrong.message,
  signup_disabled: errorTable.signup_disabled.message,
  signup_refused: errorTable.signup_refused.message,
  user_banned: errorTable.user_banned.message,
  captcha_failed: errorTable.captcha_failed.message,
  link_expired: errorTable.link_expired.message,
  rate_limited: 'Too many attempts.',
  provider_unavailable: 'The sign-in service cannot be reached right now. Please try again in a moment.',
  provider_refused: errorTable.provider_refused.message,
  emailMissing: 'Enter your e-mail address.',
  emailInvalid: 'Enter an e-mail address such as name@example.com.',
  passwordMissing: 'Enter your password.',

  /** The page of an email's link, by what the link is for. */
  confirmHeading: 'Confirm your email address',
  confirmText: 'Press the button to confirm your address and sign in.',
  confirmButton: 'Confirm and continue',
  magicLinkHeading: 'Sign in',
  magicLinkText: 'Press the button to sign in.',
  magicLinkButton: 'Sign in',
  inviteHeading: 'Accept the invitation',
  inviteText: 'Press the button to accept the invitation. Then choose a password.',
  inviteButton: 'Accept and continue',
  recoveryHeading: 'Choose a new password',
  recoveryText: 'Press the button to choose a new password.',
  recoveryButton: 'Continue',
  emailChangeHeading: 'Confirm your new email address',
  emailChangeText: 'Press the button to confirm the change of your email address.',
  emailChangeButton: 'Confirm the change',

  confirmationSentHeading: 'Check your mail',
  confirmationSentText: 'We have sent a link to {email}. Open it to confirm your address.',
  mailSentHeading: 'Check your mail',
  mailSentText: 'If {email} is still waiting to be confirmed, a new link is on its way.',
  forgotHeading: 'Reset your password',
  forgotText: 'Enter the email address of your account. We’ll send you a link to choose a new password.',
  forgotButton: 'Send the link',
  forgotSentHeading: 'Check your email',
  forgotSentText: 'If there is an account for {email}, a link to choose a new password is on its way.',
  passwordHeading: 'Choose a new password',
  passwordFor: 'For the account {email}.',
  currentPassword: 'Current password',
  newPassword: 'New password',
  passwordButton: 'Save the password',
  linkExpiredHeading: 'This link no longer works',
  linkExpiredText: 'It has been used, or it has expired. Request a new one to choose your password.',
  newLinkButton: 'Request a new link',
  mailHint: 'Nothing there after a few minutes? Look in your spam folder.',
  resendButton: 'Send the mail again',
  backToSignIn: 'Back to sign-in',

  pleaseSignInHeading: 'Please sign in',
  pleaseSignInText:
    'This link has been used already, has expired, or was opened in another browser. Sign in to continue.',
  otherLinkHeading: 'One more link to open',
  otherLinkText:
    'A change of address needs both links: the one in the email to your old address and the one to your new address.',
  continueButton: 'Continue',

  signOutHeading: 'Sign out?',
  signOutText: 'You are about to sign out on this device.',
  signOutButton: 'Sign out',
  stayButton: 'Stay signed in',
} as const satisfies Record<string, string>;

export type PagesTextKey = keyof typeof englishText;

/** A complete set of texts. */
export type PagesText = Readonly<Record<PagesTextKey, string>>;

/** English, with the application's own texts in place of ours. */
export function mergeText(overrides: Partial<Record<PagesTextKey, string | undefined>> = {}): PagesText {
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
  return { ...englishText, ...Object.fromEntries(given) };
}

/** Puts values in the place of `{name}`; a single pass, so that a value cannot name another. */
export function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? '') : placeholder,
  );
}
