import { createHash } from 'node:crypto';

/**
 * The built-in pages' only stylesheet: light and dark, from 320 px up, contrast of at least 4.5 : 1 for text and 3 : 1 for
 * the edges of controls (WCAG 2.2 §1.4.3, §1.4.11), targets of at least 44 px.
 */
export const stylesheet = `:root {
  color-scheme: light dark;
  --ink: #14181f; --soft: #555e6b; --paper: #f3f5f9; --glow: #dfe6fb; --card: #ffffff; --field: #ffffff;
  --line: #dfe3ea; --edge: #858e9c; --hover: #f3f5f9;
  --accent: #3646c9; --accent-strong: #2a37a6; --accent-ink: #ffffff; --ring: #3646c9;
  --bad: #a8201a; --bad-soft: #fdf0ef; --bad-line: #efc4c1; --good: #16603a; --good-soft: #eaf6ef; --good-line: #b9dfc8;
  --shadow: 0 1px 2px rgb(20 24 31 / 6%), 0 12px 32px -8px rgb(20 24 31 / 14%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e9ecf1; --soft: #a7b0bd; --paper: #0d1016; --glow: #1a2140; --card: #161a22; --field: #0f131a;
    --line: #2a303b; --edge: #707a89; --hover: #1f2530;
    --accent: #a8b4ff; --accent-strong: #c2cbff; --accent-ink: #0f1434; --ring: #a8b4ff;
    --bad: #ffb3ac; --bad-soft: #2c1514; --bad-line: #5e2a27; --good: #93dcae; --good-soft: #14301f; --good-line: #24543a;
    --shadow: 0 1px 2px rgb(0 0 0 / 40%), 0 16px 40px -8px rgb(0 0 0 / 60%);
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; min-height: 100svh; padding: 1.5rem 1rem;
  display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 1.5rem;
  color: var(--ink); background: radial-gradient(60rem 30rem at 50% -6rem, var(--glow), transparent) no-repeat var(--paper);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif;
}
.brand { display: flex; align-items: center; gap: 0.625rem; max-width: 100%; font-size: 1.0625rem; font-weight: 650; letter-spacing: -0.01em; }
.brand img { display: block; height: 2rem; max-width: 12rem; object-fit: contain; }
.brand span { min-width: 0; overflow-wrap: anywhere; }
main {
  width: 100%; max-width: 25rem; padding: 2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 1rem; box-shadow: var(--shadow);
}
main > :last-child { margin-bottom: 0; }
.emblem {
  display: grid; place-items: center; width: 3rem; height: 3rem; margin: 0 0 1.25rem;
  color: var(--good); background: var(--good-soft); border-radius: 50%;
}
.emblem svg { width: 1.5rem; height: 1.5rem; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
h1 { margin: 0 0 1.25rem; font-size: 1.5rem; font-weight: 700; line-height: 1.25; letter-spacing: -0.02em; text-wrap: balance; overflow-wrap: anywhere; }
p { margin: 0 0 1.25rem; overflow-wrap: anywhere; text-wrap: pretty; }
a { color: var(--accent); font-weight: 500; text-underline-offset: 0.2em; text-decoration-thickness: 1px; }
a:hover { color: var(--accent-strong); text-decoration-thickness: 2px; }
form { margin: 0 0 1.25rem; }
.field { margin: 0 0 1.125rem; }
label { display: block; margin: 0 0 0.375rem; font-size: 0.9375rem; font-weight: 600; }
.label { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; margin: 0; font-size: 0.875rem; }
input {
  display: block; width: 100%; min-height: 2.75rem; margin: 0; padding: 0.5rem 0.75rem; font: inherit; color: inherit;
  background: var(--field); border: 1px solid var(--edge); border-radius: 0.625rem; transition: border-color 0.12s;
}
input:hover { border-color: var(--soft); }
input[aria-invalid="true"] { border-color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad); }
.hint { margin: 0.375rem 0 0; color: var(--soft); font-size: 0.875rem; line-height: 1.45; }
main > .hint { margin: 0 0 1.25rem; }
.field-message { text-wrap: wrap; display: flex; gap: 0.5rem; margin: 0.5rem 0; color: var(--bad); font-size: 0.875rem; line-height: 1.45; }
.field-message::before {
  content: "!" / ""; flex: none; width: 1.125rem; height: 1.125rem; margin-top: 0.0625rem; border-radius: 50%;
  color: var(--card); background: var(--bad); font-size: 0.75rem; font-weight: 700; line-height: 1.125rem; text-align: center;
}
.button, button {
  display: flex; align-items: center; justify-content: center; width: 100%; min-height: 2.75rem; margin: 0; padding: 0.5rem 1rem;
  font: inherit; font-weight: 600; line-height: 1.3; text-align: center; text-decoration: none; overflow-wrap: anywhere; cursor: pointer;
  color: var(--accent-ink); background: var(--accent); border: 1px solid transparent; border-radius: 0.625rem;
  transition: background-color 0.12s, border-color 0.12s;
}
.button:hover, button:hover { color: var(--accent-ink); background: var(--accent-strong); }
.button:active, button:active { transform: translateY(1px); }
.button.quiet, button.quiet { color: var(--ink); background: var(--card); border-color: var(--edge); }
.button.quiet:hover, button.quiet:hover { color: var(--ink); background: var(--hover); border-color: var(--soft); }
:focus-visible { outline: 2px solid var(--ring); outline-offset: 2px; }
input:focus-visible { outline-offset: 0; border-color: var(--ring); }
input[aria-invalid="true"]:focus-visible { outline-color: var(--bad); border-color: var(--bad); box-shadow: none; }
.message, main > [role="alert"] {
  margin: 0 0 1.25rem; padding: 0.75rem 0.875rem; font-size: 0.9375rem; line-height: 1.45;
  border: 1px solid transparent; border-radius: 0.625rem;
}
.message p { margin: 0; }
.message form { margin: 0.75rem 0 0.125rem; }
.message.bad, main > [role="alert"] { color: var(--bad); background: var(--bad-soft); border-color: var(--bad-line); }
.message.good { color: var(--good); background: var(--good-soft); border-color: var(--good-line); }
.or { display: flex; align-items: center; gap: 0.75rem; color: var(--soft); font-size: 0.875rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.choices { display: grid; gap: 0.625rem; margin: 0 0 1.25rem; padding: 0; list-style: none; }
.choices form { margin: 0; }
.actions { margin: 1.5rem 0 0; color: var(--soft); font-size: 0.9375rem; text-align: center; }
.actions .button { margin-bottom: 1rem; font-size: 1rem; }
.code { margin: 1rem 0 0; color: var(--soft); font-size: 0.8125rem; text-align: center; }
@media (max-width: 26rem) {
  body { justify-content: flex-start; padding-top: 2rem; }
  main { padding: 1.5rem 1.25rem; }
}
@media (prefers-contrast: more) {
  :root { --line: var(--edge); --edge: var(--ink); --soft: var(--ink); }
}
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { transition: none !important; }
  .button:active, button:active { transform: none; }
}
@media (forced-colors: active) {
  .button, button, .message, .emblem, main > [role="alert"] { border: 1px solid currentColor; }
  input[aria-invalid="true"] { border-width: 3px; }
}
`;

/** Names this text in its URL, so that a browser may keep it. */
export const stylesheetHash = createHash('sha256').update(stylesheet).digest('base64url').slice(0, 16);
