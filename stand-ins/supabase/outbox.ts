import type { Mail as SentMail } from './types.ts';

/** A mail that a real project would have sent, for a page to show. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** One paragraph per line. */
  readonly text: string;
  /** The target of the email's button: the application's own confirmation page. */
  readonly link: string;
  readonly sentAt: Date;
}

export interface Outbox {
  /** Newest first. */
  list(): readonly Mail[];
  clear(): void;
}

const maxShown = 50;

/** The templates of docs/accounts.md for each kind of email: subject, text, and whether it contains the code. */
const letters: Readonly<Record<SentMail['kind'], readonly [subject: string, text: string, code?: true]>> = {
  signup: ['Confirm your email address', 'Open the link to confirm the address {email}.'],
  invite: ['You are invited', 'Open the link to accept the invitation for {email} and choose a password.'],
  magiclink: ['Sign in', 'Open the link to sign in as {email}, or enter the code {code}.', true],
  recovery: ['Choose a new password', 'Open the link to choose a new password for {email}.'],
  email_change: ['Confirm your new email address', 'Open the link to confirm the change of your address to {email}.'],
  reauthentication: ['Your code', 'Enter the code {code} to confirm that it is you.', true],
};

/**
 * Shows the stand-in's emails with the texts of the templates that the documentation recommends.
 *
 * @param siteUrl the application's origin
 */
export function createOutbox(sent: SentMail[], siteUrl: string): Outbox {
  return {
    list: () =>
      sent
        .slice(-maxShown)
        .reverse()
        .map((mail) => shown(mail, siteUrl)),
    clear: () => void sent.splice(0),
  };
}

export function shown({ kind, to, token, tokenHash, sentAt }: SentMail, siteUrl: string): Mail {
  const [subject, text, code] = letters[kind];
  const query = new URLSearchParams({ token_hash: tokenHash, type: kind, returnTo: '/account' });
  return {
    to,
    subject,
    text: text.replace('{email}', to).replace('{code}', code === true ? token : ''),
    link: `${siteUrl}/auth/confirm?${query.toString()}`,
    sentAt: new Date(sentAt),
  };
}
