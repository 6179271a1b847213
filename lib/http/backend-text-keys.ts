/**
 * The texts that only the backend adapter's pages have. A translation holds those of both adapters, so `b2bAuth` takes these names, too,
 * and does not use them. A test compares this list to the pages.
 */
// prettier-ignore
export const backendTextKeys: readonly string[] = [
  'signInHeading', 'signInToHeading', 'signInText', 'signUpHeading', 'email', 'password', 'newPasswordHint',
  'passwordTooShort', 'passwordTooLong', 'passwordInBreach', 'passwordTooSimple', 'signUpButton', 'or',
  'continueWith', 'toForgotLink', 'toSignUp', 'toSignUpLink', 'toSignIn', 'toSignInLink', 'emailMissing',
  'emailRefused', 'emailInvalid', 'passwordMissing', 'signedInHeading', 'confirmHeading', 'confirmText',
  'confirmButton', 'magicLinkHeading', 'magicLinkText', 'magicLinkButton', 'inviteHeading', 'inviteText',
  'inviteButton', 'recoveryHeading', 'recoveryText', 'recoveryButton', 'emailChangeHeading', 'emailChangeText',
  'emailChangeButton', 'confirmationSentHeading', 'confirmationSentText', 'mailSentHeading', 'mailSentText',
  'forgotHeading', 'forgotText', 'forgotButton', 'forgotSentHeading', 'forgotSentText', 'codeHeading', 'codeText',
  'codeSendButton', 'toCodeButton', 'codeSentHeading', 'emailCodeSentText', 'emailCodeMissing', 'codesLimited',
  'codeEmailsLimited', 'codeResendButton', 'codeResendIn', 'codeOtherAddress', 'ssoHeading', 'ssoText', 'ssoHint',
  'ssoButton', 'toSsoLink', 'passkeyButton', 'passkeyUnavailable', 'passkeyCanceled', 'passkeyFailed', 'passkeyKnown',
  'passkeyRefused', 'passkeyGone', 'passkeysFull', 'passkeysHeading', 'passkeysText', 'passkeyName', 'passkeyAdded',
  'passkeyUsed', 'addPasskeyButton', 'renameLink', 'renameHeading', 'passkeyNameLabel', 'passkeyNameInvalid',
  'renameButton', 'removePasskeyText', 'passwordHeading', 'passwordFor', 'passwordOtherAccount', 'passwordMaybeSaved',
  'currentPassword', 'newPassword', 'passwordButton', 'linkExpiredHeading', 'linkExpiredText', 'newLinkButton',
  'mailHint', 'resendButton', 'backToSignIn', 'pleaseSignInHeading', 'pleaseSignInText', 'otherLinkHeading',
  'otherLinkText', 'verifyHeading', 'verifyAppText', 'verifyKeyText', 'verifyKeyOrAppText', 'verifyKeyOrPhoneText',
  'keyButton', 'verifyPhoneText', 'sendCodeButton', 'sendCodeAgainButton', 'codeSentText', 'code', 'codeMissing',
  'codeClosed', 'noFactorText', 'factorApp', 'factorPhone', 'factorKey', 'factorRecovery', 'factorOther',
  'factorUnavailableHeading', 'factorUnavailableText', 'factorRejectedHeading', 'factorRejectedText',
  'factorNeedsEmail', 'factorStillNeeded', 'factorsHeading', 'factorsText', 'factorsWithKeysText', 'factorsEmptyText',
  'factorsWithKeysEmptyText', 'addAppButton', 'addKeyButton', 'removeButton', 'removeHeading', 'removeText',
  'removeLastText', 'doneLink', 'enrollHeading', 'enrollAppText', 'enrollScanText', 'enrollCodeText', 'qrCodeLabel',
  'enrollSecretText', 'enrollButton', 'cancelLink', 'consentHeading', 'unnamedApp', 'consentWeb', 'consentDevice',
  'consentApp', 'consentUnverified', 'consentScopes', 'consentActIn', 'consentAct', 'scopeOpenid', 'scopeProfile',
  'scopeEmail', 'scopePhone', 'scopeOfflineAccess', 'allowButton', 'denyButton', 'startAgainHeading', 'toAppHeading',
  'appsHeading', 'appsText', 'appsEmptyText', 'appSince', 'disconnectButton', 'disconnectHeading', 'disconnectText',
];
