/** The part of the pages' script that shows what is typed into a password field. Without the script its button is hidden. */

interface Element {
  hidden: boolean;
  type: string;
  readonly form: Element;
  readonly previousElementSibling: Element;
  setAttribute(name: string, value: string): void;
  addEventListener(type: string, listen: (event: { preventDefault(): void }) => void): void;
}

interface Window {
  readonly document: { querySelectorAll(selector: string): readonly Element[] };
  addEventListener(type: string, listen: () => void): void;
}

const window = globalThis as unknown as Window;

export function setUpReveal(): void {
  for (const button of window.document.querySelectorAll('.reveal')) {
    const field = button.previousElementSibling;
    const show = (isShown: boolean): void => {
      field.type = isShown ? 'text' : 'password';
      button.setAttribute('aria-pressed', String(isShown));
    };
    const hide = (): void => show(false);
    // What browsers do in a text field, and not in one for a password.
    field.setAttribute('autocapitalize', 'none');
    field.setAttribute('autocorrect', 'off');
    // The field keeps its caret, and a phone its keyboard.
    button.addEventListener('mousedown', (event) => event.preventDefault());
    button.addEventListener('click', () => show(field.type === 'password'));
    // Browsers keep what a text field held, for the way back to this page and for later forms.
    field.form.addEventListener('submit', hide);
    window.addEventListener('pagehide', hide);
    button.hidden = false;
  }
}
