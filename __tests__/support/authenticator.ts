import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

type CborValue = number | string | Buffer | ReadonlyMap<number | string, CborValue>;

/** What a software authenticator signs for. */
export interface Party {
  /** The relying party's id. */
  readonly id: string;
  /** Of the page that asks. */
  readonly origin: string;
}

/** A passkey or a security key made of software. */
export interface SoftwareCredential {
  readonly id: string;
  /** The answer that registers it, as `PublicKeyCredential.toJSON()` gives it. */
  readonly response: Readonly<Record<string, unknown>>;
  /** Its answer to a later challenge. */
  assert(given: { readonly challenge: string } & Partial<Party>): Readonly<Record<string, unknown>>;
}

/**
 * A new credential on a software authenticator.
 *
 * @param userHandle the `user.id` of the options, for a passkey
 * @see https://www.w3.org/TR/webauthn-3/#sctn-registering-a-new-credential
 */
export function createCredential({
  challenge,
  userHandle,
  ...party
}: Party & { readonly challenge: string; readonly userHandle?: string }): SoftwareCredential {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(32);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(id.length);
  const credential = Buffer.concat([Buffer.alloc(16), length, id, encode(coseKey(publicKey))]);
  const attestation = new Map<string, CborValue>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', Buffer.concat([authenticatorData(party, 0x45, 0), credential])],
  ]);
  let count = 0;
  const answer = (response: object) => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response,
  });
  return {
    id: id.toString('base64url'),
    response: answer({
      clientDataJSON: clientData('webauthn.create', challenge, party).toString('base64url'),
      attestationObject: encode(attestation).toString('base64url'),
      transports: ['usb'],
    }),
    assert({ challenge: next, ...other }) {
      const asking = { ...party, ...other };
      const data = clientData('webauthn.get', next, asking);
      const signed = authenticatorData(asking, 0x05, (count += 1));
      const signature = sign('sha256', Buffer.concat([signed, sha256(data)]), privateKey);
      return answer({
        clientDataJSON: data.toString('base64url'),
        authenticatorData: signed.toString('base64url'),
        signature: signature.toString('base64url'),
        ...(userHandle === undefined ? {} : { userHandle }),
      });
    },
  };
}

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest();

function clientData(type: string, challenge: string, { origin }: Party): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
}

/** The relying party, the flags (user present 0x01, verified 0x04, with a new credential 0x40) and the counter. */
function authenticatorData({ id }: Party, flags: number, count: number): Buffer {
  const rest = Buffer.alloc(5);
  rest.writeUInt8(flags);
  rest.writeUInt32BE(count, 1);
  return Buffer.concat([sha256(id), rest]);
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
