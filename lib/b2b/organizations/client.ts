import type { ClientResult, PostCall, Routes } from '../../client/send.ts';
import type { RedirectBody } from '../../types.ts';

export type OrganizationCall = PostCall<{
  /** The WorkOS id of the organization to switch to. */
  readonly organizationId: string;
}>;

export interface OrganizationsCalls {
  /**
   * Switches the session to another organization; send the browser to `data.redirectTo`, which leads to the provider where it
   * wants a sign-in for this organization. A refusal is the error with status 403, and the session stays as it is.
   */
  organization(call: OrganizationCall): Promise<ClientResult<RedirectBody>>;
}

export interface OrganizationsPaths {
  /** Default `/organization`. */
  readonly organization: string;
}

export const organizationsRoutes = {
  organization: { path: '/organization', post: 'redirectTo' },
} satisfies Routes<OrganizationsCalls>;
