import { randomBytes, randomUUID } from 'node:crypto';
import { refusal } from '../../testing/in-memory-supabase.ts';
import type { InMemorySupabase } from '../../testing/in-memory-supabase.ts';
import type { BackendTestSession } from '../../testing/backend-users.ts';
import { isRecord } from '../../tools/json.ts';

export interface PasskeysTestKit {
  /** A passkey of this person: `credential` for `POST /auth/passkey`, whatever the challenge. Any other is refused. */
  passkey(session?: Omit<BackendTestSession, 'expired' | 'aal'>): Readonly<Record<string, unknown>>;
}

/** Sign-ins with a passkey that the kit gave out succeed, whatever the challenge. */
export function createPasskeysKit(supabase: InMemorySupabase): PasskeysTestKit {
  const people = new Map<unknown, BackendTestSession>();

  function challenge(): Response {
    const options = {
      challenge: randomBytes(32).toString('base64url'),
      rpId: 'localhost',
      userVerification: 'preferred',
    };
    return Response.json({ challenge_id: randomUUID(), options, expires_at: supabase.challengeEnd() });
  }

  async function verify(credential: unknown): Promise<Response> {
    const session = people.get(isRecord(credential) ? credential['id'] : undefined);
    if (session === undefined) return refusal(400, 'webauthn_verification_failed', 'Credential verification failed');
    return Response.json(await supabase.issue({ id: session.sessionId ?? randomUUID(), session, method: 'passkey' }));
  }

  supabase.add({
    answer({ call, body }) {
      if (call === 'POST passkeys/authentication/options') return challenge();
      return call === 'POST passkeys/authentication/verify' ? verify(body['credential']) : undefined;
    },
  });
  return {
    passkey(session = {}) {
      const id = randomBytes(16).toString('base64url');
      people.set(id, session);
      return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response: {} };
    },
  };
}
