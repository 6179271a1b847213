/** Resolves once the condition holds; for events in this process that have no promise. */
export async function until(condition: () => boolean, limitMs = 4_000): Promise<void> {
  const endsAt = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > endsAt) throw new Error(`It did not happen within ${limitMs} ms: ${String(condition)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
