import { routePath } from '../../options/shared.ts';

export const organizationsPaths = {
  /** Switches the session to another organization (POST). Default `/organization`. */
  organization: routePath('/organization'),
};
