import { createHash, randomInt } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { GoTrueError } from './errors.ts';
import type { PkceChallenge } from './flows.ts';
import type { Mail, Switches, User } from './types.ts';

/** A user has one token of each class; the types of /verify name classes, not mails. */
type TokenClass = 'confirmation' | 'recovery' | 'email_change_current' | 'email_change_new' | 'reauthentication';

export interface OneTimeToken {
  readonly hash: string;
  readonly userId: string;
  readonly tokenClass: TokenClass;
  readonly pkce: PkceChallenge | undefined;
  readonly sentAt: number;
}

interface Letter {
  readonly kind: Mail['kind'];
  readonly to: string;
  readonly tokenClass: TokenClass;
  readonly redirectTo: string;
  readonly pkce: PkceChallenge | undefined;
}

type SentAt = 'confirmationSentAt' | 'recoverySentAt' | 'emailChangeSentAt' | 'reauthenticationSentAt';

const lifetimeMs = 3_600_000;
const maxKept = 500;
const classOf: Readonly<Record<Exclude<Mail['kind'], 'email_change'>, TokenClass>> = {
  signup: 'confirmation',
  invite: 'confirmation',
  recovery: 'recovery',
  magiclink: 'recovery',
  reauthentication: 'reauthentication',
};
const clockOf: Readonly<Record<TokenClass, SentAt>> = {
  confirmation: 'confirmationSentAt',
  recovery: 'recoverySentAt',
  email_change_current: 'emailChangeSentAt',
  email_change_new: 'emailChangeSentAt',
  reauthentication: 'reauthenticationSentAt',
};
const classesOf: Readonly<Record<string, readonly TokenClass[]>> = {
  email: ['confirmation', 'recovery'],
  signup: ['confirmation'],
  invite: ['confirmation'],
  recovery: ['recovery'],
  magiclink: ['recovery'],
  email_change: ['email_change_current', 'email_change_new'],
};

export const tokenHashOf = (email: string, token: string) =>
  createHash('sha224')
    .update(email + token)
    .digest('hex');

/** The project's sent emails, and their one-time tokens. */
export function createMails(url: string, switches: Switches, now: () => number, onMail?: (mail: Mail) => void) {
  const tokens = new Map<string, OneTimeToken>();
  const sent: Mail[] = [];

  /** @throws GoTrueError `over_email_send_rate_limit` while the address has to wait. */
  function checkFrequency(user: User, clock: SentAt): void {
    const waitMs = Date.parse(user[clock] ?? '') + switches.mailFrequency * 1000 - now();
    if (!(waitMs > 0)) return;
    const message = `For security purposes, you can only request this after ${Math.ceil(waitMs / 1000)} seconds.`;
    throw new GoTrueError(429, 'over_email_send_rate_limit', message);
  }

  function post(user: User, { kind, to, tokenClass, redirectTo, pkce }: Letter): Mail {
    refuseToSend(switches, to);
    user[clockOf[tokenClass]] = new Date(now()).toISOString();
    for (const old of tokens.values()) {
      if (old.userId === user.id && old.tokenClass === tokenClass) tokens.delete(old.hash);
    }
    const token = String(randomInt(1_000_000)).padStart(6, '0');
    const tokenHash = `${pkce ? 'pkce_' : ''}${tokenHashOf(to, token)}`;
    tokens.set(tokenHash, { hash: tokenHash, userId: user.id, tokenClass, pkce, sentAt: now() });
    const query = new URLSearchParams({ token: tokenHash, type: kind, redirect_to: redirectTo });
    const confirmationUrl = `${url}/auth/v1/verify?${query.toString()}`;
    const mail = { kind, to, token, confirmationUrl, tokenHash, redirectTo, sentAt: now() };
    sent.push(mail);
    if (sent.length > maxKept) sent.shift();
    onMail?.(mail);
    return mail;
  }

  /** @throws GoTrueError `otp_expired` for one that is unknown, spent, too old or of another class. */
  function find(fits: (token: OneTimeToken) => boolean, type: string, message: string): OneTimeToken {
    const token = [...tokens.values()].find((each) => classesOf[type]?.includes(each.tokenClass) && fits(each));
    if (!token || now() - token.sentAt > lifetimeMs) throw new GoTrueError(403, 'otp_expired', message);
    return token;
  }

  return {
    sent,

    /** @throws GoTrueError */
    async send(user: User, kind: Exclude<Mail['kind'], 'email_change'>, redirectTo: string, pkce?: PkceChallenge) {
      const tokenClass = classOf[kind];
      if (kind !== 'invite') checkFrequency(user, clockOf[tokenClass]);
      await this.takeTime();
      return post(user, { kind, to: user.email, tokenClass, redirectTo, pkce });
    },

    /** The emails of an address change: one to the old address where both must confirm, one to the new one. */
    sendEmailChange(user: User, newEmail: string, redirectTo: string, pkce?: PkceChallenge): readonly Mail[] {
      checkFrequency(user, 'emailChangeSentAt');
      user.newEmail = newEmail.toLowerCase();
      const letter = { kind: 'email_change', redirectTo, pkce } as const;
      const asksBoth = switches.secureEmailChange && user.email !== '';
      return [
        ...(asksBoth ? [post(user, { ...letter, to: user.email, tokenClass: 'email_change_current' })] : []),
        post(user, { ...letter, to: user.newEmail, tokenClass: 'email_change_new' }),
      ];
    },

    /** Waits for the configured duration of a mail server, in real milliseconds. */
    async takeTime(): Promise<void> {
      if (switches.mailMs > 0) await setTimeout(switches.mailMs);
    },

    /** Whether another link of an address change has not been opened yet. */
    hasOther: (token: OneTimeToken) =>
      [...tokens.values()].some(
        ({ userId, tokenClass, hash }) =>
          userId === token.userId && tokenClass.startsWith('email_change') && hash !== token.hash,
      ),

    /** @throws GoTrueError `otp_expired` */
    byHash: (tokenHash: string, type: string) =>
      find(({ hash }) => hash === tokenHash, type, 'Email link is invalid or has expired'),

    /** The token for an address and a code. @throws GoTrueError `otp_expired` */
    byCode(email: string, code: string, type: string): OneTimeToken {
      const hash = tokenHashOf(email.toLowerCase(), code);
      return find((token) => [hash, `pkce_${hash}`].includes(token.hash), type, 'Token has expired or is invalid');
    },

    /** @throws GoTrueError `reauthentication_not_valid` */
    spendNonce(user: User, nonce: string): void {
      const token = tokens.get(tokenHashOf(user.email, nonce));
      if (token?.userId !== user.id || token.tokenClass !== 'reauthentication') {
        throw new GoTrueError(422, 'reauthentication_not_valid', 'Nonce has expired or is invalid');
      }
      tokens.delete(token.hash);
    },

    spend: ({ hash }: OneTimeToken) => tokens.delete(hash),

    /** A used link or a new password invalidates all other links of the user. */
    clear(user: User): void {
      for (const token of tokens.values()) if (token.userId === user.id) tokens.delete(token.hash);
    },
  };
}

/** GoTrue detects these errors when it sends, so they occur only for addresses that get an email. */
function refuseToSend({ mailFailure, invalidEmailDomains }: Switches, email: string): void {
  if (invalidEmailDomains.has(email.split('@')[1] ?? '')) {
    throw new GoTrueError(400, 'email_address_invalid', `Email address "${email}" is invalid`);
  }
  // GoTrue accepts a..b@example.com as an address; its mailer does not.
  switch (email.includes('..') ? 'smtp' : mailFailure) {
    case 'smtp':
      throw new GoTrueError(500, 'unexpected_failure', 'Error sending confirmation email');
    case 'quota':
      throw new GoTrueError(429, 'over_email_send_rate_limit', 'email rate limit exceeded');
    case 'not_authorized': {
      const message = `Email address "${email}" cannot be used as it is not authorized`;
      throw new GoTrueError(400, 'email_address_not_authorized', message);
    }
    case undefined:
  }
}

export type Mails = ReturnType<typeof createMails>;
