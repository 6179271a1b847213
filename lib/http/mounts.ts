import type { IncomingMessage } from 'node:http';
import { isReachableUnder } from '../core/path-matcher.ts';
import { mountedOn } from './context.ts';
import type { MountedAdapter } from './context.ts';
import type { Adapter, OwnPath } from './adapter.ts';
import { adaptersInStack } from './express-stack.ts';
import type { StackedAdapter } from './express-stack.ts';
import type { HostRequest } from './request.ts';

/** What each application's stack held when an adapter in it met its first request. */
const surveys = new WeakMap<object, readonly StackedAdapter[]>();

/** A path as Express compares it by default: any case, with or without a trailing slash. */
export function comparablePath(path: string): string {
  const lower = path.toLowerCase();
  return lower.length > 1 && lower.endsWith('/') ? lower.slice(0, -1) : lower;
}

/** By the path as Express compares it. */
export function ownPathsOf<Path extends OwnPath>(paths: readonly Path[]): ReadonlyMap<string, Path> {
  return new Map(paths.map((own) => [comparablePath(own.path), own]));
}

/** Whether the path, below no mount path, is an own route of any adapter that the request has passed or that its application holds. */
export function isAuthRoute(req: HostRequest, path: string): boolean {
  return ownersOf(req, path).length > 0;
}

/**
 * Whether an adapter further down the application's stack will answer this path, so that a guard may leave the request to it.
 * Where that is not known, as under Connect, it is not so.
 *
 * @param path below no mount path, as routers see it now
 */
export function isAnsweredLater({ req, definition }: MountedAdapter, path: string): boolean {
  const stacked = surveyOf(req);
  const own = stacked.findIndex((other) => other.definition === definition);
  return own !== -1 && stacked.slice(own + 1).some((other) => ownerOf(other.definition, other.restOf(path)));
}

interface Owner {
  readonly definition: Adapter;
  readonly own: OwnPath;
}

function ownersOf(req: HostRequest, path: string): Owner[] {
  const passed = mountedOn(req).map((mounted) => ownerOf(mounted.definition, restBelowMount(mounted, path)));
  const stacked = surveyOf(req).map(({ definition, restOf }) => ownerOf(definition, restOf(path)));
  return [...passed, ...stacked].filter((owner) => owner !== undefined);
}

function ownerOf(definition: Adapter, rest: string | undefined): Owner | undefined {
  const own = rest === undefined ? undefined : definition.ownPaths.get(comparablePath(rest));
  return own === undefined ? undefined : { definition, own };
}

function restBelowMount({ prefix }: MountedAdapter, path: string): string | undefined {
  return path.toLowerCase().startsWith(prefix.toLowerCase()) ? path.slice(prefix.length) : undefined;
}

function surveyOf(req: HostRequest): readonly StackedAdapter[] {
  return (typeof req.app === 'function' ? surveys.get(req.app) : undefined) ?? survey(req);
}

/** Reads the application's stack; to be called at an adapter's first request, when everything is mounted. */
export function survey(req: HostRequest): readonly StackedAdapter[] {
  const found = adaptersInStack(req);
  if (typeof req.app === 'function') surveys.set(req.app, found);
  return found;
}

/** What is wrong with how the adapters are mounted, as far as this request can tell. */
export function mountProblems(mounted: MountedAdapter): string[] {
  const { definition, prefix, req } = mounted;
  const unreachable = definition.protectedRoutes.filter((pattern) => !isReachableUnder(pattern, prefix));
  return [
    ...unreachable.map(
      (pattern) =>
        `protectedRoutes: '${pattern}' can never match, because the adapter is mounted under '${prefix}'; patterns are root-relative, so write '${prefix}${pattern}' or mount the adapter at the root`,
    ),
    ...(isMountedTwice(req, mounted)
      ? [`${definition.name}() is mounted twice in one application; mount it once`]
      : []),
    ...new Set(clashes(req, mounted)),
  ];
}

function isMountedTwice(req: IncomingMessage, mounted: MountedAdapter): boolean {
  const { definition } = mounted;
  const passed = mountedOn(req).filter((other) => other !== mounted);
  const stacked = surveyOf(req);
  const others = [...passed, ...stacked.filter((other) => other.definition !== definition)];
  return (
    others.some((other) => other.definition.adapter === definition.adapter) ||
    stacked.filter((other) => other.definition === definition).length > 1
  );
}

function clashes(req: IncomingMessage, { definition, prefix }: MountedAdapter): string[] {
  return [...definition.ownPaths.values()].flatMap((own) => {
    const path = prefix + own.path;
    return (
      ownersOf(req, path)
        .filter((owner) => owner.definition.adapter !== definition.adapter)
        // Both serve the same stylesheet.
        .filter((owner) => own.option !== 'stylesheetPath' || owner.own.option !== 'stylesheetPath')
        .map(
          (owner) =>
            `${own.option}: ${definition.name}() and ${owner.definition.name}() both answer '${path}'; give ${own.option} of one of them another path`,
        )
    );
  });
}
