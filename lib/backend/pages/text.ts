import { sharedText } from '../../pages/texts.ts';
import type { Texts } from '../../pages/texts.ts';

/** All texts of the built-in pages, in English. `{…}` is a placeholder for a value, which a text may omit. */
export const englishText = {
  ...sharedText,

  signInHeading: 'Sign in',
  /** Where `pages.title` names the application. */
  signInToHeading: 'Sign in to {title}',
  signInText: 'Welcome back. Sign in to continue.',
  signUpHeading: 'Create your account',
  email: 'Email',
  password: 'Password',
  /** `{count}` is the shortest length that the project accepts, as far as it is known. */
  newPasswordHint: 'Use at least {count} characters. Don’t reuse a password.',
  passwordTooShort: 'This password is too short. Use at least {count} characters.',
  passwordTooLong: 'Passwords can be at most 72 bytes long. Choose a shorter one.',
  passwordInBreach: 'This password has appeared in a data breach. Choose another one.',
  passwordTooSimple: 'This password needs more kinds of characters. Mix letters, digits and symbols.',
  signUpButton: 'Create account',
  or: 'or',
  continueWith: 'Continue with {provider}',
  toForgotLink: 'Forgot password?',
  toSignUp: 'New here?',
  toSignUpLink: 'Create an account',
  toSignIn: 'Already have an account?',
  toSignInLink: 'Sign in',
  emailMissing: 'Enter your email.',
  emailRefused: 'Enter a valid email address.',
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
  codeHeading: 'Sign in with a code',
  codeText: 'We’ll email you a code. You don’t need a password.',
  codeSendButton: 'Email me a code',
  toCodeButton: 'Email me a code instead',
  codeSentHeading: 'Check your email',
  emailCodeSentText: 'If you can sign in with {email}, we sent a code and a link.',
  emailCodeMissing: 'Enter the digits of the code.',
  codesLimited: 'Too many wrong codes. The link in the email still works.',
  codeEmailsLimited: 'We can’t send another email yet.',
  codeResendButton: 'Send another email',
  /** In place of the button that sends another email or code, until it can. */
  codeResendIn: 'You can send another one in {time}.',
  codeOtherAddress: 'Use another address',
  ssoHeading: 'Single sign-on',
  ssoText: 'Sign in with your organization’s account.',
  ssoHint: 'We find your organization by the part after the @.',
  ssoButton: 'Continue',
  toSsoLink: 'Single sign-on',
  passkeyButton: 'Sign in with a passkey',
  /** For browsers without scripts, and those that know no passkeys. */
  passkeyUnavailable:
    'This browser can’t use passkeys or security keys here. Turn on JavaScript, or use another browser.',
  passkeyCanceled: 'Nothing was used. Try again, or choose another way.',
  passkeyFailed: 'Your browser couldn’t do that here. Try again, or choose another way.',
  passkeyKnown: 'This device is set up for your account already.',
  passkeyRefused: 'That didn’t work. Try again, or choose another way.',
  passkeyGone: 'This passkey doesn’t exist anymore.',
  passkeysFull: 'Your account has as many passkeys as it can have. Remove one first.',
  passkeysHeading: 'Passkeys',
  passkeysText: 'Sign in with your fingerprint, face or screen lock instead of a password.',
  /** A passkey without a name. */
  passkeyName: 'Passkey',
  passkeyAdded: 'Added {date}',
  passkeyUsed: 'Last used {date}',
  addPasskeyButton: 'Add a passkey',
  renameLink: 'Rename',
  renameHeading: 'Rename “{passkey}”',
  passkeyNameLabel: 'Name',
  passkeyNameInvalid: 'Enter a short name.',
  renameButton: 'Save name',
  removePasskeyText: 'You won’t be able to sign in with it anymore. Delete it on your device, too.',
  passwordHeading: 'Choose a new password',
  passwordFor: 'For {email}',
  passwordOtherAccount: 'This form was for another account. Check the address and try again.',
  passwordMaybeSaved: 'It may have been saved. Sign in with it.',
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
  addressChangedHeading: 'Your new email is confirmed',
  addressChangedText: 'Use it the next time you sign in.',
  /** `{account}` is signed in, and the link is for `{other}`. */
  switchHeading: 'Switch accounts?',
  switchText: 'You’re signed in as {account}. This link signs you in as {other}.',
  /** The same where no one is signed in anymore. */
  switchAloneText: 'This link signs you in as {other}.',
  switchButton: 'Continue as {other}',
  stayAsButton: 'Stay signed in as {account}',
  otherLinkHeading: 'One more link to open',
  otherLinkText: 'Open the links in both emails: the one to your old address and the one to your new address.',

  verifyHeading: 'Confirm it’s you',
  verifyAppText: 'Enter the six-digit code from your authenticator app.',
  verifyKeyText: 'Use your security key.',
  verifyKeyOrAppText: 'Use your security key, or enter the code from your authenticator app.',
  verifyKeyOrPhoneText: 'Use your security key, or have a code sent to your phone ending in {digits}.',
  keyButton: 'Use your security key',
  /** `{digits}` are the last digits of the number. */
  verifyPhoneText: 'We can send a code to your phone ending in {digits}.',
  sendCodeButton: 'Send a code',
  sendCodeAgainButton: 'Send a new code',
  codeSentText: 'We sent a six-digit code to your phone ending in {digits}.',
  code: 'Code',
  codeMissing: 'Enter the six-digit code.',
  /** After too many wrong codes of a second factor. */
  codeClosed: 'Too many wrong codes.',
  noFactorText: 'Your account no longer has a second factor.',
  factorApp: 'Authenticator app',
  factorPhone: 'Phone ending in {digits}',
  factorKey: 'Security key',
  factorRecovery: 'Recovery codes',
  /** `{type}` is the project's own name for it. */
  factorOther: 'Second factor ({type})',
  /** A user all of whose second factors need something that these pages cannot ask for. */
  factorUnavailableHeading: 'Your second factor can’t be used here',
  factorUnavailableText:
    'Your account asks for a second factor that this app can’t check: {factors}. So you can’t continue with this account.',
  factorRejectedHeading: 'Your sign-in has ended',
  factorRejectedText: 'Your code wasn’t accepted. Sign in again, or contact support.',
  factorNeedsEmail:
    'An authenticator app needs an account with an email address. Add an address to your account first.',
  factorStillNeeded: 'This is the only one that can be used here. Add an authenticator app before you remove it.',
  factorsHeading: 'Two-step sign-in',
  factorsText: 'When you sign in, we also ask for a code from one of these.',
  factorsWithKeysText: 'When you sign in, we also ask for one of these.',
  factorsEmptyText: 'Add an authenticator app. We’ll then ask for its code when you sign in.',
  factorsWithKeysEmptyText: 'Add an authenticator app or a security key. We’ll then ask for it when you sign in.',
  addAppButton: 'Add an authenticator app',
  addKeyButton: 'Add a security key',
  removeButton: 'Remove',
  /** `{factor}` is the name of the app, or the phone. */
  removeHeading: 'Remove “{factor}”?',
  removeText: 'You won’t be able to use it anymore. We’ll ask for another one of your second factors.',
  removeLastText: 'It is your only one. Two-step sign-in will be off: we won’t ask for a code when you sign in.',
  doneLink: 'Done',
  enrollHeading: 'Set up your authenticator app',
  /** The three steps. The first names apps that most people can get. */
  enrollAppText: 'Open an authenticator app, such as Google Authenticator or 1Password.',
  enrollScanText: 'Scan this picture with the app.',
  enrollCodeText: 'Enter the six-digit code that the app shows.',
  qrCodeLabel: 'QR code for your authenticator app',
  enrollSecretText: 'Can’t scan it? Copy this key into the app:',
  enrollButton: 'Turn on',
  cancelLink: 'Cancel',

  /** The page where a user allows another app to act for them. `{app}` is the name that the app gave itself. */
  consentHeading: 'Connect “{app}”?',
  /** Where the app gave no name. */
  unnamedApp: 'Unnamed app',
  /** `{address}` is the host that the app wants to be sent to. */
  consentWeb: 'It will take you to {address}.',
  consentDevice: 'It will take you to an app on this device, at {address}.',
  consentApp: 'It will open an app on this device that handles {address} links.',
  consentUnverified: 'Not verified: any app can use this name. Allow it only if you started this yourself.',
  consentScopes: 'The app will be able to:',
  /** `{title}` is `pages.title`. */
  consentActIn: 'Use {title} as you, with your permissions',
  /** The same without `pages.title`. */
  consentAct: 'Use your account here, with your permissions',
  scopeOpenid: 'Know who you are',
  scopeProfile: 'See your profile, such as your name and picture',
  scopeEmail: 'See your email address',
  scopePhone: 'See your phone number',
  scopeOfflineAccess: 'Stay connected while you’re away',
  allowButton: 'Allow',
  denyButton: 'Deny',
  startAgainHeading: 'Start again in the app',
  toAppHeading: 'Taking you back to the app',
  appsHeading: 'Connected apps',
  appsText: 'You have allowed these apps.',
  appsEmptyText: 'You haven’t allowed any app.',
  /** `{date}` is the day on which the user allowed it. */
  appSince: 'Since {date}',
  disconnectButton: 'Disconnect',
  disconnectHeading: 'Disconnect “{app}”?',
  disconnectText: 'It won’t be able to use your account anymore, until you allow it again.',
} as const satisfies Record<string, string>;

export type PagesTextKey = keyof typeof englishText;

/** A complete set of texts, as pages show them. */
export type PagesText = Texts<PagesTextKey>;

/** All texts of the built-in pages in one language, for `pages.text` of both adapters. A text that is missing is a type error. */
export type Translation = Readonly<Record<PagesTextKey, string>>;
