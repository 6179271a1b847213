import type { factorsTexts } from './texts.ts';

type TextKey = keyof typeof factorsTexts;

/** What is different for each kind of second factor. */
export interface FactorKind {
  /** As the backend calls it. */
  readonly type: string;
  /** What proves it: six digits, or what the pages' script gets from a security key. */
  readonly proof: 'code' | 'key';
  /** Whether its code comes in a text message, for which a challenge has to be kept. */
  readonly isSent: boolean;
  /** Whether it is added on our page, which may leave one unfinished. */
  readonly isAdded: boolean;
  /** Its name where it has none of its own; `always`: also where it has. */
  readonly label: { readonly key: TextKey; readonly always: boolean };
  /** The line that asks for it: alone, beside a security key, and once its code was sent. */
  readonly lead: { readonly alone: TextKey; readonly withKey: TextKey; readonly sent?: TextKey };
}

/** A security key: no other site can ask for its answer, so it comes first. */
export const keyKind: FactorKind = {
  type: 'webauthn',
  proof: 'key',
  isSent: false,
  isAdded: true,
  label: { key: 'factorKey', always: false },
  lead: { alone: 'verifyKeyText', withKey: 'verifyKeyText' },
};

const appKind: FactorKind = {
  type: 'totp',
  proof: 'code',
  isSent: false,
  isAdded: true,
  label: { key: 'factorApp', always: false },
  lead: { alone: 'verifyAppText', withKey: 'verifyKeyOrAppText' },
};

const phoneKind: FactorKind = {
  type: 'phone',
  proof: 'code',
  isSent: true,
  isAdded: false,
  label: { key: 'factorPhone', always: true },
  lead: { alone: 'verifyPhoneText', withKey: 'verifyKeyOrPhoneText', sent: 'codeSentText' },
};

/** The kinds that can be asked for, the best first. */
export const factorKinds: readonly FactorKind[] = [keyKind, appKind, phoneKind];

/** `undefined` for a type that this package cannot ask for. */
export function kindOf({ type }: { readonly type: string }): FactorKind | undefined {
  return factorKinds.find((kind) => kind.type === type);
}
