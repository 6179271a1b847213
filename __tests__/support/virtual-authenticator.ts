import type { CDPSession, Page } from 'playwright-core';

export interface VirtualAuthenticatorOptions {
  /** Whether its user touches it when it is asked. Default true. */
  readonly isTouched?: boolean;
  /** `internal` is the device itself. */
  readonly transport?: 'internal' | 'usb';
}

/**
 * A virtual authenticator of Chromium. It answers an autofill at once.
 *
 * @returns its id
 * @see https://chromedevtools.github.io/devtools-protocol/tot/WebAuthn/
 */
export async function addVirtualAuthenticator(
  cdp: CDPSession,
  { isTouched = true, transport = 'internal' }: VirtualAuthenticatorOptions = {},
): Promise<string> {
  await cdp.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: isTouched,
    },
  });
  return authenticatorId;
}

/** For a test that presses the button: the authenticator would answer before. */
export const switchAutofillOff = (page: Page): Promise<void> =>
  page
    .addInitScript('PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false)')
    .then(() => undefined);
