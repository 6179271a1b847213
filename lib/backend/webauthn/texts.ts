export const webauthnTexts = {
  /** For browsers without scripts, and those that know no passkeys. */
  passkeyUnavailable:
    'This browser can’t use passkeys or security keys here. Turn on JavaScript if it is off, or use another browser.',
  passkeyCanceled: 'That wasn’t completed. Try again, or choose another way.',
  passkeyFailed: 'Your browser couldn’t do that here. Try again, or choose another way.',
  passkeyKnown: 'This device is set up for your account already.',
  passkeyRefused: 'That didn’t work. Try again, or choose another way.',
} satisfies Record<string, string>;
