import { createHash, randomUUID } from 'node:crypto';
import { GoTrueError } from './errors.ts';

const lifetimeMs = 300_000;

export interface PkceChallenge {
  readonly challenge: string;
  readonly method: string;
}

interface Flow extends PkceChallenge {
  readonly createdAt: number;
  readonly method: string;
  readonly signInMethod: string;
  readonly userId: string;
}

/** GoTrue's flow states: an authorization code that waits for its verifier (RFC 7636). */
export function createFlows(now: () => number) {
  const flows = new Map<string, Flow>();
  return {
    /** `startedAt`: the five minutes count from the start of the flow, not from the code, as in GoTrue. */
    issueCode(pkce: PkceChallenge, userId: string, startedAt: number, signInMethod: string): string {
      const code = randomUUID();
      flows.set(code, { ...pkce, userId, createdAt: startedAt, signInMethod });
      return code;
    },

    /** @throws GoTrueError */
    exchange(code: string, verifier: string): { userId: string; signInMethod: string } {
      if (code === '' || verifier === '') {
        const message = 'invalid request: both auth code and code verifier should be non-empty';
        throw new GoTrueError(400, 'validation_failed', message);
      }
      const flow = flows.get(code);
      if (!flow) throw new GoTrueError(404, 'flow_state_not_found', 'invalid flow state, no valid flow state found');
      if (now() - flow.createdAt > lifetimeMs) {
        throw new GoTrueError(422, 'flow_state_expired', 'invalid flow state, flow state has expired');
      }
      // A wrong verifier does not spend the code: the right one may follow.
      if (answerTo(flow.method, verifier) !== flow.challenge) {
        throw new GoTrueError(400, 'bad_code_verifier', 'code challenge does not match previously saved code verifier');
      }
      flows.delete(code);
      return flow;
    },
  };
}

export type Flows = ReturnType<typeof createFlows>;

/** @throws GoTrueError for an incomplete challenge; `undefined` where the client did not ask for PKCE. */
export function readChallenge(challenge: string, method: string): PkceChallenge | undefined {
  if (challenge === '' && method === '') return undefined;
  if (challenge === '' || method === '') {
    const message = 'PKCE flow requires code_challenge_method and code_challenge';
    throw new GoTrueError(400, 'validation_failed', message);
  }
  if (!/^[\w.~-]{43,128}$/.test(challenge) || !/^(s256|plain)$/i.test(method)) {
    throw new GoTrueError(400, 'validation_failed', 'code challenge has to be between 43 and 128 characters');
  }
  return { challenge, method: method.toLowerCase() };
}

function answerTo(method: string, verifier: string): string {
  return method === 'plain' ? verifier : createHash('sha256').update(verifier).digest('base64url');
}
