/** Markup that the `html` tag made; everything else is text and gets escaped. */
export class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type Value = Markup | string | number | false | undefined | null | readonly Value[];

/** A template that escapes its values, for text and for quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(strings.map((text, index) => (index === 0 ? '' : write(values[index - 1])) + text).join(''));
}

function write(value: Value): string {
  if (value === undefined || value === null || value === false) return '';
  if (value instanceof Markup) return value.toString();
  if (typeof value === 'object') return value.map(write).join('');
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
