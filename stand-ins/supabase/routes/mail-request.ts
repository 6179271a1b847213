import { setTimeout } from 'node:timers/promises';
import { readChallenge } from '../flows.ts';
import type { PkceChallenge } from '../flows.ts';
import { textField } from '../http.ts';
import type { StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';
import { allowedRedirect } from '../redirects.ts';

/** The PKCE challenge of a call that sends an email. @throws GoTrueError for an incomplete challenge. */
export function readChallengeOf({ body }: StandInRequest): PkceChallenge | undefined {
  return readChallenge(textField(body, 'code_challenge'), textField(body, 'code_challenge_method'));
}

export function redirectOf({ siteUrl, redirectAllowList }: Project, { url }: StandInRequest): string {
  return allowedRedirect(url.searchParams.get('redirect_to') ?? '', siteUrl, redirectAllowList);
}

/** Waits for the delay that a test configured for this address. */
export async function takeTime({ switches }: Project, email: string): Promise<void> {
  const extraMs = switches.extraMs(email);
  if (extraMs > 0) await setTimeout(extraMs);
}
