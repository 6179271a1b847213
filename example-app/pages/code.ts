import { readFileSync } from 'node:fs';
import { html } from './html.ts';
import type { Markup } from './html.ts';

/** Shows the app's own source, so that the example cannot be outdated. */
export function sourceOf(file: string): string {
  const lines = readFileSync(`${import.meta.dirname}/../${file}`, 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('//')).join('\n');
}

const tokens = /('[^']*'|`[^`]*`)|\b(import|from|const|await|async|new|process)\b|([\w$]+)(?=\()/g;

/** A block of JavaScript with highlighted strings, keywords and calls. It scrolls if it is too wide. */
export function codeBlock(source: string, label: string): Markup {
  const parts: Markup[] = [];
  let end = 0;
  for (const match of source.matchAll(tokens)) {
    const [text, string, keyword] = match;
    const kind = string !== undefined ? 'string' : keyword !== undefined ? 'keyword' : 'call';
    parts.push(html`${source.slice(end, match.index)}<span class="${kind}">${text}</span>`);
    end = match.index + text.length;
  }
  return html`<pre class="code" tabindex="0" role="group" aria-label="${label}"><code>${parts}${source.slice(end)}</code></pre>`;
}
