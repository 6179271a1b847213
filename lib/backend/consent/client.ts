import type { CallOptions, ClientResult, PostCall, Routes } from '../../client/send.ts';
import type { ConnectedAppsBody, ConsentBody, RedirectBody } from '../../types.ts';

export interface ConsentQueryCall extends CallOptions {
  readonly query: {
    /** From the query of the page to which the project's OAuth server sent the browser. */
    readonly authorization_id: string;
  };
}

export interface ConsentCall extends CallOptions {
  readonly body: { readonly authorization_id: string; readonly action: 'allow' | 'deny' };
}

export type DisconnectCall = PostCall<{
  /** The id of the app's client. */
  readonly revoke: string;
}>;

export interface ConsentCalls {
  /** Allows or denies what an app asks for; then send the browser to `data.redirectTo`, which is the app's own address. */
  consent(call: ConsentCall): Promise<ClientResult<RedirectBody>>;
  /** What an app asks for; `'redirectTo' in data` where the user has allowed it before. Ask once, when the page is opened. */
  consent(call: ConsentQueryCall): Promise<ClientResult<ConsentBody | RedirectBody>>;
  /** Disconnects an app. */
  connectedApps(call: DisconnectCall): Promise<ClientResult<RedirectBody>>;
  /** The apps that act for the signed-in user. */
  connectedApps(call?: CallOptions): Promise<ClientResult<ConnectedAppsBody>>;
}

export interface ConsentPaths {
  /** Default `/oauth/consent`. */
  readonly consent: string;
  /** Default `/oauth/apps`. */
  readonly connectedApps: string;
}

export const consentRoutes = {
  consent: { path: '/oauth/consent', get: ['client', 'redirectTo'], post: 'redirectTo' },
  connectedApps: { path: '/oauth/apps', get: 'apps', post: 'redirectTo' },
} satisfies Routes<ConsentCalls>;
