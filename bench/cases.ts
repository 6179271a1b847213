/** The measured cases, and their required ratios. */
import { cookieKilobytes } from './fixtures.ts';

/** The throughput of one variant as a multiple of another's. */
export interface Case {
  readonly title: string;
  readonly variant: string;
  readonly over: string;
  /** The minimum ratio; without one the number is only reported. */
  readonly atLeast?: number;
  /** Two processes of one program differ by a few percent; where that matters, more pairs are measured. */
  readonly isTight?: boolean;
  /** How many requests each server receives before it is measured. Default 10,000. */
  readonly warmUpRequests?: number;
}

/** V8 compiles the code of a whole verification for the last time after 10,000 to 13,000 of them, which takes half a second. */
const verifying = { warmUpRequests: 20_000 } as const;

export const control: Case = {
  title: 'control: the same server twice',
  variant: 'bare.b2bCookieAgain',
  over: 'bare.b2bCookie',
  isTight: true,
};
/** Outside of this range the machine was too noisy for a valid run. */
export const controlRange = [0.97, 1.03] as const;

const signedIn: Case = {
  title: 'signed in, B2B',
  variant: 'ours.b2bSignedIn',
  over: 'bare.b2bCookie',
  atLeast: 0.9,
  isTight: true,
};

/** Compared with a bare Express handler that receives the same cookie. */
export const overExpress: readonly Case[] = [
  {
    title: 'public route, both adapters mounted, 20 protected patterns',
    variant: 'ours.public20',
    over: 'bare.b2bCookie',
    atLeast: 0.95,
    isTight: true,
  },
  signedIn,
  {
    title: 'signed in, backend',
    variant: 'ours.backendSignedIn',
    over: 'bare.backendCookie',
    atLeast: 0.9,
    isTight: true,
  },
  { title: 'first request of a session, B2B', variant: 'ours.b2bCold', over: 'bare.b2bCookie', ...verifying },
  {
    title: 'first request of a session, backend (ES256)',
    variant: 'ours.backendCold',
    over: 'bare.backendCookie',
    ...verifying,
  },
  {
    title: 'every request another user, cache always missed, B2B',
    variant: 'ours.b2bCacheMisses',
    over: 'bare.b2bCookies',
    ...verifying,
  },
];

export const peers: readonly Case[] = [
  {
    title: 'express-session, in memory, the same session',
    variant: 'sessions.expressSession',
    over: 'bare.withoutCookie',
  },
  {
    title: 'express-session, in memory, only a user id',
    variant: 'sessions.expressSessionUserId',
    over: 'bare.withoutCookie',
  },
  { title: 'iron-session, without any token', variant: 'sessions.ironSession', over: 'bare.b2bCookie' },
  { title: 'express-openid-connect, requiresAuth', variant: 'oidc.requiresAuthGuard', over: 'bare.withoutCookie' },
  { title: '@auth/express, getSession', variant: 'authjs.getAuthSession', over: 'bare.withoutCookie' },
  { title: '@workos-inc/node, loadSealedSession', variant: 'workos.sealedSession', over: 'bare.b2bCookie' },
  { title: '@workos/authkit-session, withAuth', variant: 'workos.authkitSession', over: 'bare.b2bCookie' },
  { title: '@supabase/ssr, getClaims (ES256)', variant: 'supabase.getClaims', over: 'bare.backendCookie' },
  { title: '@supabase/ssr, getUser', variant: 'supabase.getUser', over: 'bare.backendCookie' },
];

export const overPeers: readonly Case[] = [
  {
    title: 'signed in, B2B: times WorkOS’ helper',
    variant: 'ours.b2bSignedIn',
    over: 'workos.sealedSession',
    atLeast: 12,
  },
  {
    title: 'signed in, B2B: times express-openid-connect',
    variant: 'ours.b2bSignedIn',
    over: 'oidc.requiresAuthGuard',
    atLeast: 8,
  },
  {
    title: 'signed in, B2B: times express-session',
    variant: 'ours.b2bSignedIn',
    over: 'sessions.expressSession',
    atLeast: 2,
  },
  {
    title: 'signed in, B2B: times express-session with only a user id',
    variant: 'ours.b2bSignedIn',
    over: 'sessions.expressSessionUserId',
  },
  {
    title: 'signed in, backend: times getClaims',
    variant: 'ours.backendSignedIn',
    over: 'supabase.getClaims',
    atLeast: 15,
  },
  {
    title: 'signed in, backend: times express-session',
    variant: 'ours.backendSignedIn',
    over: 'sessions.expressSession',
    atLeast: 1.6,
  },
  {
    title: 'first request, B2B: times WorkOS’ helper',
    variant: 'ours.b2bCold',
    over: 'workos.sealedSession',
    atLeast: 1.6,
    ...verifying,
  },
  {
    title: 'first request, backend: times getClaims',
    variant: 'ours.backendCold',
    over: 'supabase.getClaims',
    atLeast: 2,
    ...verifying,
  },
];

export const patterns: Case = {
  title: '500 protected patterns instead of 5',
  variant: 'ours.public500',
  over: 'ours.public5',
  atLeast: 0.98,
  isTight: true,
};

export const accepting: Case = {
  title: 'signed in, B2B, with `accept`: times without',
  variant: 'ours.b2bAccepting',
  over: 'ours.b2bSignedIn',
  atLeast: 0.98,
  isTight: true,
};

export const cookieSizes: readonly Case[] = cookieKilobytes.map((kilobytes) => ({
  title: kilobytes === 1 ? '1.2 KB, the smallest session' : `${kilobytes} KB`,
  variant: `ours.b2bPadded${kilobytes}`,
  over: `bare.padded${kilobytes}`,
}));

/** The p99 of the first as a multiple of the second's. */
export const tail = { of: signedIn, atMost: 1.5 } as const;

/** The time to load Express and an entry, as a multiple of that of Express and the SDK. */
export const imports = [
  { title: '/b2b', entry: 'b2b', sdk: ['@workos-inc/node'], atMost: 1.25 },
  { title: '/backend', entry: 'backend', sdk: ['@supabase/ssr', '@supabase/supabase-js'], atMost: 1.25 },
] as const;

/** Each program of ours as a multiple of the same program of a former build. */
export const overFormer: readonly Case[] = overExpress.map(({ title, variant, warmUpRequests }) => ({
  title: `${title}: times the former build`,
  variant,
  over: variant.replace('ours.', 'former.'),
  atLeast: 0.98,
  isTight: true,
  ...(warmUpRequests !== undefined && { warmUpRequests }),
}));
