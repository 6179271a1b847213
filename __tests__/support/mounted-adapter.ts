import express from 'express';
import { Parts, registerRouter } from '../../lib/http/adapter.ts';
import type { Adapter, OwnPath } from '../../lib/http/adapter.ts';
import type { isAuthRoute } from '../../lib/http/mount/mounts.ts';

/** A request that has passed an adapter. */
export type Passed = Parameters<typeof isAuthRoute>[0];

interface Given extends Partial<Pick<Adapter, 'adapter' | 'protectedRoutes' | 'emit'>> {
  /** The own paths, by the option that names them. */
  readonly paths?: Readonly<Record<string, string>>;
  /** The own paths that `returnTo` may name. */
  readonly pages?: readonly string[];
}

/** What the place of an adapter in its application depends on, without a provider. */
export function createAdapter({ adapter = 'b2b', paths = {}, pages = [], ...rest }: Given = {}): Adapter {
  const own: OwnPath[] = [
    // No option moves a file of the built-in pages alone.
    ...Object.entries(paths).map(([option, path]) => (option === 'file' ? { path } : { option, path })),
    ...pages.map((path) => ({ option: 'pages', path, isReturnTarget: true })),
  ];
  return {
    adapter,
    name: `${adapter}Auth`,
    protectedRoutes: [],
    emit: () => undefined,
    ownPaths: new Map(own.map((each) => [each.path, each])),
    parts: new Parts(),
    ...rest,
  } as unknown as Adapter;
}

/** The router of an adapter, to mount it. */
export function routerOf(definition: Adapter): express.Router {
  const router = express.Router();
  registerRouter(router, definition);
  return router;
}

/** An Express 5 application whose adapters stand at these paths, in this order. */
export function applicationOf(...mounts: readonly (readonly [string | RegExp, Adapter])[]): express.Express {
  const app = express();
  for (const [path, definition] of mounts) app.use(path, routerOf(definition));
  return app;
}

/** A request to the path that is left below the adapter's mount path. */
export function passed(
  definition: Adapter,
  { app, url = '/', params, ...place }: Partial<Omit<Passed, 'definition' | 'req'>> & Partial<Passed['req']> = {},
): Passed {
  const chain = { prefix: '', isMounted: true, preceding: undefined, following: undefined };
  return { ...chain, ...place, definition, req: { app, url, params } };
}
