import { routePath } from '../../options/shared.ts';

export const confirmEntries = {
  /** Where `token_hash` links of emails lead. Default `/auth/confirm`. */
  confirmPath: routePath('/auth/confirm'),
};
