/** Whether a parsed value is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** JSON in base64url, as a JWT holds it (RFC 7515 §3); `undefined` for what is none. */
export function parseEncodedJson(encoded: string): unknown {
  try {
    return JSON.parse(utf8.decode(Buffer.from(encoded, 'base64url')));
  } catch {
    return undefined;
  }
}

/** `undefined` for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Without the members that are `undefined`, as an optional member is absent. */
export function defined<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as ReturnType<typeof defined<Members>>;
}

/** Freezes plain data to its leaves; what is frozen already is taken for frozen throughout. */
export function deepFreeze(value: object): void {
  if (Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) {
    const inner: unknown = member;
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
}

/**
 * A response's body as text, read only so far: a body may be endless, or small and compressed from gigabytes.
 *
 * @throws {Error} when it is longer; the rest is not read
 */
export async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const body: AsyncIterable<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`The answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** For a provider's answers: the largest session has some kilobytes. */
export const maxAnswerBytes = 1024 * 1024;
