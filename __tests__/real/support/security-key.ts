import { createCredential } from '../../support/authenticator.ts';
import type { Project } from './project.ts';

/** What a process of its own needs for security keys: the relying party is a name, the keys never leave this process. */
export const webAuthnSettings = {
  GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED: 'true',
  GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED: 'true',
  GOTRUE_WEBAUTHN_RP_ID: 'localhost',
  GOTRUE_WEBAUTHN_RP_DISPLAY_NAME: 'Application',
  GOTRUE_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
} as const;

/** What these settings let a software authenticator sign for. */
export const party = {
  id: webAuthnSettings.GOTRUE_WEBAUTHN_RP_ID,
  origin: webAuthnSettings.GOTRUE_WEBAUTHN_RP_ORIGINS,
} as const;

export interface SecurityKey {
  readonly factorId: string;
  /** The tokens after the key was used last (`aal2`). */
  readonly session: { readonly access_token: string; readonly refresh_token: string };
}

/**
 * Registers a security key made of software as a second factor of the session that an access token belongs to.
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-registering-a-new-credential
 */
export async function addSecurityKey(project: Project, token: string, name = 'Blue key'): Promise<SecurityKey> {
  const ask = async (path: string, body: object): Promise<any> => {
    const answer = await project.ask(path, 'POST', body, token);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const { id: factorId } = await ask('/factors', { factor_type: 'webauthn', friendly_name: name });
  const challenge = await ask(`/factors/${factorId}/challenge`, {});
  const { publicKey } = challenge.webauthn.credential_options;
  const session = await ask(`/factors/${factorId}/verify`, {
    challenge_id: challenge.id,
    webauthn: {
      type: 'create',
      credential_response: createCredential({ ...party, challenge: publicKey.challenge }).response,
    },
  });
  return { factorId, session };
}
