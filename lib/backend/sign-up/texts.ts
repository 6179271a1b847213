export const signUpTexts = {
  signUpHeading: 'Create your account',
  /** To a guest (anonymous session), whose user id stays. A provider's button signs in to another user. */
  guestText: 'You’re here as a guest. To keep your data, sign up with your email.',
  signUpButton: 'Create account',
  /** Below that button, where `links.terms` and `links.privacy` are set. `{terms}` is the text `terms`, `{privacy}` is `privacyPolicy`. */
  termsLine: 'By creating an account you agree to our {terms} and {privacy}.',
  privacyPolicy: 'Privacy Policy',
  toSignUp: 'New here?',
  toSignUpLink: 'Create an account',
  toSignIn: 'Already have an account?',
  toSignInLink: 'Sign in',
  /** `{account}` is the account that a guest has completed in another browser. */
  accountExists: 'You already have an account with {account}.',
  confirmationSentHeading: 'Check your email',
  confirmationSentText:
    'If {email} has no account yet, open the link in our email to confirm it. Already have one? Sign in, or reset your password.',
  mailSentHeading: 'Check your email',
  mailSentText: 'If {email} still needs to be confirmed, open the link in our newest email.',
  signUpMaybeDone: 'Your account may have been created. Check your email, or sign in, before you try again.',
} satisfies Record<string, string>;
