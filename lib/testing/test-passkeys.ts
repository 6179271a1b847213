import { randomBytes, randomUUID } from 'node:crypto';
import { isRecord } from '../tools/json.ts';

/** The passkeys of a test kit's people: sign-ins with one of them succeed, whatever the challenge. */
export class TestPasskeys<Person> {
  readonly #now: () => number;
  readonly #people = new Map<unknown, Person>();

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @returns the browser's answer with a new passkey */
  add(person: Person) {
    const id = randomBytes(16).toString('base64url');
    this.#people.set(id, person);
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response: {} };
  }

  personOf(credential: unknown): Person | undefined {
    return this.#people.get(isRecord(credential) ? credential['id'] : undefined);
  }

  /** Supabase's answer to a call that starts a sign-in. */
  challenge() {
    const options = {
      challenge: randomBytes(32).toString('base64url'),
      rpId: 'localhost',
      userVerification: 'preferred',
    };
    return { challenge_id: randomUUID(), options, expires_at: Math.floor(this.#now() / 1000) + 300 };
  }
}
