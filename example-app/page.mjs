/** Markup that `html` made. Everything else is text, and is escaped. */
class Markup {
  constructor(text) {
    this.text = text;
  }
}

/** Markup with escaped values: html`<p>${name}</p>`. A list is joined. */
export function html(strings, ...values) {
  return new Markup(strings.map((string, at) => string + (at < values.length ? render(values[at]) : '')).join(''));
}

function render(value) {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(render).join('');
  return String(value ?? '').replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const style = html`
  :root {
    color-scheme: light dark;
    --line: light-dark(#dcdfe6, #343a46);
    --paper: light-dark(#f5f6f8, #101216);
    --card: light-dark(#fff, #191c22);
  }
  body {
    margin: 0 auto;
    padding: 1.5rem 1rem 4rem;
    max-width: 38rem;
    background: var(--paper);
    font:
      1rem/1.6 system-ui,
      sans-serif;
  }
  nav {
    display: flex;
    flex-wrap: wrap;
    gap: 0.25rem 1.25rem;
    margin-bottom: 2rem;
  }
  nav strong {
    margin-right: auto;
  }
  main {
    padding: 0.5rem 1.5rem 1.5rem;
    background: var(--card);
    border: 1px solid var(--line);
    border-radius: 0.75rem;
    overflow-wrap: anywhere;
  }
  form {
    display: flex;
    flex-wrap: wrap;
    gap: 0.75rem;
  }
  input {
    flex: 1 1 12rem;
  }
  input,
  button {
    min-height: 2.75rem;
    padding: 0 1rem;
    border: 1px solid #7d8593;
    border-radius: 0.5rem;
    background: none;
    color: inherit;
    font: inherit;
  }
  a {
    color: inherit;
  }
`;

/** A whole page. `links` are those of the navigation: `['/account', 'Account']`. */
export function page(title, links, content) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Northwind</title>
        <link rel="icon" href="data:," />
        <style>
          ${style}
        </style>
      </head>
      <body>
        <nav>
          <strong>Northwind</strong>
          ${links.map(([href, name]) => html`<a href="${href}">${name}</a> `)}
        </nav>
        <main>
          <h1>${title}</h1>
          ${content}
        </main>
      </body>
    </html> `.text;
}
