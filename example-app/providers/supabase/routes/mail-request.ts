import { setTimeout } from 'node:timers/promises';
import { readChallenge } from '../flows.ts';
import type { PkceChallenge } from '../flows.ts';
import { textField } from '../http.ts';
import type { StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';
import { allowedRedirect } from '../redirects.ts';

/** What every call that sends a mail carries. @throws GoTrueError for half a challenge. */
export function readChallengeOf({ body }: StandInRequest): PkceChallenge | undefined {
  return readChallenge(textField(body, 'code_challenge'), textField(body, 'code_challenge_method'));
}

export function redirectOf({ siteUrl, redirectAllowList }: Project, { url }: StandInRequest): string {
  return allowedRedirect(url.searchParams.get('redirect_to') ?? '', siteUrl, redirectAllowList);
}

/** The milliseconds that a test gave this address. */
export async function takeTime({ switches }: Project, email: string): Promise<void> {
  const extraMs = switches.extraMs(email);
  if (extraMs > 0) await setTimeout(extraMs);
}
