export const signUpTexts = {
  signUpHeading: 'Create your account',
  signUpButton: 'Create account',
  toSignUp: 'New here?',
  toSignUpLink: 'Create an account',
  toSignIn: 'Already have an account?',
  toSignInLink: 'Sign in',
  confirmationSentHeading: 'Check your email',
  confirmationSentText:
    'If {email} has no account yet, we sent a link to confirm it. Already have one? Sign in, or reset your password.',
  mailSentHeading: 'Check your email',
  mailSentText: 'If {email} still needs to be confirmed, a new link is on its way.',
} as const satisfies Record<string, string>;
