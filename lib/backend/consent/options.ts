import * as v from 'valibot';
import { routePath } from '../../options/shared.ts';

export const consentEntries = {
  /** Whether the project's OAuth server asks for consent here, and users can disconnect its apps. Default false. */
  oauthConsent: v.optional(v.boolean('must be true or false'), false),
};

export const consentPaths = {
  /** Asks users whether another app may act for them, with `oauthConsent: true`. Default `/oauth/consent`. */
  consent: routePath('/oauth/consent'),
  /** Lists the apps that users have allowed, and disconnects them. Default `/oauth/apps`. */
  connectedApps: routePath('/oauth/apps'),
};
