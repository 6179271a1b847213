import fc from 'fast-check';

/** The real clock, also where a test has fake timers. */
const now = performance.now.bind(performance);

/** How many generated inputs a property gets. */
interface Inputs {
  /** At least so many, however slow the machine is. */
  readonly least: number;
  /** Then up to ten times as many until the property has taken this long, in milliseconds. Default 500. */
  readonly budgetMs?: number;
  /** The environment variable that asks for an exact number, as the nightly command does. */
  readonly variable: string;
}

/** Checks a property with generated inputs in a limited time. Nothing is interrupted, so nothing is left behind. */
export async function checkInputs<Input>(
  property: fc.IRawProperty<Input>,
  { least, budgetMs = 500, variable }: Inputs,
): Promise<void> {
  const startedAt = now();
  const exact = Number(process.env[variable] ?? 0);
  if (exact === 0 && process.env['TEST_EFFORT'] === 'little')
    return fc.assert(property, { numRuns: Math.ceil(least / 10) });
  await fc.assert(property, { numRuns: exact > 0 ? exact : least });
  if (exact > 0) return;
  for (let part = 0; part < 90 && now() - startedAt < budgetMs; part += 1) {
    await fc.assert(property, { numRuns: Math.ceil(least / 10) });
  }
}
