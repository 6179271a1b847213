import { createHash, randomBytes } from 'node:crypto';
import { GoTrueError } from './errors.ts';
import type { PkceChallenge } from './flows.ts';
import type { Mail, Switches, User } from './types.ts';

export interface OneTimeToken {
  readonly userId: string;
  readonly kind: Mail['kind'];
  readonly pkce: PkceChallenge | undefined;
  readonly sentAt: number;
}

const lifetimeMs = 3_600_000;

/** What the project sent, and the one-time tokens inside. */
export function createMails(url: string, switches: Switches, now: () => number) {
  const tokens = new Map<string, OneTimeToken>();
  const lastSent = new Map<string, number>();
  const sent: Mail[] = [];
  return {
    sent,

    /** @throws GoTrueError `over_email_send_rate_limit` while the address has to wait. */
    send(user: User, kind: Mail['kind'], redirectTo: string, pkce?: PkceChallenge): Mail {
      const waitMs = (lastSent.get(user.email) ?? -Infinity) + switches.mailFrequency * 1000 - now();
      if (waitMs > 0) {
        const message = `For security purposes, you can only request this after ${Math.ceil(waitMs / 1000)} seconds.`;
        throw new GoTrueError(429, 'over_email_send_rate_limit', message);
      }
      refuseToSend(switches, user.email);
      lastSent.set(user.email, now());
      for (const [hash, token] of tokens) {
        if (token.userId === user.id && token.kind === kind && kind !== 'email_change') tokens.delete(hash);
      }
      const hash = createHash('sha224').update(randomBytes(32)).digest('hex');
      const tokenHash = pkce ? `pkce_${hash}` : hash;
      tokens.set(tokenHash, { userId: user.id, kind, pkce, sentAt: now() });
      const confirmationUrl = `${url}/auth/v1/verify?${new URLSearchParams({
        token: tokenHash,
        type: kind,
        redirect_to: redirectTo,
      }).toString()}`;
      const mail = { kind, to: user.email, confirmationUrl, tokenHash };
      sent.push(mail);
      return mail;
    },

    /** The two mails of a secure change of address: one to the old address, one to the new one. */
    sendEmailChange(user: User, redirectTo: string): readonly Mail[] {
      return [0, 1].map(() => {
        lastSent.delete(user.email);
        return this.send(user, 'email_change', redirectTo);
      });
    },

    /** Whether another link of this kind is still to be opened. */
    hasOther: (userId: string, kind: Mail['kind']) =>
      [...tokens.values()].some((token) => token.userId === userId && token.kind === kind),

    /** Spends a token. @throws GoTrueError `otp_expired` for one that is unknown, spent, too old or of another kind. */
    redeem(tokenHash: string, type: string): OneTimeToken {
      const token = tokens.get(tokenHash);
      const fits = token && (type === token.kind || (type === 'email' && /^(signup|magiclink)$/.test(token.kind)));
      if (!fits || now() - token.sentAt > lifetimeMs) {
        throw new GoTrueError(403, 'otp_expired', 'Email link is invalid or has expired');
      }
      tokens.delete(tokenHash);
      return token;
    },
  };
}

/** GoTrue learns all of this when it sends, so only addresses that get a mail meet it. */
function refuseToSend({ mailFailure, invalidEmailDomains }: Switches, email: string): void {
  if (invalidEmailDomains.has(email.split('@')[1] ?? '')) {
    throw new GoTrueError(400, 'email_address_invalid', `Email address "${email}" is invalid`);
  }
  // GoTrue takes a..b@example.com for an address; its mailer does not.
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
