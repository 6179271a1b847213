import { createOutbox, shown } from './outbox.ts';
import type { Mail, Outbox } from './outbox.ts';
import { everyProvider } from './routes/oauth.ts';
import { startSupabaseStandIn } from './stand-in.ts';
import type { SupabaseStandIn, SupabaseStandInOptions } from './stand-in.ts';
import { profileOf } from './users.ts';

export type { Mail, Outbox } from './outbox.ts';

export interface SupabaseLocalOptions {
  /** Default: 0, a free one. */
  readonly port?: number;
  /** Default: a random one. */
  readonly publishableKey?: string | undefined;
  /** Default: a random one. */
  readonly secretKey?: string | undefined;
  /** The application's origin: the target of emails and OAuth. */
  readonly siteUrl: string;
  /** Whether a new account must be confirmed by an email's link; default true. */
  readonly confirmEmail?: boolean;
  /** Called with each redirect target at its first use, to say which ones a real project must list. */
  readonly onRedirect?: SupabaseStandInOptions['onRedirect'];
  /** Called with each mail. */
  readonly onMail?: (mail: Mail) => void;
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
  readonly secretKey: string;
  readonly outbox: Outbox;
  /** An existing account. It is valid only in this local project. */
  readonly demo: Credentials;
  /** An existing account with `app_metadata.role`: `admin`. */
  readonly admin: Credentials;
  /** The current codes of the users' authenticator apps. */
  authenticator(): readonly AuthenticatorCode[];
  /** The project itself: its switches, faults and keys. */
  readonly standIn: SupabaseStandIn;
  close(): Promise<void>;
}

const demo: Credentials = { email: 'demo@example.com', password: 'try-me-locally' };
const admin: Credentials = { email: 'admin@example.com', password: demo.password };

/** Whom the pages of the OAuth providers offer. The last two also have a password. */
const people = [
  { name: 'Octavia Hill', email: 'octavia@example.com' },
  { name: 'Ada Lovelace', email: 'ada@example.com' },
  { name: 'Dorothy Vaughan', email: demo.email },
  { name: 'Margaret Hamilton', email: admin.email },
] as const;

/**
 * A Supabase project in this process, on 127.0.0.1 and in memory: accounts, emails to an outbox, second factors, pages
 * that stand in for every OAuth provider, single sign-on for example.org, an OAuth server with a demo app, and a table `notes` that shows
 * each user their own rows.
 *
 * @throws {Error} in production
 */
export async function startSupabaseLocal(options: SupabaseLocalOptions): Promise<SupabaseLocal> {
  const { port = 0, siteUrl, confirmEmail = true, now = Date.now, onRedirect, onMail } = options;
  if (process.env['NODE_ENV'] === 'production') {
    throw new Error('The local Supabase project checks too little to run in production.');
  }
  const standIn = await startSupabaseStandIn({
    port,
    publishableKey: options.publishableKey,
    secretKey: options.secretKey,
    siteUrl,
    now,
    redirectAllowList: ['http://*.localhost:*/**'],
    people,
    ...(onRedirect && { onRedirect }),
    onMail: (mail) => onMail?.(shown(mail, siteUrl)),
    autoconfirm: !confirmEmail,
    minimumPasswordLength: 8,
    mailFrequency: 1,
    anonymousUsers: true,
    totpFactors: true,
    passkeys: true,
    keyFactors: true,
    oauthServer: true,
    ssoDomains: new Set(['example.org']),
    providers: everyProvider,
    oauthEmail: people[0].email,
    oauthNames: true,
    welcomeNotes: [
      'Welcome! This row came from the database, read with your own access token.',
      'Row-level security compares auth.uid() with user_id: sign in as another user and these rows are gone.',
    ],
  });
  for (const { name, email } of people.slice(2)) {
    const appMetadata = email === admin.email ? { role: 'admin' } : {};
    standIn.addUser({ email, password: demo.password, metadata: profileOf(standIn.url, name), appMetadata });
  }
  const { url, publishableKey, secretKey, mails } = standIn;
  return {
    url,
    publishableKey,
    secretKey,
    outbox: createOutbox(mails, siteUrl),
    demo,
    admin,
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
