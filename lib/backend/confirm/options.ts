import { routePath } from '../../options/shared.ts';

export const confirmPaths = {
  /** Where `token_hash` links of emails lead. Default `/auth/confirm`. */
  confirm: routePath('/auth/confirm'),
};
