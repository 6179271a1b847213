import { setTimeout } from 'node:timers/promises';
import { readChallenge } from '../flows.ts';
import type { PkceChallenge } from '../flows.ts';
import { textField } from '../http.ts';
import type { StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';

/** The PKCE challenge of a call that sends an email. @throws GoTrueError for an incomplete challenge. */
export function readChallengeOf({ body }: StandInRequest): PkceChallenge | undefined {
  return readChallenge(textField(body, 'code_challenge'), textField(body, 'code_challenge_method'));
}

export function redirectOf({ redirectTo }: Project, { url }: StandInRequest): string {
  return redirectTo(url.searchParams.get('redirect_to') ?? '');
}

/** Waits for the delay that a test configured for this address. */
export async function takeTime({ switches }: Project, email: string): Promise<void> {
  const extraMs = switches.extraMs(email);
  if (extraMs > 0) await setTimeout(extraMs);
}
