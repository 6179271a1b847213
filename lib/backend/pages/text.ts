import { sharedText } from '../../pages/texts.ts';
import type { Texts } from '../../pages/texts.ts';
import { accountTexts } from '../account/texts.ts';
import { confirmTexts } from '../confirm/texts.ts';
import { consentTexts } from '../consent/texts.ts';
import { emailCodeTexts } from '../email-code/texts.ts';
import { factorsTexts } from '../factors/texts.ts';
import { oauthTexts } from '../oauth/texts.ts';
import { passkeysTexts } from '../passkeys/texts.ts';
import { resetTexts } from '../reset/texts.ts';
import { signUpTexts } from '../sign-up/texts.ts';
import { ssoTexts } from '../sso/texts.ts';
import { webauthnTexts } from '../webauthn/texts.ts';

/** The texts of pages that several rooms show, and of the sign-in page. */
const kernelTexts = {
  signInHeading: 'Sign in',
  /** Where `pages.title` names the application. */
  signInToHeading: 'Sign in to {title}',
  signInText: 'Welcome back. Sign in to continue.',
  email: 'Email',
  password: 'Password',
  /** The name of the button in a password field, which is pressed while the password is shown. */
  showPassword: 'Show password',
  /** `{count}` is the shortest length that the project accepts, as far as it is known. */
  newPasswordHint: 'At least {count} characters',
  passwordTooShort: 'This password is too short. Use at least {count} characters.',
  passwordTooLong: 'This password is too long. Choose a shorter one.',
  passwordInBreach: 'This password has appeared in a data breach. Choose another one.',
  passwordTooSimple:
    'This password needs more kinds of characters. Use lowercase and uppercase letters, digits and symbols.',
  or: 'or',
  /** At the way to sign in that this browser used last. */
  lastUsed: 'Last used',
  toForgotLink: 'Forgot password?',
  emailMissing: 'Enter your email.',
  emailRefused: 'Enter a valid email address.',
  emailInvalid: 'Enter an email such as name@example.com.',
  passwordMissing: 'Enter your password.',
  signedInHeading: 'You’re signed in',
  /** In place of the form, for an account of a phone or a wallet that a guard asks to sign in again. */
  noAddressSignInText: 'Your account has no email address. Sign in again the way you did before, or contact support.',
  codeEmailsLimited: 'We can’t send another email yet.',
  /** In place of the button that sends another email or code, until it can. */
  codeResendIn: 'You can ask for another one in {time}.',
  linkExpiredHeading: 'This link doesn’t work anymore',
  linkExpiredText:
    'It has been used or has expired, or a newer email replaced it. Request a new one to choose your password.',
  newLinkButton: 'Request a new link',
  changeLinkExpiredText:
    'It has been used or has expired, or a newer email replaced it. If a second email went to your other address, open its link, too.',
  /** `{app}` is Gmail, Outlook, iCloud Mail or Yahoo Mail. */
  openMail: 'Open {app}',
  mailHint: 'Didn’t get it? Check your spam folder.',
  resendButton: 'Resend email',
  backToSignIn: 'Back to sign-in',
  pleaseSignInHeading: 'Sign in to continue',
  pleaseSignInText: 'This link has been used, has expired, or was opened in another browser.',
  addressChangedHeading: 'Your new email is confirmed',
  addressChangedText: 'Use it the next time you sign in.',
  otherLinkHeading: 'One more link to open',
  otherLinkText: 'Open the links in both emails: the one to your old address and the one to your new address.',
  code: 'Code',
  /** Where too many wrong codes have closed the field for a while. */
  codeClosed: 'Too many wrong codes.',
  reloadLink: 'Reload this page',
  removeButton: 'Remove',
  /** `{factor}` is the name of the app, or the phone. */
  removeHeading: 'Remove “{factor}”?',
  doneLink: 'Done',
  cancelLink: 'Cancel',
} satisfies Record<string, string>;

/** All texts of the built-in pages, in English. `{…}` is a placeholder for a value, which a text may omit. */
export const englishText = {
  ...sharedText,
  ...kernelTexts,
  ...signUpTexts,
  ...oauthTexts,
  ...confirmTexts,
  ...resetTexts,
  ...emailCodeTexts,
  ...ssoTexts,
  ...factorsTexts,
  ...passkeysTexts,
  ...webauthnTexts,
  ...consentTexts,
  ...accountTexts,
} satisfies Record<string, string>;

export type PagesTextKey = keyof typeof englishText;

/** A complete set of texts, as pages show them. */
export type PagesText = Texts<PagesTextKey>;

/** All texts of the built-in pages in one language, for `pages.text` of both adapters. A text that is missing is a type error. */
export type Translation = Readonly<Record<PagesTextKey, string>>;
