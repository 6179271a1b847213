import { routePath } from '../../options/shared.ts';

export const organizationsEntries = {
  /** Switches the session to another organization (POST). Default `/organization`. */
  organizationPath: routePath('/organization'),
};
