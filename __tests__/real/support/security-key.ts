import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Project } from './project.ts';

/** What a process of its own needs for security keys: the relying party is a name, the keys never leave this process. */
export const webAuthnSettings = {
  GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED: 'true',
  GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED: 'true',
  GOTRUE_WEBAUTHN_RP_ID: 'localhost',
  GOTRUE_WEBAUTHN_RP_DISPLAY_NAME: 'Application',
  GOTRUE_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
} as const;

export interface SecurityKey {
  readonly factorId: string;
  /** The tokens after the key was used last (`aal2`). */
  readonly session: { readonly access_token: string; readonly refresh_token: string };
}

type CborValue = number | string | Buffer | ReadonlyMap<number | string, CborValue>;

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
    webauthn: { type: 'create', credential_response: createCredential(publicKey.challenge).response },
  });
  return { factorId, session };
}

/** A new credential, and its answers as `PublicKeyCredential.toJSON()` gives them. */
export function createCredential(challenge: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(32);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(id.length);
  const credential = Buffer.concat([Buffer.alloc(16), length, id, encode(coseKey(publicKey))]);
  const attestation = new Map<string, CborValue>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', Buffer.concat([authenticatorData(0x45, 0), credential])],
  ]);
  const answer = (response: object): object => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response,
  });
  return {
    response: answer({
      clientDataJSON: clientData('webauthn.create', challenge).toString('base64url'),
      attestationObject: encode(attestation).toString('base64url'),
      transports: ['usb'],
    }),
    assert(next: string): object {
      const data = clientData('webauthn.get', next);
      const signed = authenticatorData(0x05, 1);
      const signature = sign('sha256', Buffer.concat([signed, sha256(data)]), privateKey);
      return answer({
        clientDataJSON: data.toString('base64url'),
        authenticatorData: signed.toString('base64url'),
        signature: signature.toString('base64url'),
      });
    },
  };
}

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest();

function clientData(type: string, challenge: string): Buffer {
  const origin = webAuthnSettings.GOTRUE_WEBAUTHN_RP_ORIGINS;
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

/** The relying party, the flags (user present 0x01, verified 0x04, with a new credential 0x40) and the counter. */
function authenticatorData(flags: number, count: number): Buffer {
  const rest = Buffer.alloc(5);
  rest.writeUInt8(flags);
  rest.writeUInt32BE(count, 1);
  return Buffer.concat([sha256(webAuthnSettings.GOTRUE_WEBAUTHN_RP_ID), rest]);
}

/** ES256 on P-256 (RFC 9053). */
function coseKey(key: KeyObject): ReadonlyMap<number, CborValue> {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return new Map<number, CborValue>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Buffer.from(x, 'base64url')],
    [-3, Buffer.from(y, 'base64url')],
  ]);
}

/** As much of CBOR (RFC 8949) as a registration needs: numbers, bytes, texts and maps of less than 65,536. */
function encode(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  const pairs = [...value].flatMap(([name, each]) => [encode(name), encode(each)]);
  return Buffer.concat([head(5, value.size), ...pairs]);
}

function head(kind: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(kind << 5) | length]);
  if (length < 256) return Buffer.from([(kind << 5) | 24, length]);
  return Buffer.from([(kind << 5) | 25, length >> 8, length & 255]);
}
