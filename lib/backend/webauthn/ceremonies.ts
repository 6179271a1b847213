/**
 * The part of the pages' script that asks for a passkey or a security key. Each `<form data-passkey>` is one way to answer; without the
 * script all of them are hidden.
 *
 * - `data-passkey` is `get` or `create`, `data-start` the body of the POST that asks for the challenge.
 * - `data-autofill` offers passkeys in the email field, `data-again` asks at once, because the server wants another answer,
 *   `data-focus` gives the button the first focus.
 * - The hidden fields `challengeId`, `credential` and `factorId` take the answer, and the form posts it as any other.
 * - `data-error` marks texts by the names of the browser's errors; the one without a name is for all others.
 * - `data-fallback` outside of the forms marks what is for browsers that cannot do this.
 */
import { createPasskey, getPasskey } from './client.ts';
import type { CredentialJson } from './client.ts';

interface Element {
  hidden: boolean;
  disabled: boolean;
  value: string;
  focus(): void;
  readonly dataset: Readonly<Record<string, string | undefined>>;
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): readonly Element[];
  addEventListener(type: string, listen: (event: { preventDefault(): void }) => void): void;
}

interface Form extends Element {
  readonly action: string;
  submit(): void;
}

interface Window {
  readonly document: { querySelectorAll(selector: string): readonly Form[] };
  readonly PublicKeyCredential?: { isConditionalMediationAvailable?(): Promise<boolean> };
  addEventListener(type: string, listen: () => void): void;
}

interface Started {
  readonly challengeId: string;
  /** Of a security key as second factor. */
  readonly factorId?: string;
  readonly options: CredentialJson;
  /** Milliseconds. */
  readonly at: number;
}

const window = globalThis as unknown as Window;
const { document, PublicKeyCredential } = window;

/** Milliseconds; a challenge lives for five minutes. */
const maxAge = 240_000;

/** A browser has one request at a time, so the next one ends the one before. */
let running: AbortController | undefined;

/** Shows the text for an error of the browser, or none. */
function showError(form: Form, name?: string): void {
  const texts = [...form.querySelectorAll('[data-error]')];
  const named = (wanted: string): Element | undefined => texts.find(({ dataset }) => dataset['error'] === wanted);
  const shown = name && (named(name) ?? named(''));
  for (const text of texts) text.hidden = text !== shown;
}

function fill(form: Form, name: string, value: string): void {
  const field = form.querySelector(`[name=${name}]`);
  if (field) field.value = value;
}

/** The challenge of the form's route; `undefined` where it gives none. */
async function askServer(form: Form): Promise<Started | undefined> {
  const response = await fetch(form.action, {
    method: 'POST',
    headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
    body: form.dataset['start'] ?? '{}',
  });
  return response.ok ? { ...((await response.json()) as Started), at: Date.now() } : undefined;
}

function setUp(form: Form): void {
  const { passkey, autofill, again, focus } = form.dataset;
  const button = form.querySelector('button');
  let started: Started | undefined;

  const setBusy = (isBusy: boolean): void => {
    if (button) button.disabled = isBusy;
  };

  async function ask(mediation?: 'conditional'): Promise<void> {
    running?.abort();
    const own = (running = new AbortController());
    const { signal } = own;
    if (!mediation) showError(form);
    setBusy(!mediation);
    try {
      if (!started || Date.now() - started.at > maxAge) started = await askServer(form);
      if (signal.aborted || (mediation && !started)) return;
      const options = started?.options;
      const create = () => options && createPasskey(options, { signal });
      const get = () => options && getPasskey(options, { signal, ...(mediation && { mediation }) });
      const answer = await (passkey === 'create' ? create() : get());
      // Without an answer, the server's page says why there is no challenge.
      fill(form, 'challengeId', started?.challengeId ?? '');
      fill(form, 'credential', answer ? JSON.stringify(answer) : '');
      if (started?.factorId) fill(form, 'factorId', started.factorId);
      // The server takes one answer to each.
      started = undefined;
      form.submit();
    } catch (error) {
      if (own !== running || mediation) return;
      setBusy(false);
      showError(form, (error as Error).name);
      offer();
    }
  }

  function offer(): void {
    if (autofill === undefined) return;
    void PublicKeyCredential?.isConditionalMediationAvailable?.().then((isAvailable) => {
      if (isAvailable) void ask('conditional');
    });
  }

  form.hidden = false;
  if (focus !== undefined) button?.focus();
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void ask();
  });
  // Restored from the browser's memory, after the answer was sent.
  window.addEventListener('pageshow', () => setBusy(false));
  if (again === undefined) offer();
  else void ask();
}

export function setUpCeremonies(): void {
  if (!PublicKeyCredential) return;
  for (const fallback of document.querySelectorAll('[data-fallback]')) fallback.hidden = true;
  document.querySelectorAll('form[data-passkey]').forEach(setUp);
}
