import { readFileSync } from 'node:fs';
import { html } from './html.ts';
import type { Markup } from './html.ts';

/** Shows a source of the tour itself, so that the page cannot be outdated. */
export function sourceOf(file: string): string {
  const lines = readFileSync(`${import.meta.dirname}/../${file}`, 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('//')).join('\n');
}

const tokens = /('[^']*'|`[^`]*`)|\b(import|from|const|await|async|new|process)\b|([\w$]+)(?=\()/g;

/** A block of JavaScript with highlighted strings, keywords and calls. A line that is too long goes on below, indented. */
export function codeBlock(source: string, label: string): Markup {
  const lines = source.split('\n').map((line) => html`<span class="line">${highlighted(line)}\n</span>`);
  return html`<pre class="code" role="group" aria-label="${label}"><code>${lines}</code></pre>`;
}

function highlighted(source: string): Markup {
  const parts: Markup[] = [];
  let end = 0;
  for (const match of source.matchAll(tokens)) {
    const [text, string, keyword] = match;
    const kind = string !== undefined ? 'string' : keyword !== undefined ? 'keyword' : 'call';
    parts.push(html`${source.slice(end, match.index)}<span class="${kind}">${text}</span>`);
    end = match.index + text.length;
  }
  return html`${parts}${source.slice(end)}`;
}
