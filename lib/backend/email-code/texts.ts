export const emailCodeTexts = {
  codeHeading: 'Sign in with a code',
  codeText: 'We’ll email you a code. You don’t need a password.',
  codeSendButton: 'Email me a code',
  toCodeButton: 'Email me a code instead',
  codeSentHeading: 'Check your email',
  emailCodeSentText: 'If you can sign in with {email}, enter the code from our newest email, or open its link.',
  emailCodeMissing: 'Enter the digits of the code.',
  emailCodeWrong: 'That code isn’t right or has expired. Enter the newest one, or open the link in the email.',
  codesLimited: 'Too many wrong codes. If you have our newest email, you can open its link.',
  codeResendButton: 'Send another email',
  codeOtherAddress: 'Use another address',
} satisfies Record<string, string>;
