import type { Field, Form } from '../../pages/form.ts';
import type { Text } from '../../tools/html.ts';
import { returnToOf } from './parts.ts';
import type { FormState } from '../slots.ts';

/** Asks only for an address. */
export function addressForm(action: string, state: FormState, address: Field, button: Text): Form {
  return { part: 'form', action, hidden: returnToOf(state), fields: [address], buttons: [{ label: button }] };
}
