import { GoTrueError } from '../errors.ts';
import { recordField } from '../http.ts';
import type { Switches } from '../types.ts';

/** Applies to sign-up, resend and password sign-in, never to refresh or PKCE. @throws GoTrueError */
export function checkCaptcha({ captchaToken }: Switches, body: Readonly<Record<string, unknown>>): void {
  if (captchaToken === undefined) return;
  const answer = recordField(body, 'gotrue_meta_security')['captcha_token'];
  if (answer === captchaToken) return;
  const reason = answer === undefined ? 'no captcha_token found in request' : 'invalid-input-response';
  throw new GoTrueError(400, 'captcha_failed', `captcha protection: request disallowed (${reason})`);
}
