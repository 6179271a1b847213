import { json } from 'node:stream/consumers';
import { sendJson } from '../../support/hosts.ts';
import { serve } from '../../support/servers.ts';

/** What GoTrue asks a project's hook about a password or a second factor that it has just judged. */
interface Attempt {
  readonly user_id: string;
  readonly valid: boolean;
}

/**
 * A project's hook for passwords or second factors. It accepts right ones, and answers wrong ones with `refusal`.
 *
 * @see https://supabase.com/docs/guides/auth/auth-hooks/mfa-verification-hook
 * @see https://supabase.com/docs/guides/auth/auth-hooks/password-verification-hook
 */
export async function startAttemptHook(port: number) {
  const wrong: string[] = [];
  const hook = { refusal: {} as object };
  const server = await serve((req, res) => {
    json(req).then(
      (asked) => {
        const { user_id: userId, valid } = asked as Attempt;
        if (!valid) wrong.push(userId);
        sendJson(res, valid ? { decision: 'continue' } : hook.refusal);
      },
      () => res.destroy(),
    );
  }, port);
  return {
    hook,
    /** How many wrong ones of a user GoTrue has judged. */
    judged: (userId: string): number => wrong.filter((id) => id === userId).length,
    close: () => server.close(),
  };
}
