import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import type { JsonWebKey } from 'node:crypto';

/** Who asks: the name that credentials belong to, and the pages that may use them. */
export interface RelyingParty {
  readonly id: string;
  readonly origins: readonly string[];
}

/** A public key of a passkey or a security key. */
export interface StoredCredential {
  /** base64url. */
  readonly id: string;
  readonly publicKey: JsonWebKey;
}

/** A challenge that waits for its answer. */
export interface Expected extends RelyingParty {
  /** base64url. */
  readonly challenge: string;
}

type Json = Readonly<Record<string, unknown>>;

export const newChallenge = (): string => randomBytes(32).toString('base64url');

/** Milliseconds, in the form of the options that GoTrue's library writes. */
const timeout = 300_000;
const descriptor = ({ id }: Pick<StoredCredential, 'id'>) => ({ type: 'public-key', id });

/** `PublicKeyCredentialCreationOptionsJSON`. */
export function creationOptions(
  { id, challenge }: Pick<Expected, 'id' | 'challenge'>,
  user: { readonly id: string; readonly email: string },
  existing: readonly StoredCredential[],
): Json {
  return {
    rp: { name: 'Local project', id },
    user: { name: user.email, displayName: user.email, id: Buffer.from(user.id).toString('base64url') },
    challenge,
    pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
    timeout,
    ...(existing.length > 0 ? { excludeCredentials: existing.map(descriptor) } : {}),
  };
}

/** `PublicKeyCredentialRequestOptionsJSON`. */
export function requestOptions(
  { id, challenge }: Pick<Expected, 'id' | 'challenge'>,
  allowed: readonly StoredCredential[] = [],
): Json {
  return {
    challenge,
    timeout,
    rpId: id,
    ...(allowed.length > 0 ? { allowCredentials: allowed.map(descriptor) } : {}),
  };
}

/**
 * The credential that a browser has created (Web Authentication §7.1).
 *
 * @throws {Error} where it is not the answer to this challenge
 */
export function readRegistration(answer: Json, expected: Expected): StoredCredential {
  const response = record(answer['response']);
  checkClientData(response, 'webauthn.create', expected);
  const attestation = decode(bytes(response['attestationObject']));
  const data: unknown = attestation instanceof Map ? attestation.get('authData') : undefined;
  if (!Buffer.isBuffer(data)) throw new Error('no authenticator data');
  checkAuthenticatorData(data, expected);
  if ((data.readUInt8(32) & 0x40) === 0) throw new Error('no credential');
  const length = data.readUInt16BE(53);
  const key = decode(data.subarray(55 + length));
  return { id: data.subarray(55, 55 + length).toString('base64url'), publicKey: readKey(key) };
}

/**
 * Checks that one of these credentials signed the challenge (Web Authentication §7.2).
 *
 * @throws {Error} where none has
 */
export function checkAssertion(
  answer: Json,
  credentials: readonly StoredCredential[],
  expected: Expected,
): StoredCredential {
  const response = record(answer['response']);
  const credential = credentials.find(({ id }) => id === answer['id']);
  if (credential === undefined) throw new Error('an unknown credential');
  const clientData = checkClientData(response, 'webauthn.get', expected);
  const data = bytes(response['authenticatorData']);
  checkAuthenticatorData(data, expected);
  const signed = Buffer.concat([data, sha256(clientData)]);
  const key = createPublicKey({ key: credential.publicKey, format: 'jwk' });
  if (!verify('sha256', signed, key, bytes(response['signature']))) throw new Error('a wrong signature');
  return credential;
}

function checkClientData(response: Json, type: string, { challenge, origins }: Expected): Buffer {
  const text = bytes(response['clientDataJSON']);
  const data = record(JSON.parse(text.toString('utf8')));
  const isAnswer = data['type'] === type && data['challenge'] === challenge;
  if (!isAnswer || !origins.includes(String(data['origin']))) throw new Error('an answer to something else');
  return text;
}

/** The relying party, and that a person was there. */
function checkAuthenticatorData(data: Buffer, { id }: Expected): void {
  if (!data.subarray(0, 32).equals(sha256(id))) throw new Error('another relying party');
  if ((data.readUInt8(32) & 0x01) === 0) throw new Error('no person was there');
}

/** ES256 on P-256 (RFC 9053); the options ask for no other. */
function readKey(key: unknown): JsonWebKey {
  if (!(key instanceof Map) || key.get(3) !== -7) throw new Error('not an ES256 key');
  const part = (label: number): string => {
    const value: unknown = key.get(label);
    if (!Buffer.isBuffer(value)) throw new Error('not a key');
    return value.toString('base64url');
  };
  return { kty: 'EC', crv: 'P-256', x: part(-2), y: part(-3) };
}

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest();

function bytes(value: unknown): Buffer {
  if (typeof value !== 'string') throw new Error('no bytes');
  return Buffer.from(value, 'base64url');
}

/** An empty one for anything that is none. */
export function record(value: unknown): Json {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** As much of CBOR (RFC 8949) as attestations use: numbers, bytes, texts, lists and maps. What follows the first value is left. */
function decode(input: Buffer): unknown {
  let at = 0;
  const readLength = (info: number): number => {
    if (info < 24) return info;
    const size = 2 ** (info - 24);
    if (size > 4) throw new Error('too long');
    at += size;
    return input.readUIntBE(at - size, size);
  };
  const take = (length: number): Buffer => {
    at += length;
    if (at > input.length) throw new Error('too short');
    return input.subarray(at - length, at);
  };
  const read = (): unknown => {
    const head = take(1).readUInt8(0);
    const length = readLength(head & 0x1f);
    switch (head >> 5) {
      case 0:
        return length;
      case 1:
        return -1 - length;
      case 2:
        return take(length);
      case 3:
        return take(length).toString('utf8');
      case 4:
        return Array.from({ length: Math.min(length, input.length) }, read);
      case 5:
        return new Map(Array.from({ length: Math.min(length, input.length) }, () => [read(), read()] as const));
      default:
        throw new Error('another type');
    }
  };
  return read();
}
