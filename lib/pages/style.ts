import { lookRules, lookIn, lookQuery } from './theme.ts';
import type { Look } from './theme.ts';
import { createAssetHash } from '../http/reply.ts';

/** The seconds after which a button of a page can open by itself: a style can wait, where a script would be needed otherwise. */
export const openingSeconds = Array.from({ length: 12 }, (_, index) => 5 * (index + 1));
const opensAfter = openingSeconds
  .map((seconds) => `.resend.in-${seconds} > * { animation-delay: ${seconds}s; }`)
  .join('\n');

const places = [6, 7, 8, 9, 10].map((count) => `.of-${count} { --places: ${count}; }`).join('\n');

/**
 * A ring on the button of a form that was sent, until the answer comes, for 10 seconds at most. Sending a form, also by the keyboard, sets the user
 * validity of all its controls (HTML, "form submission algorithm"), such as of the hidden checkbox in it. The ring then goes from one end, where it is
 * clipped away, to the other, and stays halfway, where it is whole. If the browser refuses the form, the ring is at the end at once, so it does not
 * show when the field is corrected.
 */
const sentForm = `button::after {
  content: ""; position: absolute; inset-inline-end: 0.625rem; top: calc(50% - 0.5rem); width: 1rem; height: 1rem;
  border: 2px solid; border-top-color: transparent; border-radius: 50%; background: inherit; visibility: hidden; clip-path: inset(200% 0 -200%);
}
button:is(.link, .reveal)::after { content: none; }
button:is(:focus, :only-of-type)::after, .field:focus-within ~ button:first-of-type::after { visibility: visible; }
form:has(> .sent:user-valid) button::after { clip-path: inset(-200% 0 200%); rotate: 10turn; }
form:valid:has(> .sent:user-valid) button::after { transition: clip-path 10s 0.2s steps(1, jump-both), rotate 10s linear; }`;

/**
 * The built-in pages' only stylesheet: light and dark, from 320 px up, left to right and right to left. Text has a contrast of
 * 4.5 : 1 at least and the edges of controls 3 : 1 (WCAG 2.2 §1.4.3, §1.4.11); targets are at least 44 px high.
 */
export const stylesheet = `:root {
  color-scheme: light dark; --radius: 0.5rem;
  --ink: #16181d; --soft: #5a616d; --paper: #f4f5f7; --card: #ffffff; --field: #ffffff;
  --line: #e3e5ea; --edge: #868d99; --hover: #f4f5f7;
  --accent: #1d1f26; --accent-hover: #383b45; --accent-ink: #ffffff; --accent-edge: transparent; --ring: #3b5bdb;
  --bad: #a4211b; --bad-soft: #fdf2f1; --bad-line: #f0cbc8; --good: #17603b; --good-soft: #eef7f1; --good-line: #c3e2cf;
  --next: #1f3f8f; --next-soft: #f0f4fd; --next-line: #c8d6f4;
  --shadow: 0 1px 2px rgb(16 18 24 / 5%), 0 8px 24px -6px rgb(16 18 24 / 8%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #eceef2; --soft: #a3abb8; --paper: #0e1014; --card: #16191f; --field: #0f1217;
    --line: #292e37; --edge: #6f7886; --hover: #20242c;
    --accent: #f1f2f5; --accent-hover: #d5d8de; --accent-ink: #16181d; --ring: #91a7ff;
    --bad: #ffb4ad; --bad-soft: #2a1615; --bad-line: #5a2b28; --good: #94dbb0; --good-soft: #142b1e; --good-line: #255239;
    --next: #b6c8ff; --next-soft: #151d33; --next-line: #2c3f6e;
    --shadow: 0 1px 2px rgb(0 0 0 / 40%), 0 12px 32px -8px rgb(0 0 0 / 50%);
  }
}
*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; min-height: 100svh; padding: max(1.5rem, 12vh) 1rem 2rem;
  display: flex; flex-direction: column; align-items: center; gap: 1.25rem;
  color: var(--ink); background: var(--paper);
  font: 1rem/1.5 var(--font, system-ui), system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif;
}
main {
  width: 100%; max-width: 25.5rem; padding: 2.25rem 2.25rem 2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: calc(1.75 * var(--radius)); box-shadow: var(--shadow);
}
main > :last-child { margin-bottom: 0; }
.head { margin: 0 0 1.75rem; text-align: center; }
.head .brand { display: flex; flex-direction: column; align-items: center; gap: 0.5rem; margin: 0 0 1rem; font-weight: 500; text-wrap: balance; overflow-wrap: anywhere; }
.brand img { display: block; height: 2.5rem; max-width: 12rem; object-fit: contain; }
.brand:has(+ .emblem) img { height: 1.25rem; }
.mark {
  display: grid; place-items: center; width: 2.5rem; height: 2.5rem; border-radius: calc(1.25 * var(--radius));
  color: var(--accent-ink); background: var(--accent); font-size: 1.0625rem; font-weight: 600; line-height: 1;
}
.head .emblem { display: grid; place-items: center; width: 3rem; height: 3rem; margin: 0 auto 1rem; color: var(--soft); background: var(--hover); border-radius: 50%; }
.emblem.good { color: var(--good); background: var(--good-soft); }
.emblem.bad { color: var(--bad); background: var(--bad-soft); }
.emblem svg { width: 1.5rem; height: 1.5rem; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
:lang(ja) { word-break: auto-phrase; }
h1 { margin: 0; font-size: 1.3125rem; font-weight: 600; line-height: 1.3; letter-spacing: -0.011em; text-wrap: balance; overflow-wrap: anywhere; }
.head .app { margin: 0.25rem 0 0; color: var(--soft); font-size: 0.9375rem; text-wrap: balance; }
.app strong { color: var(--ink); }
.lead { margin: 0.375rem 0 0; color: var(--soft); font-size: 0.9375rem; text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin: 1.75rem 0 0.75rem; font-size: 0.9375rem; font-weight: 600; }
p { margin: 0 0 1.25rem; overflow-wrap: anywhere; text-wrap: pretty; }
strong { font-weight: 600; }
a { color: inherit; font-weight: 500; text-underline-offset: 0.2em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
form { margin: 0 0 1.25rem; }
button + button { margin-top: 0.625rem; }
form + form[data-passkey]:not(:has(> .or + button)) { margin-top: -0.625rem; }
form > .or:last-child { margin-bottom: 0; }
:is(form, p:has(> .button)) + p:has(> .button) { margin-top: -0.625rem; }
p:has(> .button) + :is(.resend, .wait) { margin-top: -0.5rem; }
.icon { flex: none; width: 1.25rem; height: 1.25rem; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
.field { display: grid; grid-template-columns: minmax(0, 1fr) fit-content(60%); column-gap: 1rem; margin: 0 0 1.125rem; }
.field > * { grid-column: 1 / -1; }
.field > label, .field > .aside { grid-row: 1; margin: 0 0 0.375rem; font-size: 0.875rem; align-self: end; }
.field > label { grid-column: 1; font-weight: 500; overflow-wrap: anywhere; }
.field > .aside { grid-column: 2; text-align: end; }
.aside a { color: var(--soft); font-weight: 400; }
input {
  display: block; width: 100%; min-height: 2.75rem; margin: 0; padding: 0.5rem 0.75rem; font: inherit; color: inherit;
  background: var(--field); border: 1px solid var(--edge); border-radius: var(--radius); transition: border-color 0.12s;
}
input:hover { border-color: var(--soft); }
input[aria-invalid="true"] { border-color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad); }
input:disabled { color: var(--soft); background: var(--hover); border-color: var(--line); cursor: not-allowed; }
input.digits { font-size: 1.375rem; font-variant-numeric: tabular-nums; letter-spacing: 0.35em; text-align: center; padding-inline: 0.75rem 0.4em; }
input.places {
  --cell: min(2.5rem, 20rem / var(--places), 63vw / var(--places)); --side: calc(50% - var(--places) / 2 * var(--cell)); --gap: calc((var(--cell) - 1ch) / 2);
  padding-inline: calc(var(--side) + var(--gap) - 1px) max(0px, calc(var(--side) - var(--gap) - 3px));
  font-family: ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; font-size: min(1.375rem, 1.4 * var(--cell)); letter-spacing: calc(var(--cell) - 1ch); text-align: start;
  background: repeating-linear-gradient(to right, transparent 0 4px, var(--edge) 4px calc(var(--cell) - 4px), transparent calc(var(--cell) - 4px) var(--cell)) center bottom 0.4375rem / calc(var(--places) * var(--cell)) 2px no-repeat var(--field);
}
${places}
input.places:disabled { background-color: var(--hover); }
.field > input { grid-row: 2; }
.field > input:has(+ .reveal:not([hidden])) { padding-inline-end: 2.75rem; }
.field > input:has(+ .reveal:not([hidden]))::-ms-reveal { display: none; }
.field > input[type="text"]:has(+ .reveal) { unicode-bidi: plaintext; }
.field > .reveal { grid-area: 2 / 2; justify-self: end; align-self: center; width: 2.25rem; min-height: 2.25rem; margin-inline-end: 0.25rem; padding: 0; color: var(--soft); background: none; border: 0; }
.reveal:hover { color: var(--ink); }
.reveal:focus-visible { outline-offset: -2px; }
.reveal::before { content: ""; position: absolute; inset: -0.25rem; }
.reveal[aria-pressed="false"] path + circle + path { display: none; }
.reveal span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.hint { margin: 0.375rem 0 0; color: var(--soft); font-size: 0.875rem; line-height: 1.45; }
main > .hint { margin: 0 0 1.25rem; text-align: center; text-wrap: balance; }
.field-message { display: flex; gap: 0.5rem; margin: 0.375rem 0 0; color: var(--bad); font-size: 0.875rem; line-height: 1.45; text-wrap: wrap; }
.field-message::before {
  content: "!" / ""; flex: none; width: 1.125rem; height: 1.125rem; margin-top: 0.0625rem; border-radius: 50%;
  color: var(--card); background: var(--bad); font-size: 0.75rem; font-weight: 700; line-height: 1.125rem; text-align: center;
}
.button, button {
  display: flex; align-items: center; justify-content: center; gap: 0.625rem; width: 100%; min-height: 2.75rem; margin: 0; padding: 0.5rem 1rem;
  font: inherit; font-size: 0.9375rem; font-weight: 500; line-height: 1.3; text-align: center; text-decoration: none; overflow-wrap: anywhere; cursor: pointer;
  position: relative; color: var(--accent-ink); background: var(--accent); border: 1px solid var(--accent-edge); border-radius: var(--radius);
  transition: background-color 0.12s, border-color 0.12s;
}
:is(.button, button):has(> svg) { text-align: start; }
.button:hover, button:hover { background: var(--accent-hover); }
.button:active, button:active { transform: translateY(1px); }
.button.quiet, button.quiet { color: var(--ink); background: var(--card); border-color: var(--edge); }
.button.quiet:hover, button.quiet:hover { background: var(--hover); border-color: var(--soft); }
:is(.button, button) > small {
  position: absolute; top: -0.5625rem; inset-inline-end: 0.75rem; padding: 0 0.375rem; color: var(--soft); background: var(--card);
  border: 1px solid var(--edge); border-radius: var(--radius); font-size: 0.6875rem; line-height: 1rem;
}
form[data-focus][hidden] + form > button:enabled { color: var(--accent-ink); background: var(--accent); border-color: var(--accent-edge); }
form[data-focus][hidden] + form > button:enabled:hover { background: var(--accent-hover); }
button:disabled { color: var(--soft); background: var(--hover); border-color: var(--line); cursor: not-allowed; }
button:disabled:active { transform: none; }
${sentForm}
.resend { display: grid; margin: 0 0 1.25rem; }
.resend > * { grid-area: 1 / 1; margin: 0; }
.wait {
  display: grid; place-items: center; min-height: 2.75rem; padding: 0.5rem; color: var(--soft); background: var(--hover);
  border: 1px solid var(--line); border-radius: var(--radius); font-size: 0.875rem; line-height: 1.3; text-align: center; text-wrap: balance;
}
@keyframes opens { from { visibility: hidden; } to { visibility: visible; } }
@keyframes closes { from { visibility: visible; } to { visibility: hidden; } }
.resend > form { animation: opens 1ms both; }
.resend > .wait { animation: closes 1ms both; }
${opensAfter}
button.link {
  display: inline; width: auto; min-height: 1.5rem; padding: 0; color: inherit; background: none; border: 0;
  font-size: inherit; text-decoration: underline; text-decoration-thickness: 1px; text-underline-offset: 0.2em;
}
:focus-visible { outline: 2px solid var(--ring); outline-offset: 2px; }
input:focus-visible { outline-offset: 0; border-color: var(--ring); }
input[aria-invalid="true"]:focus-visible { outline-color: var(--bad); border-color: var(--bad); box-shadow: none; }
.message, main > [role="alert"] {
  margin: 0 0 1.25rem; padding: 0.75rem 0.875rem; font-size: 0.9375rem; line-height: 1.45;
  border: 1px solid transparent; border-radius: var(--radius);
}
.message p { margin: 0; }
.message p.actions { margin-top: 0.5rem; text-align: start; }
.message form { margin: 0.75rem 0 0.125rem; }
.message.bad, main > [role="alert"] { color: var(--bad); background: var(--bad-soft); border-color: var(--bad-line); }
.message.plain { background: var(--hover); border-color: var(--line); }
.message.plain p + p { margin-top: 0.375rem; color: var(--soft); font-size: 0.875rem; }
.message.next { color: var(--next); background: var(--next-soft); border-color: var(--next-line); }
.message.good { color: var(--good); background: var(--good-soft); border-color: var(--good-line); }
.or { display: flex; align-items: center; gap: 0.75rem; margin: 1.25rem 0; color: var(--soft); font-size: 0.8125rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.providers { display: grid; gap: 0.625rem; margin: 0 0 1.25rem; padding: 0; list-style: none; }
.providers.row { grid-template-columns: repeat(auto-fill, minmax(4.25rem, 1fr)); }
.providers.row:has(> :nth-child(5)):not(:has(> :nth-child(7))) { grid-template-columns: repeat(3, minmax(0, 1fr)); }
.providers.row > :has(small) { grid-column: 1 / -1; }
.providers.row .button { height: 100%; padding-inline: 0.25rem; }
.providers > :has(small):not(:first-child) { margin-top: 0.375rem; }
.providers svg { flex: none; width: 1.25rem; height: 1.25rem; }
form[role="search"] { display: flex; flex-wrap: wrap; align-items: end; gap: 0.5rem; }
[role="search"] .field { flex: 1 1 9rem; margin: 0; }
[role="search"] button { flex: none; width: auto; }
.choices { margin: 0 0 1.25rem; padding: 0; list-style: none; border: 1px solid var(--line); border-radius: calc(1.25 * var(--radius)); overflow: hidden; }
.choices > li + li { border-top: 1px solid var(--line); }
.choices a {
  display: flex; align-items: center; justify-content: flex-start; gap: 0.75rem; width: 100%; min-height: 3.5rem; padding: 0.5rem 0.875rem; text-align: start;
  color: var(--ink); background: var(--card); border: 0; border-radius: 0; text-decoration: none;
}
.choices a:hover { background: var(--hover); }
.choices :focus-visible { outline-offset: -2px; }
.choices .name { flex: 1; min-width: 0; overflow-wrap: anywhere; }
.choices .row { display: flex; flex-wrap: wrap; align-items: center; gap: 0 1rem; min-height: 3.5rem; padding: 0.375rem 0.875rem; }
.choices .row a { display: inline-flex; align-items: center; width: auto; min-height: 2.75rem; padding: 0; font-size: 0.875rem; background: none; text-decoration: underline; text-decoration-thickness: 1px; }
.choices .row .name { flex: 1 1 8.5rem; padding-block: 0.375rem; }
.choices .ways { display: flex; flex-wrap: wrap; gap: 0 1rem; margin-inline-start: auto; }
.choices .mark { flex: none; width: 2rem; height: 2rem; border-radius: var(--radius); font-size: 0.8125rem; color: var(--ink); background: var(--hover); border: 1px solid var(--line); }
.choices :is(small, .about) { display: block; color: var(--soft); font-size: 0.8125rem; font-weight: 400; }
.choices .about { flex: 1 0 100%; margin: 0 0 0.375rem; }
.choices time { white-space: nowrap; }
.choices svg.start { width: 1.25rem; height: 1.25rem; stroke-width: 1.75; }
.choices svg { flex: none; width: 1rem; height: 1rem; fill: none; stroke: var(--soft); stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
[dir="rtl"] .choices svg.on { transform: scaleX(-1); }
[dir="rtl"] :is(.lead, [role="alert"]) > span[dir="ltr"] { display: block; }
.group + .choices { margin-bottom: 0; }
.group + .choices + :is(.letters, .choices, form) { margin-top: 1.25rem; }
.scopes { margin: 0 0 1.5rem; padding: 0; list-style: none; }
.scopes li { display: flex; gap: 0.625rem; padding: 0.25rem 0; font-size: 0.9375rem; line-height: 1.45; overflow-wrap: anywhere; }
.scopes li::before { content: "✓" / ""; flex: none; color: var(--soft); font-weight: 600; }
.scopes span { min-width: 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(8rem, 100%), 1fr)); gap: 0.625rem; }
.pair button + button { margin-top: 0; }
.qr { display: block; width: 12.5rem; max-width: 100%; height: auto; aspect-ratio: 1; margin: 0 auto 1.25rem; padding: 0.75rem; background: #ffffff; border: 1px solid var(--line); border-radius: min(0.625rem, 1.25 * var(--radius)); }
.secret code { user-select: all; }
.secret { padding: 0.625rem 0.75rem; background: var(--hover); border-radius: var(--radius); font: 0.9375rem/1.5 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; letter-spacing: 0.05em; text-align: center; text-wrap: balance; overflow-wrap: anywhere; }
.steps { margin: 0 0 1.25rem; padding: 0; list-style: none; counter-reset: step; }
.steps > li { position: relative; padding-inline-start: 2.25rem; counter-increment: step; }
.steps > li + li { margin-top: 1.25rem; }
.steps > li::before {
  content: counter(step); position: absolute; inset-inline-start: 0; top: 0; width: 1.5rem; height: 1.5rem; border: 1px solid var(--edge); border-radius: 50%;
  color: var(--soft); font-size: 0.8125rem; font-weight: 600; line-height: 1.375rem; text-align: center;
}
.steps > li > p:not(.actions) { margin: 0 0 0.75rem; }
.steps .qr { margin-bottom: 0.75rem; }
.steps form { margin: 0; }
@media (min-width: 48rem) {
  main:has(> .steps) { max-width: 46rem; }
  main > .steps { display: grid; grid-template: auto 1fr / 1fr 1fr; gap: 1.25rem 3rem; }
  main > .steps > li + li { margin-top: 0; }
  main > .steps > :last-child { grid-area: 1 / 2 / span 2; }
}
.letters { display: grid; grid-template-columns: repeat(auto-fill, minmax(2.75rem, 1fr)); margin: 0 0 1rem; }
.letters a { display: grid; place-items: center; min-height: 2.75rem; font-size: 0.9375rem; border-radius: var(--radius); }
.letters a:hover { background: var(--hover); }
.group { margin: 1rem 0 0.375rem; font-size: 0.8125rem; color: var(--soft); scroll-margin-top: 1rem; }
.actions { margin: 1.5rem 0 0; color: var(--soft); font-size: 0.9375rem; text-align: center; }
.actions + .actions { margin-top: 0.75rem; }
.actions a, .actions button.link { color: var(--ink); }
.actions form { margin: 0; }
.reference { margin: 1.5rem 0 0; color: var(--soft); font: 0.8125rem/1.5 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; text-align: center; overflow-wrap: anywhere; }
.reference time { display: block; }
footer { display: flex; flex-wrap: wrap; justify-content: center; gap: 0.25rem 1.25rem; max-width: 25.5rem; color: var(--soft); font-size: 0.8125rem; }
footer a { font-weight: 400; line-height: 1.5rem; }
@media (max-width: 30rem) {
  body { padding: 1.5rem 1.25rem; background: var(--card); }
  main { padding: 0; border: 0; border-radius: 0; box-shadow: none; }
}
@media (prefers-contrast: more) {
  :root:root { --line: var(--edge); --edge: var(--ink); --soft: var(--ink); }
}
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { transition: none !important; }
  form:valid:has(> .sent:user-valid) button::after { transition: clip-path 10s 0.2s steps(1, jump-both) !important; }
  .button:active, button:active { transform: none; }
}
@media (forced-colors: active) {
  .button, button, .message, .emblem, .mark, .secret, main > [role="alert"] { border: 1px solid currentColor; }
  button:is(.link, .reveal) { border: 0; }
  button::after { forced-color-adjust: none; border-color: transparent ButtonText ButtonText; background: ButtonFace; }
  input[aria-invalid="true"] { border-width: 3px; }
  input.places { forced-color-adjust: none; color: CanvasText; --field: Canvas; --hover: Canvas; --edge: CanvasText; --soft: CanvasText; --bad: CanvasText; --line: GrayText; --ring: Highlight; }
}
`;

/** The content hash in its URL, so that browsers may cache it. */
const stylesheetHash = createAssetHash(stylesheet);

/** The query of its URL. */
export function stylesheetQuery(look: Look): string {
  return `?${lookQuery(look)}v=${stylesheetHash()}`;
}

/** The stylesheet for a URL; two adapters with different looks may share one path. */
export function stylesheetFor(query: URLSearchParams): { readonly text: string; readonly isImmutable: boolean } {
  return { text: stylesheet + lookRules(lookIn(query)), isImmutable: query.get('v') === stylesheetHash() };
}
