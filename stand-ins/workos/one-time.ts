import { newSecret } from './ids.ts';

/** Single-use values: authorization codes and pending authentication tokens. */
export interface OneTimeStore<Value> {
  issue(value: Value): string;
  peek(key: string): Value | undefined;
  take(key: string): Value | undefined;
}

/** WorkOS' codes are valid for 10 minutes. */
const ttlMs = 10 * 60_000;

export function createOneTimeStore<Value>(now: () => number): OneTimeStore<Value> {
  const entries = new Map<string, { readonly value: Value; readonly expiresAtMs: number }>();

  const peek = (key: string) => {
    const entry = entries.get(key);
    return entry && entry.expiresAtMs > now() ? entry.value : undefined;
  };
  return {
    issue(value) {
      for (const [key, { expiresAtMs }] of entries) if (expiresAtMs <= now()) entries.delete(key);
      const key = newSecret();
      entries.set(key, { value, expiresAtMs: now() + ttlMs });
      return key;
    },
    peek,
    take(key) {
      const value = peek(key);
      entries.delete(key);
      return value;
    },
  };
}
