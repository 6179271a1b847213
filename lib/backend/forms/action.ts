import type { Fields } from '../../http/body.ts';

type Meaning = (fields: Fields) => boolean;

/**
 * What a POST asks for, where its path takes several things: the first of these whose fields it has. A route reads it once, and switches.
 *
 * @param meanings in the order in which they count
 * @param other without any of them
 */
export function readAction<Action extends string, Other extends string>(
  fields: Fields,
  meanings: Readonly<Record<Action, Meaning>>,
  other: Other,
): Action | Other {
  const found = (Object.entries(meanings) as [Action, Meaning][]).find(([, isMeant]) => isMeant(fields));
  return found === undefined ? other : found[0];
}

/** Whether a POST has a field, also an empty one. */
export const has =
  (name: string): Meaning =>
  (fields) =>
    fields.has(name);
