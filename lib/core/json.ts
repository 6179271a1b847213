/** Whether a parsed value is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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
