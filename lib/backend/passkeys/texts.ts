export const passkeysTexts = {
  passkeyButton: 'Sign in with a passkey',
  passkeyGone: 'This passkey doesn’t exist anymore.',
  passkeysFull: 'You’ve reached the limit. Remove a passkey first.',
  /** The project has them switched off. */
  passkeysOff: 'Passkeys aren’t available here.',
  passkeysHeading: 'Passkeys',
  passkeysText: 'Sign in with your fingerprint, face or screen lock instead of a password.',
  /** A passkey without a name. */
  passkeyName: 'Passkey',
  passkeyAdded: 'Added {date}',
  passkeyUsed: 'Last used {date}',
  addPasskeyButton: 'Add a passkey',
  /** Once per browser, after a sign-in by password. */
  passkeyOfferHeading: 'Sign in faster next time?',
  notNowLink: 'Not now',
  renameLink: 'Rename',
  renameHeading: 'Rename “{passkey}”',
  passkeyNameLabel: 'Name',
  passkeyNameInvalid: 'Enter a short name.',
  renameButton: 'Save name',
  removePasskeyText: 'You won’t be able to sign in with it anymore. Delete it on your device, too.',
} satisfies Record<string, string>;
