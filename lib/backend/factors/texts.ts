export const factorsTexts = {
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
  codeMissing: 'Enter the six-digit code.',
  noFactorText: 'Two-step sign-in is off for your account now.',
  /** For someone without the app, phone or key. It is a link where `pages.links.help` is set. */
  verifyHelp: 'Can’t confirm it’s you? Contact support.',
  factorApp: 'Authenticator app',
  factorPhone: 'Phone ending in {digits}',
  factorKey: 'Security key',
  factorRecovery: 'Recovery codes',
  /** `{type}` is the project's own name for it. */
  factorOther: 'Another way ({type})',
  factorAdded: 'Added {date}',
  /** A user all of whose second factors need something that these pages cannot ask for. */
  factorUnavailableHeading: 'We can’t check your second step',
  factorUnavailableText:
    'Your account uses two-step sign-in in a way that this app can’t check: {factors}. Contact support, or use another account.',
  factorRejectedHeading: 'Your sign-in has ended',
  factorRejectedText: 'Your code wasn’t accepted. Sign in again, or contact support.',
  factorNeedsEmail: 'An authenticator app needs an email address, and your account has none.',
  factorStillNeeded: 'This is the only one that can be used here. Add an authenticator app before you remove it.',
  factorsFull: 'You’ve reached the limit. Remove one first.',
  factorsHeading: 'Two-step sign-in',
  /** On the page of the account. */
  factorsOn: 'On',
  factorsOff: 'Off',
  factorsText: 'When you sign in, we also ask for a code from one of these.',
  factorsWithKeysText: 'When you sign in, we also ask for one of these.',
  /** After the first one was added. */
  factorsOnText: 'Two-step sign-in is on.',
  addAnotherText: 'Add a second one, so that a lost phone doesn’t lock you out.',
  factorsEmptyText: 'Add an authenticator app. We’ll then ask for its code when you sign in.',
  factorsWithKeysEmptyText: 'Add an authenticator app or a security key. We’ll then ask for it when you sign in.',
  addAppButton: 'Add an authenticator app',
  addKeyButton: 'Add a security key',
  removeText: 'You won’t be able to use it anymore. We’ll ask for another one when you sign in.',
  removeLastText: 'It is your only one. Two-step sign-in will be off.',
  enrollHeading: 'Set up your authenticator app',
  /** The three steps. The first names apps that most people can get. */
  enrollAppText: 'Open an authenticator app, such as Google Authenticator or 1Password.',
  enrollScanText: 'Scan this picture with the app.',
  enrollCodeText: 'Enter the six-digit code that the app shows.',
  qrCodeLabel: 'QR code for your authenticator app',
  enrollSecretText: 'Can’t scan it? Copy this key into the app:',
  enrollButton: 'Turn on',
  /** After too many wrong codes: with another secret. */
  startAgainButton: 'Start again',
} satisfies Record<string, string>;
