import { randomUUID } from 'node:crypto';
import { GoTrueError } from './errors.ts';
import type { Switches, User } from './types.ts';
import { checkAssertion, creationOptions, newChallenge, readRegistration, record, requestOptions } from './webauthn.ts';
import type { RelyingParty, StoredCredential } from './webauthn.ts';

/** A passkey of a user. */
export interface Passkey extends StoredCredential {
  readonly passkeyId: string;
  name: string;
  readonly createdAt: string;
  lastUsedAt: string | undefined;
}

interface Challenge {
  /** `undefined` for a sign-in, which has no user yet. */
  readonly userId: string | undefined;
  readonly challenge: string;
  readonly expiresAt: number;
}

const lifetimeMs = 300_000;

/** Passkeys, and the challenges that ask for them. */
export function createPasskeys(switches: Switches, party: RelyingParty, now: () => number) {
  const challenges = new Map<string, Challenge>();
  const byUser = new Map<string, Passkey[]>();
  const isoNow = () => new Date(now()).toISOString();
  const of = (userId: string): Passkey[] => byUser.get(userId) ?? [];

  function issue(userId: string | undefined) {
    const id = randomUUID();
    const challenge = newChallenge();
    const expiresAt = now() + lifetimeMs;
    challenges.set(id, { userId, challenge, expiresAt });
    return { id, challenge, expires_at: Math.floor(expiresAt / 1000) };
  }

  /** Each challenge is answered once, wrongly or not. */
  function consume(id: unknown, userId: string | undefined): Challenge {
    if (typeof id !== 'string' || id === '') refuse('validation_failed', 'challenge_id is required');
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id)) {
      refuse('validation_failed', 'challenge_id must be a valid UUID');
    }
    const challenge = challenges.get(id);
    if (challenge === undefined || challenge.userId !== userId) {
      return refuse('webauthn_challenge_not_found', 'Challenge not found or already used');
    }
    challenges.delete(id);
    if (challenge.expiresAt < now()) refuse('webauthn_challenge_expired', 'Challenge has expired');
    return challenge;
  }

  return {
    party,
    of,

    /** `POST /passkeys/authentication/options`. */
    startSignIn() {
      const { id, challenge, expires_at } = issue(undefined);
      const options = { ...requestOptions({ id: party.id, challenge }), userVerification: 'preferred' };
      return { challenge_id: id, options, expires_at };
    },

    /** @returns the id of the user whose passkey answered @throws GoTrueError */
    signIn(challengeId: unknown, credential: Readonly<Record<string, unknown>>): string {
      const { challenge } = consume(challengeId, undefined);
      return verified(credential, () => {
        const { userHandle } = record(credential['response']);
        const userId = Buffer.from(String(userHandle), 'base64url').toString();
        const used = checkAssertion(credential, of(userId), { ...party, challenge });
        const passkey = of(userId).find(({ id }) => id === used.id);
        if (passkey) passkey.lastUsedAt = isoNow();
        return userId;
      });
    },

    /** `POST /passkeys/registration/options`. @throws GoTrueError */
    startAdding(user: User) {
      checkRoom(user);
      const { id, challenge, expires_at } = issue(user.id);
      const options = {
        ...creationOptions({ id: party.id, challenge }, user, of(user.id)),
        authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
        attestation: 'none',
      };
      return { challenge_id: id, options, expires_at };
    },

    /** @throws GoTrueError */
    add(user: User, challengeId: unknown, credential: Readonly<Record<string, unknown>>): Passkey {
      const { challenge } = consume(challengeId, user.id);
      const stored = verified(credential, () => readRegistration(credential, { ...party, challenge }));
      checkRoom(user);
      if ([...byUser.values()].flat().some(({ id }) => id === stored.id)) {
        throw new GoTrueError(422, 'webauthn_credential_exists', 'This credential is already registered');
      }
      const passkey = {
        ...stored,
        passkeyId: randomUUID(),
        name: 'Passkey',
        createdAt: isoNow(),
        lastUsedAt: undefined,
      };
      byUser.set(user.id, [...of(user.id), passkey]);
      return passkey;
    },

    /** As if all challenges had been answered. */
    forgetChallenges(): void {
      challenges.clear();
    },

    remove(user: User, passkeyId: string): void {
      byUser.set(
        user.id,
        of(user.id).filter((passkey) => passkey.passkeyId !== passkeyId),
      );
    },
  };

  function checkRoom(user: User): void {
    if (of(user.id).length < switches.maximumPasskeys) return;
    throw new GoTrueError(422, 'too_many_passkeys', 'Maximum number of passkeys reached');
  }
}

function verified<Result>(credential: Readonly<Record<string, unknown>>, check: () => Result): Result {
  if (typeof credential['id'] !== 'string') refuse('webauthn_verification_failed', 'Invalid credential response');
  try {
    return check();
  } catch {
    return refuse('webauthn_verification_failed', 'Credential verification failed');
  }
}

function refuse(code: string, message: string): never {
  throw new GoTrueError(400, code, message);
}

export type Passkeys = ReturnType<typeof createPasskeys>;
