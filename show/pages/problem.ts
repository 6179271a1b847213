import { html } from './html.ts';
import { page } from './layout.ts';

/** An error page with a link to continue. */
export function problemPage(title: string, text: string): string {
  return page({
    title,
    lead: text,
    content: html`<div class="actions"><a class="button" href="/">To the start page</a></div>`,
  });
}
