import type { Feature } from '../feature.ts';
import { confirmRoute } from './route.ts';

/** `token_hash` links of emails, and the question before one replaces another user's session. */
export const confirm: Feature = {
  routes: (backend) => [confirmRoute(backend)],
  step: ({ paths }) => ({ name: 'account', path: paths.confirm }),
};
