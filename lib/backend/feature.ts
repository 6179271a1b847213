import type { Adapter } from '../http/adapter.ts';
import type { AuthRoute } from '../http/router.ts';
import type { Emit } from '../session/events.ts';
import type { SessionSource } from '../session/source.ts';
import type { BackendContext } from './context.ts';
import type { BackendOptions } from './options.ts';
import type { AccountPart, RoomParts, SignInPart, SignInStep, Slots, Ways } from './slots.ts';

/** A capability of `backendAuth`. Everything that knows of it lies in its room, the folder that exports this. */
export interface Feature {
  /** None where the options switch it off: the application may then use their paths. */
  readonly routes?: (backend: BackendContext) => readonly AuthRoute[];
  /** What it adds to the sign-in page. */
  readonly signIn?: (settings: BackendOptions) => SignInPart<BackendContext> | undefined;
  /** Its step between the first factor and the session. */
  readonly step?: (settings: BackendOptions) => SignInStep | undefined;
  /** Its paths that the kernel's pages lead to. */
  readonly ways?: (settings: BackendOptions) => Ways;
  /** What it adds to the account home. */
  readonly account?: (settings: BackendOptions) => AccountPart<BackendContext> | undefined;
  /** What it adds to the source of the sessions. */
  readonly source?: (settings: BackendOptions) => SourcePart;
  /** Parts of the context, in place of those of the kernel that do nothing. */
  readonly parts?: (base: PartsBase) => Partial<RoomParts>;
  /** What guards and replies ask of it. */
  readonly adapter?: (backend: BackendContext) => AdapterSlots;
}

export type SourcePart = Pick<SessionSource<unknown>, 'lifetime'>;

export type AdapterSlots = Partial<Pick<Adapter, 'keepsOpener' | 'secondFactor'>>;

export interface PartsBase {
  readonly settings: BackendOptions;
  readonly emit: Emit;
}

export function slotsOf(features: readonly Feature[], settings: BackendOptions): Slots<BackendContext> {
  const steps = features.flatMap(({ step }) => step?.(settings) ?? []);
  return {
    signIn: features.flatMap(({ signIn }) => signIn?.(settings) ?? []),
    steps: new Map(steps.map(({ name, path }) => [name, path])),
    ways: Object.assign({}, ...features.map(({ ways }) => ways?.(settings))) as Ways,
    account: features.flatMap(({ account }) => account?.(settings) ?? []),
  };
}
