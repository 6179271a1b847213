export const signUpTexts = {
  signUpHeading: 'Create your account',
  signUpButton: 'Create account',
  toSignUp: 'New here?',
  toSignUpLink: 'Create an account',
  toSignIn: 'Already have an account?',
  toSignInLink: 'Sign in',
} as const satisfies Record<string, string>;
