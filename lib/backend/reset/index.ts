import type { Feature } from '../feature.ts';
import { offers } from '../options.ts';
import { forgotRoute } from './forgot-route.ts';
import { passwordRoute } from './password-route.ts';

/** A new password, after an email's link or signed in. */
export const reset: Feature = {
  routes: (backend) => (offers(backend.settings, 'password') ? [forgotRoute(backend), passwordRoute(backend)] : []),
  step: (settings) => (offers(settings, 'password') ? { name: 'password', path: settings.paths.password } : undefined),
  ways: (settings) => (offers(settings, 'password') ? { forgot: settings.paths.forgot } : {}),
};
