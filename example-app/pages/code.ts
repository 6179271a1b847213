import { readFileSync } from 'node:fs';
import { html } from './html.ts';
import type { Markup } from './html.ts';

/** What the app shows of its own source, so that it cannot be out of date. */
export function sourceOf(file: string): string {
  const lines = readFileSync(`${import.meta.dirname}/../${file}`, 'utf8').split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('//')).join('\n');
}

const tokens = /('[^']*'|`[^`]*`)|\b(import|from|const|await|async|new|process)\b|([\w$]+)(?=\()/g;

/** A block of JavaScript with its strings, keywords and calls in colors. Wider than its place, it scrolls. */
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
