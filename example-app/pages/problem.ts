import { html } from './html.ts';
import { page } from './layout.ts';

/** What could not be shown, with a way on. */
export function problemPage(title: string, text: string): string {
  return page({
    title,
    lead: text,
    content: html`<div class="actions"><a class="button" href="/">To the start page</a></div>`,
  });
}
