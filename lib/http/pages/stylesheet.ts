/** The built-in pages' only stylesheet: light and dark, from 320 px up, contrast of at least 4.5 : 1. */
export const stylesheet = `:root {
  color-scheme: light dark;
  --ink: #1b1f24; --soft: #57606a; --paper: #f4f5f7; --card: #ffffff; --line: #d0d7de;
  --accent: #3548c7; --accent-ink: #ffffff; --bad: #b3261e; --bad-soft: #fdecea; --good: #1a6b3c; --good-soft: #e6f4ea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e8eaed; --soft: #a6adb7; --paper: #101318; --card: #1a1f27; --line: #3a424d;
    --accent: #a9b5ff; --accent-ink: #10152e; --bad: #ffb4ab; --bad-soft: #3b1512; --good: #8fd9a8; --good-soft: #10301c;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem;
  background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif;
}
main {
  width: 100%; max-width: 26rem; padding: 2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 0.75rem; box-shadow: 0 0.5rem 2rem rgb(0 0 0 / 8%);
}
.brand { display: flex; align-items: center; gap: 0.6rem; margin: 0 0 1.25rem; font-weight: 600; }
.brand img { height: 2rem; width: auto; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
a { color: var(--accent); }
label { display: block; margin: 0 0 0.25rem; font-weight: 600; }
input {
  width: 100%; margin: 0 0 1rem; padding: 0.6rem 0.75rem; font: inherit; color: inherit;
  background: var(--paper); border: 1px solid var(--soft); border-radius: 0.5rem;
}
input[aria-invalid="true"] { border-color: var(--bad); }
.button, button {
  display: block; width: 100%; margin: 0 0 0.75rem; padding: 0.65rem 1rem; font: inherit; font-weight: 600; text-align: center;
  text-decoration: none; cursor: pointer; color: var(--accent-ink); background: var(--accent); border: 1px solid var(--accent); border-radius: 0.5rem;
}
.button.quiet, button.quiet { color: var(--ink); background: transparent; border-color: var(--soft); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.message { padding: 0.75rem 1rem; border-radius: 0.5rem; }
.message.bad { color: var(--bad); background: var(--bad-soft); }
.message.good { color: var(--good); background: var(--good-soft); }
.field-message { margin: -0.75rem 0 1rem; color: var(--bad); font-size: 0.9rem; }
.or { display: flex; align-items: center; gap: 0.75rem; color: var(--soft); }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.actions { margin-top: 1.5rem; text-align: center; }
.code { margin: 1rem 0 0; color: var(--soft); font-size: 0.85rem; text-align: center; }
ul.choices { margin: 0 0 1rem; padding: 0; list-style: none; }
`;
