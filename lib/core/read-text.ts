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
