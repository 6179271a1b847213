import { createCredential } from './authenticator.ts';
import type { SoftwareCredential } from './authenticator.ts';
import { startBackendApp } from './backend-app.ts';
import type { BackendApp, BackendAppSetup } from './backend-app.ts';
import type { Answer, Visitor } from './visitor.ts';

/** The relying party of the stand-in, and the page that software authenticators sign for. */
export const party = { id: 'localhost', origin: 'http://localhost:3000' } as const;

/** An application whose accounts may have passkeys and security keys. */
export function startPasskeyApp({ options, standIn, ...setup }: BackendAppSetup = {}): Promise<BackendApp> {
  return startBackendApp({
    ...setup,
    options: { signInMethods: ['password', 'passkey'], ...options },
    standIn: {
      passkeys: true,
      keyFactors: true,
      relyingParty: { id: party.id, origins: [party.origin] },
      ...standIn,
    },
  });
}

/** Adds a passkey to the account of a visitor who has signed in just now. */
export async function addPasskey(visitor: Visitor): Promise<SoftwareCredential> {
  const { status, json, text } = await visitor.postJson('/auth/passkeys', {});
  if (status !== 200) throw new Error(`no challenge: ${status} ${text}`);
  const { challenge, user } = json.options;
  const credential = createCredential({ ...party, challenge, userHandle: user.id });
  const added = await visitor.postJson('/auth/passkeys', {
    challengeId: json.challengeId,
    credential: credential.response,
  });
  if (added.status !== 200) throw new Error(`not added: ${added.status} ${added.text}`);
  return credential;
}

/** Asks for a challenge, and answers it. */
export async function signInWith(
  visitor: Visitor,
  credential: SoftwareCredential,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  const { json } = await visitor.postJson('/auth/passkey', {});
  const { challenge } = json.options;
  const answer = { challengeId: json.challengeId, credential: credential.assert({ challenge }) };
  return visitor.postJson('/auth/passkey', { ...answer, ...fields });
}

/** A page without the only script of ours, whose URL ends with its hash. */
export function withoutOwnScript(page: string): string {
  return page.replace(/\n<script src="[^"<>]*\/auth\/pages\.js\?v=[\w-]{16}" defer><\/script>/, '');
}
