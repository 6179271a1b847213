import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import type { SignInPart } from '../slots.ts';
import { offers } from '../options.ts';
import type { BackendOptions } from '../options.ts';
import { link, withReturnTo } from '../pages/parts.ts';
import { resendRoute } from './resend-route.ts';
import { signUpRoute } from './route.ts';

const isOpen = (settings: BackendOptions): boolean => settings.signUp !== false && offers(settings, 'password');

const show: SignInPart<BackendContext>['show'] = ({ settings, text }, request, state) => {
  const signUp = withReturnTo(settings.pages.signUp ?? request.localPath(settings.signupPath), state);
  return { below: [{ ...link('signUp', signUp, text.toSignUpLink), before: text.toSignUp }] };
};

/** New accounts with email and password, and the email that confirms their address. */
export const signUp: Feature = {
  routes: (backend) => [
    ...(offers(backend.settings, 'password') ? [resendRoute(backend)] : []),
    ...(isOpen(backend.settings) ? [signUpRoute(backend)] : []),
  ],
  signIn: (settings) => (isOpen(settings) ? { show } : undefined),
  ways: (settings) => ({
    ...(offers(settings, 'password') ? { resend: settings.paths.resend } : {}),
    ...(isOpen(settings) ? { signUp: settings.signupPath } : {}),
  }),
};
