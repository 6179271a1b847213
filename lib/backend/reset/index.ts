import type { BackendContext } from '../context.ts';
import type { Feature } from '../feature.ts';
import { offers } from '../options.ts';
import { lockDrawing } from '../../pages/icons.ts';
import type { AccountPart } from '../slots.ts';
import { forgotRoute } from './forgot-route.ts';
import { passwordRoute } from './password-route.ts';
import { emailWithPassword } from './set-password.ts';

/** An account of OAuth providers alone, or without an address, has no password. */
const row: AccountPart<BackendContext>['row'] = (_backend, _request, { site, session }) => {
  const { password: label, passwordNone } = site.text;
  const value = emailWithPassword(session) !== null;
  const { password: path } = site.settings.paths;
  return { field: 'password', value, label, path, icon: lockDrawing, ...(value ? {} : { state: passwordNone }) };
};

/** A new password, after an email's link or signed in. */
export const reset: Feature = {
  routes: (backend) => (offers(backend.settings, 'password') ? [forgotRoute(backend), passwordRoute(backend)] : []),
  account: (settings) => (offers(settings, 'password') ? { row } : undefined),
  step: (settings) => (offers(settings, 'password') ? { name: 'password', path: settings.paths.password } : undefined),
  ways: (settings) => (offers(settings, 'password') ? { forgot: settings.paths.forgot } : {}),
};
