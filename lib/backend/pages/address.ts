import { html } from '../../tools/html.ts';
import type { Html, Text } from '../../tools/html.ts';
import type { PageFacts, PageKind } from '../../pages/view.ts';
import { formValues, postForm, returnToOf } from './parts.ts';
import type { FormState, PageRequest } from '../slots.ts';

/** Asks only for an address. */
export function addressForm(action: string, state: FormState, address: Html, button: Text): Html {
  return postForm(action, returnToOf(state), html`${address}\n<button>${button}</button>`);
}

/** A page as data that asks for an address. */
export function addressFacts(kind: PageKind, request: PageRequest, state: FormState, path: string): PageFacts {
  const links = { signIn: request.signInUrl(state.returnTo) };
  return { kind, action: request.localPath(path), fields: ['email'], values: formValues(state), links };
}
