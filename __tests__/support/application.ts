import type http from 'node:http';
import type { AuthEvent, OnEvent } from '../../lib/types.ts';
import { fronts, hosts } from './hosts.ts';
import type { Host } from './hosts.ts';
import { prefixMapping, variant } from './variant.ts';

export interface Application {
  /** What listens. */
  readonly listener: http.RequestListener;
  /** Where adapters and pages go. */
  readonly host: Host;
}

/** An empty application of this run's variant. */
export function createApplication(): Application {
  const root = hosts[variant.host]();
  if (variant.isProxied) root.express.set('trust proxy', 'loopback');
  for (const handler of fronts[variant.front]()) root.use(handler);
  if (prefixMapping === undefined) return { listener: root.listener, host: root };
  const { target } = prefixMapping;
  const serveRoot: http.RequestListener = root.listener;
  return {
    host: root.below(variant.prefix),
    listener(req, res) {
      req.url = target(req.url ?? '/');
      serveRoot(req, res);
    },
  };
}

/** What the variant adds to an adapter's options, and makes of them. */
export function variantOptions<Options extends SomeOptions>(options: Options): Options {
  const { protectedRoutes, onEvent } = options;
  return {
    ...(variant.isCached ? {} : { maxCachedSessions: 0 }),
    ...options,
    ...(protectedRoutes === undefined
      ? {}
      : { protectedRoutes: [protectedRoutes].flat().map((each) => variant.prefix + each) }),
    ...(onEvent === undefined || variant.prefix === '' ? {} : { onEvent: withoutPrefixWarning(onEvent) }),
  };
}

/** Below a prefix every application with protectedRoutes gets it. */
function withoutPrefixWarning(onEvent: OnEvent): OnEvent {
  const isPrefixWarning = (event: AuthEvent): boolean =>
    event.type === 'configuration_warning' && event.message.includes('mounted under a path');
  return (event) => (isPrefixWarning(event) ? undefined : onEvent(event));
}

interface SomeOptions {
  readonly protectedRoutes?: string | readonly string[] | undefined;
  readonly onEvent?: OnEvent | undefined;
}

/** The origin under which a visitor meets a server of this variant. */
export function publicOrigin(origin: string): string {
  return variant.isProxied ? origin.replace('http:', 'https:') : origin;
}
