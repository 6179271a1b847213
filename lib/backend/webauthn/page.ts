import { html } from '../../tools/html.ts';
import type { Html, Text } from '../../tools/html.ts';
import { defined } from '../../tools/json.ts';
import type { Form } from '../../pages/form.ts';
import { buttonIcon } from '../../pages/icons.ts';
import type { Part } from '../../pages/page.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';

/** A form that the page's script shows and fills in. */
interface CeremonyFormParts {
  /** Whether the browser is asked for an existing passkey or key, or creates one. */
  readonly kind: 'get' | 'create';
  /** The name of the way, where the page is for something else. */
  readonly name?: string;
  /** The adapter's path that gives the challenge and takes the answer. */
  readonly path: string;
  /** The JSON body that asks for the challenge. */
  readonly start?: Readonly<Record<string, string>>;
  readonly hidden: Readonly<Record<string, string | undefined>>;
  readonly label: Text;
  /** At the button's edge. */
  readonly note?: Text;
  /** Whether another button of the page is the main one. */
  readonly isQuiet: boolean;
  /** Whether the browser offers passkeys in the email field. */
  readonly hasAutofill?: boolean;
  /** Whether the script asks at once, because the answer before came too late. */
  readonly isAgain?: boolean | undefined;
  /** Whether the button has the first focus, once the script shows it. */
  readonly hasFocus?: boolean;
}

/** One button, for browsers with a script. The texts are for what only the browser can know. */
export function ceremonyForm({ text }: Site, request: PageRequest, parts: CeremonyFormParts): Form {
  const { kind, name, path, start = {}, hidden, label, note, isQuiet } = parts;
  const { hasAutofill = false, isAgain = false, hasFocus = false } = parts;
  const marks = html` data-passkey="${kind}" data-start="${JSON.stringify(start)}"${hasAutofill && html` data-autofill`}${isAgain && html` data-again`}${hasFocus && html` data-focus`} hidden`;
  const known =
    kind === 'create' && html`<p class="hint" data-error="InvalidStateError" hidden>${text.passkeyKnown}</p>\n`;
  const after = html`<div role="alert">
<p class="hint" data-error="NotAllowedError" hidden>${text.passkeyCanceled}</p>
${known}<p class="hint" data-error="" hidden>${text.passkeyFailed}</p>
</div>
`;
  return {
    part: 'form',
    ...defined({ name }),
    action: request.localPath(path),
    // The script asks once more by itself, and not a third time.
    hidden: { ...hidden, challengeId: '', credential: '', again: isAgain ? 'yes' : undefined },
    buttons: [{ label, icon: keyIcon, look: isQuiet ? 'quiet' : undefined, ...defined({ note }) }],
    scripted: { marks, after },
  };
}

/** For browsers that have no script, or cannot do this. */
export function ceremonyFallback({ text }: Pick<Site, 'text'>): Part {
  return { part: 'fallback', text: text.passkeyUnavailable };
}

/** A key, for passkeys and security keys. */
export const keyDrawing: Html = html`<circle cx="8" cy="15.5" r="4.5"/><path d="m11.3 12.3 8.2-8.3M16 7.5l3 3M18 5.5l1.5 1.5"/>`;
const keyIcon = buttonIcon(keyDrawing);

/** Whether the visitor's answer came too late for the first time, so that the script asks once more. */
export function asksAgain({ error }: Pick<FormState, 'error'>, wasAgain: boolean): boolean {
  return error?.code === 'challenge_expired' && !wasAgain;
}
