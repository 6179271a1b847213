/** An object of the browser's Web Authentication API in its JSON form: its byte strings are base64url. */
export type CredentialJson = Readonly<Record<string, unknown>>;

export interface PasskeyRequest {
  /** `conditional` offers passkeys where the browser fills in a field with `autocomplete="username webauthn"`. Default: a dialog. */
  readonly mediation?: 'conditional';
  /** Ends the request, as another one needs it: a browser has one at a time. */
  readonly signal?: AbortSignal;
}

/** The answer of a passkey or a security key. */
export interface CredentialFields {
  /** Of the challenge that it answers. */
  readonly challengeId: string;
  /** What `getPasskey` or `createPasskey` resolved to, or the browser's `credential.toJSON()`. */
  readonly credential: CredentialJson;
}

/** A challenge for `getPasskey` or `createPasskey`. It works once, for five minutes, and in this browser. */
export interface ChallengeBody {
  readonly challengeId: string;
  readonly options: CredentialJson;
}

/**
 * Asks the visitor for a passkey or a security key: `data.options` of the typed client in, `credential` of its next call out.
 *
 * @throws {DOMException} `NotAllowedError` where the visitor cancels or has none, and the browser's other errors
 * @see https://www.w3.org/TR/webauthn-3/#sctn-getAssertion
 */
export async function getPasskey(options: CredentialJson, request: PasskeyRequest = {}): Promise<CredentialJson> {
  return toJson(await browserCredentials().get({ ...request, publicKey: fromJson(options) }));
}

/**
 * Creates a passkey, or registers a security key.
 *
 * @throws {DOMException} `InvalidStateError` where the device has one of this account already; else as `getPasskey`
 * @see https://www.w3.org/TR/webauthn-3/#sctn-createCredential
 */
export async function createPasskey(
  options: CredentialJson,
  request: Pick<PasskeyRequest, 'signal'> = {},
): Promise<CredentialJson> {
  return toJson(await browserCredentials().create({ ...request, publicKey: fromJson(options) }));
}

type Ask = (options: object) => Promise<unknown>;

function browserCredentials(): { readonly get: Ask; readonly create: Ask } {
  // Servers have none, and no types for it.
  const { navigator } = globalThis as unknown as { navigator: { credentials: { get: Ask; create: Ask } } };
  return navigator.credentials;
}

interface Descriptor {
  readonly id: string;
}

/** The members that have bytes. Browsers have had functions for this since 2023 to 2025, and some password managers replace them. */
function fromJson(options: CredentialJson): object {
  const { challenge, user, allowCredentials, excludeCredentials } = options as {
    readonly challenge: string;
    readonly user?: Descriptor;
    readonly allowCredentials?: readonly Descriptor[];
    readonly excludeCredentials?: readonly Descriptor[];
  };
  const withBytes = (descriptor: Descriptor) => ({ ...descriptor, id: toBytes(descriptor.id) });
  return {
    ...options,
    challenge: toBytes(challenge),
    ...(user && { user: withBytes(user) }),
    allowCredentials: allowCredentials?.map(withBytes) ?? [],
    excludeCredentials: excludeCredentials?.map(withBytes) ?? [],
  };
}

const byteMembers = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'];

function toJson(credential: unknown): CredentialJson {
  const given = credential as {
    readonly id: string;
    readonly type: string;
    readonly authenticatorAttachment?: string | null;
    readonly response: Readonly<Record<string, unknown>> & { getTransports?(): readonly string[] };
    getClientExtensionResults(): object;
  };
  const { id, type, authenticatorAttachment, response } = given;
  const bytes = byteMembers
    .filter((name) => response[name] instanceof ArrayBuffer)
    .map((name) => [name, toText(response[name] as ArrayBuffer)]);
  return {
    id,
    rawId: id,
    type,
    authenticatorAttachment: authenticatorAttachment ?? undefined,
    clientExtensionResults: given.getClientExtensionResults(),
    response: { ...Object.fromEntries(bytes), transports: response.getTransports?.() },
  };
}

function toBytes(text: string): Uint8Array {
  const characters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(characters, (character) => character.charCodeAt(0));
}

function toText(bytes: ArrayBuffer): string {
  const characters = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(characters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
