/**
 * A gallery of the built-in pages: every state of every page of both adapters, in four looks.
 *
 *     npm run pages                       serves it on http://127.0.0.1:4600
 *     npm run pages -- --sheet <folder>   writes contact sheets there: 1280, 390 and 320 px, light and dark
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { html, render } from '../lib/tools/html.ts';
import type { Html } from '../lib/tools/html.ts';
import { scriptText } from '../lib/backend/webauthn/script.ts';
import { stylesheetFor } from '../lib/pages/style.ts';
import { ar } from '../lib/texts/ar.ts';
import { de } from '../lib/texts/de.ts';
import { everyPageState } from '../__tests__/support/built-in-pages.ts';
import { serve } from '../__tests__/support/servers.ts';

const links = { terms: '/terms', privacy: '/privacy', help: '/help' };

const looks = {
  plain: { pages: { title: 'Northwind', links }, accent: '' },
  branded: { pages: { title: 'Northwind', logo: '/logo.svg', links }, accent: '635bff' },
  german: {
    pages: { title: 'Nordwind Logistik und Handelsgesellschaft', lang: 'de', text: de, links },
    accent: '',
  },
  arabic: { pages: { title: 'نورثويند', lang: 'ar', text: ar, links }, accent: '0b7a5c' },
} as const;

const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#635bff"/><path d="M9 23V9l14 14V9" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>';

const states = Object.fromEntries(Object.entries(looks).map(([look, { pages }]) => [look, everyPageState(pages)]));

const { values } = parseArgs({ options: { sheet: { type: 'string' }, port: { type: 'string', default: '4600' } } });
const server = await serve(
  (req, res) => {
    const url = new URL(req.url ?? '/', 'http://gallery');
    const [, look = '', state = ''] = url.pathname.split('/').map(decodeURIComponent);
    const send = (type: string, text: string): void => {
      res.writeHead(200, { 'Content-Type': `${type}; charset=utf-8` }).end(text);
    };
    if (url.pathname === '/logo.svg') send('image/svg+xml', logo);
    else if (url.pathname.endsWith('.css')) send('text/css', stylesheetFor(url.searchParams).text);
    else if (url.pathname.endsWith('.js')) send('text/javascript', scriptText);
    else if (look === 'sheet')
      send('text/html', render(sheetPage(state, Number(url.searchParams.get('width') ?? 390))));
    else send('text/html', pageOf(look, state) ?? render(indexPage()));
  },
  values.sheet === undefined ? Number(values.port) : 0,
);

if (values.sheet === undefined) {
  console.log(`${server.origin}/`);
  // The server alone does not keep the process alive.
  setInterval(() => undefined, 60_000);
} else {
  await writeSheets(values.sheet);
  await server.close();
}

/** A page without its CSP, so that a sheet can frame it. */
function pageOf(look: string, state: string): string | undefined {
  const body = states[look]?.[state]?.body;
  if (body?.kind !== 'page') return undefined;
  const accent = looks[look as keyof typeof looks].accent;
  return render(body.markup).replace('/auth/pages.css', `/auth/pages.css?accent=${accent}`);
}

function indexPage(): Html {
  const lists = Object.entries(states).map(([look, pages]) => {
    const items = Object.keys(pages).map(
      (state) => html`<li><a href="/${encodeURIComponent(look)}/${encodeURIComponent(state)}">${state}</a></li>`,
    );
    const sheets = [390, 320, 1280].map(
      (width) => html` <a href="/sheet/${look}?width=${width}">sheet at ${width}</a>`,
    );
    return html`<h2>${look}</h2><p>${sheets}</p><ul>${items}</ul>`;
  });
  return html`<!doctype html><html lang="en"><title>Built-in pages</title><h1>Built-in pages</h1>${lists}</html>`;
}

/** Every state of one look side by side. */
function sheetPage(look: string, width: number): Html {
  const height = width > 600 ? 860 : 800;
  const scale = width > 600 ? 0.4 : 0.7;
  const style = `:root{color-scheme:light dark}body{margin:8px;display:flex;flex-wrap:wrap;gap:8px;font:12px sans-serif}
figure{margin:0;width:${width * scale}px;height:${height * scale + 18}px;overflow:hidden}
iframe{border:0;width:${width}px;height:${height}px;transform:scale(${scale});transform-origin:0 0}`;
  const frames = Object.keys(states[look] ?? {}).map(
    (state) =>
      html`<figure>${state}<br><iframe title="${state}" src="/${look}/${encodeURIComponent(state)}"></iframe></figure>`,
  );
  return html`<!doctype html><html lang="en"><title>${look}, ${width} px</title><link rel="stylesheet" href="data:text/css,${encodeURIComponent(style)}">${frames}</html>`;
}

async function writeSheets(folder: string): Promise<void> {
  const { launchBrowser } = await import('../__tests__/support/browser.ts');
  mkdirSync(folder, { recursive: true });
  for (const look of Object.keys(looks)) {
    // A new browser for each look: the frames of some sheets fill a small machine's memory, and a page then crashes.
    const browser = await launchBrowser();
    try {
      for (const colorScheme of ['light', 'dark'] as const) {
        const context = await browser.newContext({ viewport: { width: 1700, height: 900 }, colorScheme });
        for (const width of [390, 320, 1280]) {
          const page = await context.newPage();
          await page.goto(`${server.origin}/sheet/${look}?width=${width}`, { waitUntil: 'load', timeout: 180_000 });
          const path = join(folder, `${look}-${width}-${colorScheme}.png`);
          await page.screenshot({ path, fullPage: true, timeout: 180_000 });
          console.log(path);
          await page.close();
        }
        await context.close();
      }
    } finally {
      await browser.close();
    }
  }
}
