/** Whether a parsed value is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** JSON in base64url, as in a JWT (RFC 7515 §3); `undefined` where it is invalid. */
export function parseEncodedJson(encoded: string): unknown {
  try {
    return JSON.parse(utf8.decode(Buffer.from(encoded, 'base64url')));
  } catch {
    return undefined;
  }
}

/** `undefined` where it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How many levels of objects and lists are read, at most: to write more of them as JSON again may exhaust the stack. */
const maxLevels = 32;

/** Whether a parsed value has more levels than any message has that is read here. */
export function isTooDeep(value: unknown, levels = maxLevels): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}

/** Removes the members that are `undefined`. */
export function defined<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as ReturnType<typeof defined<Members>>;
}

/** Freezes plain data deeply; a frozen object is assumed to be frozen deeply. */
export function deepFreeze(value: object): void {
  if (Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) {
    const inner: unknown = member;
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
}

/**
 * A response's body as text, up to a limit: a body may be endless, or small and compressed from gigabytes.
 *
 * @throws {Error} when it is longer; the rest is not read
 */
export async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const body: AsyncIterable<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new AnswerTooLarge(`The answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** For responses of a provider: the largest session has a few kilobytes. */
export const maxAnswerBytes = 1024 * 1024;

export class AnswerTooLarge extends Error {}
