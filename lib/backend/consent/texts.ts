export const consentTexts = {
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
  /** Where the app's request was answered before, and the app is among those that the user has allowed. */
  startAgainAllowed: 'You have allowed “{app}”. If it still waits for you, start again there.',
  toAppHeading: 'Taking you back to the app',
  /** The same where the app's name is known. */
  goBackHeading: 'Go back to “{app}”',
  appsHeading: 'Connected apps',
  appsText: 'You have allowed these apps.',
  appsEmptyText: 'You haven’t allowed any app.',
  /** `{date}` is the day on which the user allowed it. */
  appSince: 'Since {date}',
  /** Of an app that the backend lists without the id that a disconnection needs. */
  appStays: 'Can’t be disconnected here',
  disconnectButton: 'Disconnect',
  disconnectHeading: 'Disconnect “{app}”?',
  disconnectText: 'It won’t be able to use your account anymore, until you allow it again.',
} satisfies Record<string, string>;
