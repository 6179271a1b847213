import { createOutbox } from './outbox.ts';
import type { Outbox } from './outbox.ts';
import { knownProviders } from './routes/oauth.ts';
import { startSupabaseStandIn } from './stand-in.ts';
import type { SupabaseStandIn } from './stand-in.ts';

export type { Mail, Outbox } from './outbox.ts';

export interface SupabaseLocalOptions {
  /** Default: 0, a free one. */
  readonly port?: number;
  /** The application's origin: the target of emails and OAuth. */
  readonly siteUrl: string;
  /** Whether a new account must be confirmed by an email's link; default true. */
  readonly confirmEmail?: boolean;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** The code of one authenticator app. */
export interface AuthenticatorCode {
  readonly email: string;
  readonly name: string;
  readonly code: string;
  readonly secondsLeft: number;
}

export interface SupabaseLocal {
  readonly url: string;
  readonly publishableKey: string;
  readonly outbox: Outbox;
  /** An existing account. It is valid only in this local project. */
  readonly demo: Credentials;
  /** The current codes of the users' authenticator apps. */
  authenticator(): readonly AuthenticatorCode[];
  /** The project itself: its switches, faults and keys. */
  readonly standIn: SupabaseStandIn;
  close(): Promise<void>;
}

const demo: Credentials = { email: 'demo@example.com', password: 'try-me-locally' };

/**
 * A Supabase project in this process, on 127.0.0.1 and in memory: accounts, emails to an outbox, second factors, pages
 * that stand in for GitHub, Google and five more OAuth providers, single sign-on for example.org, an OAuth server with a demo app, and a table `notes` that shows each user their own rows.
 *
 * @throws {Error} in production
 */
export async function startSupabaseLocal(options: SupabaseLocalOptions): Promise<SupabaseLocal> {
  const { port = 0, siteUrl, confirmEmail = true, now = Date.now } = options;
  if (process.env['NODE_ENV'] === 'production') {
    throw new Error('The local Supabase project checks too little to run in production.');
  }
  const standIn = await startSupabaseStandIn({
    port,
    siteUrl,
    now,
    redirectAllowList: [`${siteUrl}/**`],
    autoconfirm: !confirmEmail,
    minimumPasswordLength: 8,
    mailFrequency: 1,
    anonymousUsers: true,
    totpFactors: true,
    passkeys: true,
    keyFactors: true,
    oauthServer: true,
    ssoDomains: new Set(['example.org']),
    providers: knownProviders,
    oauthEmail: 'octavia@example.com',
    oauthNames: true,
    welcomeNotes: [
      'Welcome! This row came from the database, read with your own access token.',
      'Row-level security compares auth.uid() with user_id: sign in as another user and these rows are gone.',
    ],
  });
  standIn.addUser({ ...demo, confirmed: true });
  const { url, publishableKey, mails } = standIn;
  return {
    url,
    publishableKey,
    outbox: createOutbox(mails, siteUrl),
    demo,
    authenticator: () =>
      standIn.users().flatMap(({ email, factors }) =>
        factors
          .filter(({ type }) => type === 'totp')
          .map((factor) => {
            const secondsLeft = 30 - (Math.floor(now() / 1000) % 30);
            return { email, name: factor.name, code: standIn.codeOf(factor), secondsLeft };
          }),
      ),
    standIn,
    close: () => standIn.close(),
  };
}
