type Method = (this: string, ...args: never[]) => unknown;
type Cost = (text: string, result: unknown, args: readonly unknown[]) => number;

const whole: Cost = (text) => text.length;
const one: Cost = () => 1;
const resultOnly: Cost = (_, result) => String(result).length;
const argumentOnly: Cost = (_, __, [search]) => String(search).length;

/** How many characters a method reads or copies at most. */
const costs: Readonly<Record<string, Cost>> = {
  at: one,
  charAt: one,
  charCodeAt: one,
  codePointAt: one,
  endsWith: argumentOnly,
  includes: whole,
  indexOf: (text, result, [, from = 0]) => (result === -1 ? text.length : Number(result) + 1) - Number(from),
  slice: resultOnly,
  split: whole,
  startsWith: argumentOnly,
  substring: resultOnly,
  trim: whole,
};

/**
 * The number of characters that string methods read or copy while `work` runs: a measure of effort that does not depend
 * on the machine. Methods without a known cost, and regular expressions, throw. Reads by index (`text[i]`) are not seen.
 */
export function charactersRead(work: () => void): number {
  let characters = 0;
  const restore: (() => void)[] = [];
  const replace = (prototype: object, name: string, cost: Cost | undefined): void => {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
    const original = descriptor?.value as Method | undefined;
    if (descriptor === undefined || typeof original !== 'function') return;
    const counted: Method = function (...args) {
      if (cost === undefined) throw new Error(`The cost of ${name} is not known.`);
      const result = original.apply(this, args);
      characters += cost(this, result, args);
      return result;
    };
    Object.defineProperty(prototype, name, { ...descriptor, value: counted });
    restore.push(() => Object.defineProperty(prototype, name, descriptor));
  };
  const ignored = ['constructor', 'toString', 'valueOf'];
  for (const name of Object.getOwnPropertyNames(String.prototype))
    if (!ignored.includes(name)) replace(String.prototype, name, costs[name]);
  for (const name of ['exec', 'test']) replace(RegExp.prototype, name, undefined);
  try {
    work();
  } finally {
    for (const undo of restore) undo();
  }
  return characters;
}
