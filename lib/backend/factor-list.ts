import type { Session as SdkSession } from '@supabase/supabase-js';
import { isRecord } from '../core/json.ts';
import { readToken } from '../tokens/access-token.ts';

/** A second factor of the backend's list, of whatever type. */
export interface Factor {
  /** Empty where the list has none that is usable. */
  readonly id: string;
  /** As the backend calls it: `totp`, `phone`, `webauthn`, or a type of tomorrow. */
  readonly type: string;
  /** The name that the user or another page gave it. */
  readonly name: string;
  readonly isVerified: boolean;
  /** The last digits of the phone number. */
  readonly digits: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** A user's second factors, as every decision about them reads them. */
export interface FactorList {
  /** Authenticator apps first, then phones, then the types that this package cannot ask for. */
  readonly all: readonly Factor[];
  /** Whether the user has enrolled: every verified factor counts, whatever its type. */
  readonly verified: readonly Factor[];
  /** The verified factors that this package can ask for. */
  readonly askable: readonly Factor[];
}

/**
 * The factors of a user in the backend's answer, which leaves the field out where there are none. What cannot be read
 * counts as a verified factor that cannot be asked for: only a list without factors means that there is none.
 */
export function readFactors(user: { readonly factors?: unknown } | undefined): FactorList {
  // A coordinator's data beside the tokens is not validated, and may have no user.
  const listed = user?.factors;
  const entries: readonly unknown[] =
    listed === undefined || listed === null ? [] : Array.isArray(listed) ? listed : [listed];
  const all = entries.map(readFactor).toSorted((one, other) => rankOf(one) - rankOf(other));
  const verified = all.filter(({ isVerified }) => isVerified);
  return { all, verified, askable: verified.filter(isAskable) };
}

/** Whether the user has a verified factor that these tokens lack; a token itself does not list factors. */
export function needsFactor({ user, access_token: accessToken }: SdkSession): boolean {
  return readFactors(user).verified.length > 0 && readToken(accessToken).claims['aal'] !== 'aal2';
}

/** By their codes. GoTrue's other types need a script, or its own pages. */
const askableTypes = ['totp', 'phone'];

function isAskable({ id, type }: Factor): boolean {
  return id !== '' && askableTypes.includes(type);
}

function rankOf({ type }: Factor): number {
  const rank = askableTypes.indexOf(type);
  return rank === -1 ? askableTypes.length : rank;
}

function readFactor(value: unknown): Factor {
  const entry = isRecord(value) ? value : {};
  const { id, factor_type: type, status, friendly_name: name, phone, created_at: createdAt } = entry;
  const isOurs = typeof name !== 'string' || /^app-[\da-f]{12}$/.test(name);
  return {
    id: typeof id === 'string' ? id : '',
    // It is shown to the user and sent to clients.
    type: typeof type === 'string' && /^[\w-]{1,40}$/.test(type) ? type : 'unknown',
    name: isOurs ? '' : name,
    // A status of tomorrow does not switch a factor off.
    isVerified: status !== 'unverified',
    digits: typeof phone === 'string' ? phone.slice(-3) : '',
    createdAt: typeof createdAt === 'string' ? createdAt : '',
  };
}
