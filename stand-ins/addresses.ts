/** Where an application moved its routes: its options `callbackPath` and `pathPrefix`. */
export interface MovedRoutes {
  readonly callbackPath: string | undefined;
  readonly pathPrefix: string | undefined;
}

/** What such an application registers at its providers. */
export interface Addresses {
  /** Where both providers lead back. */
  readonly callback: string;
  /** The sign-in endpoint of WorkOS. */
  readonly signIn: string;
}

/** @returns `undefined` where no route was moved: then the application's first requests tell them */
export function addressesOf(origin: string, { callbackPath, pathPrefix }: MovedRoutes): Addresses | undefined {
  if (callbackPath === undefined && pathPrefix === undefined) return undefined;
  const prefix = pathPrefix ?? '';
  return { callback: origin + (callbackPath ?? `${prefix}/callback`), signIn: `${origin}${prefix}/login` };
}
