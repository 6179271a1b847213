import type { Feature } from '../feature.ts';
import { accountRoute } from './route.ts';

/** The account home: what a user can do with the account, of whatever room. */
export const account: Feature = {
  routes: (backend) => [accountRoute(backend)],
  ways: ({ paths }) => ({ account: paths.account }),
};
