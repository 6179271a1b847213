import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { totp } from './totp.ts';
import { GoTrueError } from './errors.ts';
import type { Factor, NewFactor, Switches, TextMessage, User } from './types.ts';
import { checkAssertion, creationOptions, newChallenge, readRegistration, record, requestOptions } from './webauthn.ts';
import type { RelyingParty } from './webauthn.ts';

interface Challenge {
  readonly id: string;
  readonly factorId: string;
  readonly expiresAt: number;
  /** The code in the text message. */
  readonly code: string | undefined;
  /** What a security key signs. */
  readonly challenge: string;
  isSpent: boolean;
}

const lifetimeMs = 300_000;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Second factors: authenticator apps (RFC 6238), phones and security keys. */
export function createFactors(switches: Switches, party: RelyingParty, now: () => number) {
  const challenges = new Map<string, Challenge>();
  const texts: TextMessage[] = [];
  const isoNow = () => new Date(now()).toISOString();

  const isChallenged = (factor: Factor) => [...challenges.values()].some(({ factorId }) => factorId === factor.id);

  function isCurrentCode(secret: string, code: string): boolean {
    return [-30_000, 0, 30_000].some((skew) => totp(secret, now() + skew) === code);
  }

  const credentialsOf = (user: User) => user.factors.flatMap(({ credential }) => credential ?? []);

  function keyOptions(factor: Factor, user: User, challenge: string) {
    const publicKey = factor.isVerified
      ? requestOptions({ id: party.id, challenge }, credentialsOf(user))
      : creationOptions({ id: party.id, challenge }, user, credentialsOf(user));
    return { type: factor.isVerified ? 'request' : 'create', credential_options: { publicKey } };
  }

  /** The challenge of a factor, while it can be answered. @throws GoTrueError */
  function open(factor: Factor, challengeId: string): Challenge {
    const challenge = challenges.get(challengeId);
    if (challenge?.factorId !== factor.id) {
      throw new GoTrueError(422, 'mfa_factor_not_found', 'MFA factor with the provided challenge ID not found');
    }
    if (challenge.isSpent) {
      throw new GoTrueError(422, 'mfa_ip_address_mismatch', 'Challenge and verify IP addresses mismatch.');
    }
    if (challenge.expiresAt < now()) {
      challenges.delete(challengeId);
      const message = `MFA challenge ${challengeId} has expired, verify against another challenge or create a new challenge.`;
      throw new GoTrueError(422, 'mfa_challenge_expired', message);
    }
    return challenge;
  }

  return {
    texts,

    add(user: User, { type = 'totp', name = '', phone = '', verified = true }: NewFactor = {}): Factor {
      const factor: Factor = {
        id: randomUUID(),
        type,
        name,
        phone,
        secret: type === 'totp' ? Array.from(randomBytes(32), (byte) => alphabet[byte % 32]).join('') : '',
        createdAt: isoNow(),
        updatedAt: isoNow(),
        isVerified: verified,
        lastChallengedAt: undefined,
        credential: undefined,
      };
      user.factors.push(factor);
      return factor;
    },

    /** The requirements for adding a factor. @throws GoTrueError */
    checkRoom(user: User, name: string, isAal2: boolean): void {
      user.factors = user.factors.filter(
        (factor) => factor.isVerified || isChallenged(factor) || Date.parse(factor.createdAt) + lifetimeMs >= now(),
      );
      if (user.factors.some((factor) => factor.name === name)) {
        const message = `A factor with the friendly name "${name}" for this user already exists`;
        throw new GoTrueError(422, 'mfa_factor_name_conflict', message);
      }
      if (user.factors.length >= switches.maximumFactors) {
        const message = 'Maximum number of verified factors reached, unenroll to continue';
        throw new GoTrueError(422, 'too_many_enrolled_mfa_factors', message);
      }
      if (user.factors.some(({ isVerified }) => isVerified) && !isAal2) {
        throw new GoTrueError(403, 'insufficient_aal', 'AAL2 required to enroll a new factor');
      }
    },

    /** A challenge; a phone factor's code is sent as a text message. @throws GoTrueError */
    challenge(factor: Factor, user: User): Readonly<Record<string, unknown>> {
      const isPhone = factor.type === 'phone';
      const waitMs = Date.parse(factor.lastChallengedAt ?? '') + switches.textFrequency * 1000 - now();
      if (isPhone && waitMs >= 0) {
        const message = `For security purposes, you can only request this after ${Math.ceil(waitMs / 1000)} seconds.`;
        throw new GoTrueError(429, 'over_sms_send_rate_limit', message);
      }
      const code = isPhone ? String(randomInt(1_000_000)).padStart(6, '0') : undefined;
      if (code !== undefined) texts.push({ to: factor.phone, code });
      factor.lastChallengedAt = isoNow();
      const id = randomUUID();
      const expiresAt = now() + lifetimeMs;
      const challenge = newChallenge();
      challenges.set(id, { id, factorId: factor.id, expiresAt, code, challenge, isSpent: false });
      const options = factor.type === 'webauthn' && { webauthn: keyOptions(factor, user, challenge) };
      return { id, type: factor.type, expires_at: Math.floor(expiresAt / 1000), ...options };
    },

    /** The answer of a security key. @throws GoTrueError */
    answerKey(factor: Factor, user: User, challengeId: string, answer: Readonly<Record<string, unknown>>): void {
      const { type, credential_response: response } = answer;
      const invalid = (message: string) => new GoTrueError(400, 'validation_failed', message);
      if (type === undefined) throw invalid('WebAuthn config required');
      if (type !== 'create' && type !== 'request') throw invalid('WebAuthn type must be create or request');
      if (response === undefined) throw invalid('credential_response required');
      const { challenge } = open(factor, challengeId);
      const credential = record(response);
      if (typeof credential['id'] !== 'string') throw invalid('Invalid credential_response');
      const expected = { ...party, challenge };
      try {
        if (type === 'request') checkAssertion(credential, credentialsOf(user), expected);
        else if (!factor.isVerified) factor.credential = readRegistration(credential, expected);
      } catch {
        // GoTrue's library refuses, and GoTrue takes that for a failure of its own.
        throw new GoTrueError(500, 'unexpected_failure', 'Failed to validate WebAuthn MFA response');
      }
      challenges.delete(challengeId);
      factor.isVerified = true;
      factor.updatedAt = isoNow();
    },

    /** @throws GoTrueError */
    answer(factor: Factor, challengeId: string, code: string): void {
      const challenge = open(factor, challengeId);
      if (challenge.code === undefined ? !isCurrentCode(factor.secret, code) : challenge.code !== code) {
        const message = factor.type === 'phone' ? 'Invalid MFA Phone code entered' : 'Invalid TOTP code entered';
        throw new GoTrueError(422, 'mfa_verification_failed', message);
      }
      challenge.isSpent = true;
      factor.isVerified = true;
      factor.updatedAt = isoNow();
    },

    /** The current code of an authenticator app. */
    codeOf: ({ secret }: Pick<Factor, 'secret'>) => totp(secret, now()),
  };
}

export type Factors = ReturnType<typeof createFactors>;
