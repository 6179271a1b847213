// Made by `npm run docs:texts` from the texts of the pages in lib/backend/: change those.

/**
 * The texts that only the Supabase adapter's pages have. A translation holds those of both adapters, so `b2bAuth` takes these names, too,
 * and does not use them. A test compares this list to the pages.
 */
// prettier-ignore
export const backendTextKeys: readonly string[] = [
  'signInHeading', 'signInToHeading', 'signInText', 'email', 'password', 'showPassword', 'newPasswordHint',
  'passwordTooShort', 'passwordTooLong', 'passwordInBreach', 'passwordTooSimple', 'or', 'lastUsed', 'toForgotLink',
  'emailMissing', 'emailRefused', 'emailInvalid', 'passwordMissing', 'signedInHeading', 'noAddressSignInText',
  'codeEmailsLimited', 'codeResendIn', 'linkExpiredHeading', 'linkExpiredText', 'newLinkButton',
  'changeLinkExpiredText', 'openMail', 'mailHint', 'resendButton', 'backToSignIn', 'pleaseSignInHeading',
  'pleaseSignInText', 'addressChangedHeading', 'addressChangedText', 'otherLinkHeading', 'otherLinkText', 'code',
  'codeClosed', 'reloadLink', 'removeButton', 'removeHeading', 'doneLink', 'cancelLink', 'signUpHeading', 'guestText',
  'signUpButton', 'termsLine', 'privacyPolicy', 'toSignUp', 'toSignUpLink', 'toSignIn', 'toSignInLink', 'accountExists',
  'confirmationSentHeading', 'confirmationSentText', 'mailSentHeading', 'mailSentText', 'signUpMaybeDone',
  'continueWith', 'confirmHeading', 'confirmText', 'confirmButton', 'magicLinkHeading', 'magicLinkText',
  'magicLinkButton', 'inviteHeading', 'inviteText', 'inviteButton', 'recoveryHeading', 'recoveryText', 'recoveryButton',
  'emailChangeHeading', 'emailChangeText', 'emailChangeButton', 'switchHeading', 'switchText', 'switchAloneText',
  'switchButton', 'stayAsButton', 'forgotHeading', 'forgotText', 'forgotButton', 'forgotSentHeading', 'forgotSentText',
  'noAddressHeading', 'noAddressText', 'passwordHeading', 'passwordFor', 'passwordOtherAccount', 'passwordMaybeSaved',
  'passwordNone', 'currentPassword', 'newPassword', 'passwordButton', 'codeHeading', 'codeText', 'codeSendButton',
  'toCodeButton', 'codeSentHeading', 'emailCodeSentText', 'emailCodeMissing', 'emailCodeWrong', 'codesLimited',
  'codeResendButton', 'codeOtherAddress', 'ssoHeading', 'ssoText', 'ssoHint', 'ssoButton', 'toSsoLink', 'verifyHeading',
  'verifyAppText', 'verifyKeyText', 'verifyKeyOrAppText', 'verifyKeyOrPhoneText', 'keyButton', 'verifyPhoneText',
  'sendCodeButton', 'sendCodeAgainButton', 'codeSentText', 'codeMissing', 'noFactorText', 'verifyHelp', 'factorApp',
  'factorPhone', 'factorKey', 'factorRecovery', 'factorOther', 'factorAdded', 'factorUnavailableHeading',
  'factorUnavailableText', 'factorRejectedHeading', 'factorRejectedText', 'factorNeedsEmail', 'factorStillNeeded',
  'factorsFull', 'factorsHeading', 'factorsOn', 'factorsOff', 'factorsText', 'factorsWithKeysText', 'factorsOnText',
  'addAnotherText', 'factorsEmptyText', 'factorsWithKeysEmptyText', 'addAppButton', 'addKeyButton', 'removeText',
  'removeLastText', 'enrollHeading', 'enrollAppText', 'enrollScanText', 'enrollCodeText', 'qrCodeLabel',
  'enrollSecretText', 'enrollButton', 'startAgainButton', 'passkeyButton', 'passkeyGone', 'passkeysFull', 'passkeysOff',
  'passkeysHeading', 'passkeysText', 'passkeyName', 'passkeyAdded', 'passkeyUsed', 'addPasskeyButton',
  'passkeyOfferHeading', 'notNowLink', 'renameLink', 'renameHeading', 'passkeyNameLabel', 'passkeyNameInvalid',
  'renameButton', 'removePasskeyText', 'passkeyUnavailable', 'passkeyCanceled', 'passkeyFailed', 'passkeyKnown',
  'passkeyRefused', 'consentHeading', 'unnamedApp', 'consentWeb', 'consentDevice', 'consentApp', 'consentUnverified',
  'consentScopes', 'consentActIn', 'consentAct', 'scopeOpenid', 'scopeProfile', 'scopeEmail', 'scopePhone',
  'scopeOfflineAccess', 'allowButton', 'denyButton', 'startAgainHeading', 'startAgainAllowed', 'toAppHeading',
  'goBackHeading', 'appsHeading', 'appsText', 'appsEmptyText', 'appSince', 'appStays', 'disconnectButton',
  'disconnectHeading', 'disconnectText', 'accountHeading', 'accountNewEmail', 'linksHeading', 'linkButton', 'linkText',
  'unlinkButton', 'unlinkHeading', 'unlinkText', 'signOutOthersButton', 'signOutAllButton', 'signedOutOthersHeading',
  'changeEmailHeading', 'changeEmailText', 'newEmail', 'sameEmail', 'changeEmailSentText', 'changeEmailBothText',
];
