import { createPrefixMapping } from './prefix.ts';

const allHosts = ['Express 5', 'Express 4', 'Connect', 'bare node:http'] as const;
export type HostName = (typeof allHosts)[number];

export const frontNames = ['nothing', 'parsers', 'hardening', 'everything'] as const;
export type FrontName = (typeof frontNames)[number];

/** What the applications of the HTTP suites are built on: Express 5 with nothing in front, unless a project or the environment differs. */
export interface Variant {
  readonly host: HostName;
  readonly front: FrontName;
  /** Where the whole application lives, `''` for the root. */
  readonly prefix: string;
  /** Whether a proxy that ends TLS stands in front, and `trust proxy` is set. */
  readonly isProxied: boolean;
  /** Whether verified sessions are cached. */
  readonly isCached: boolean;
  /** Whether OpenTelemetry's instrumentation wraps the layers of Express. */
  readonly isTraced: boolean;
}

const { env } = process;
/** Of a project of tools/jest.variants.config.ts. */
const { variant: ofProject } = globalThis as { readonly variant?: Partial<Variant> };

export const variant: Variant = {
  host: oneOf(allHosts, env['TEST_HOST'] ?? 'Express 5'),
  front: oneOf(frontNames, env['TEST_FRONT'] ?? 'nothing'),
  prefix: env['TEST_PREFIX'] ?? '',
  isProxied: env['TEST_PROXY'] === 'on',
  isCached: env['TEST_CACHE'] !== 'off',
  isTraced: false,
  ...ofProject,
};

/** What a suite of every host runs on; where tools/peers.js puts another Express in place, on that one alone. */
export const hostNames: readonly HostName[] = env['TEST_EXPRESS'] === undefined ? allHosts : [variant.host];

export const isExpress = variant.host.startsWith('Express');

export const prefixMapping = variant.prefix === '' ? undefined : createPrefixMapping(variant.prefix);

/** What a cookie has besides its own attributes where the visitor sees https. */
export const protocolAttributes: readonly string[] = variant.isProxied ? ['Secure'] : [];
/** Before the names of the cookies of a sign-in under way. */
export const flowPrefix = variant.isProxied ? '__Host-' : '';
export const privateCookie = variant.isProxied ? /; HttpOnly; Secure; SameSite=Lax$/ : /; HttpOnly; SameSite=Lax$/;

function oneOf<Name extends string>(known: readonly Name[], name: string): Name {
  const found = known.find((each) => each === name);
  if (found === undefined) throw new Error(`'${name}' is none of: ${known.join(', ')}`);
  return found;
}
