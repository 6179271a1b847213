import { randomUUID } from 'node:crypto';
import { noSession, refusal } from '../../testing/in-memory-supabase.ts';
import type { InMemorySupabase, Started } from '../../testing/in-memory-supabase.ts';

export interface FactorsTestKit {
  /** The code that the second factor accepts; any other is wrong. */
  readonly code: string;
}

const code = '123456';

/** Of the authenticator app that the kit's users have. */
const factorId = '00000000-0000-4000-8000-000000000000';

export function createFactorsKit(supabase: InMemorySupabase): FactorsTestKit {
  async function verify(started: Started | undefined, given: unknown): Promise<Response> {
    if (started === undefined) return noSession();
    if (given !== code) return refusal(422, 'mfa_verification_failed', 'Invalid TOTP code entered');
    return Response.json(await supabase.issue({ ...started, session: { ...started.session, aal: 'aal2' } }));
  }

  supabase.add({
    userMembers({ aal, pending }) {
      const factor = { id: factorId, factor_type: 'totp', status: 'verified', friendly_name: 'app' };
      return aal === 'aal2' || pending === 'factor' ? { factors: [factor] } : {};
    },
    answer({ call, body, started }) {
      if (call === `POST factors/${factorId}/challenge`)
        return Response.json({ id: randomUUID(), type: 'totp', expires_at: supabase.challengeEnd() });
      return call === `POST factors/${factorId}/verify` ? verify(started, body['code']) : undefined;
    },
  });
  return { code };
}
