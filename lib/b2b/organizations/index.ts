import type { Feature } from '../feature.ts';
import { selection } from './selection.ts';
import { organizationRoute } from './switch-route.ts';

/** The choice of an organization at the sign-in, and the switch to another one. */
export const organizations: Feature = {
  routes: (context) => [organizationRoute(context)],
  question: selection,
};
