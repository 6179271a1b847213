/** The style sheet of the stand-ins' hosted pages: the look of the package's built-in pages, below a strip that says what they are. */
export const style = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#16181d, #eceef2);
  --soft: light-dark(#5a616d, #a3abb8);
  --paper: light-dark(#f4f5f7, #0e1014);
  --card: light-dark(#ffffff, #16191f);
  --field: light-dark(#ffffff, #0f1217);
  --line: light-dark(#e3e5ea, #292e37);
  --edge: light-dark(#868d99, #6f7886);
  --hover: light-dark(#f4f5f7, #20242c);
  --accent: light-dark(#1d1f26, #f1f2f5);
  --accent-hover: light-dark(#383b45, #d5d8de);
  --accent-ink: light-dark(#ffffff, #16181d);
  --ring: light-dark(#3b5bdb, #91a7ff);
  --bad: light-dark(#a4211b, #ffb4ad);
  --bad-soft: light-dark(#fdf2f1, #2a1615);
  --bad-line: light-dark(#f0cbc8, #5a2b28);
  --strip: light-dark(#fff4d6, #3a2f10);
  --strip-ink: light-dark(#5c4300, #ffdf8f);
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; padding: 0 1rem 2rem; display: flex; flex-direction: column; align-items: center;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif;
}
.notice {
  align-self: stretch; margin: 0 -1rem max(1.5rem, 9vh); padding: .5rem 1rem; background: var(--strip); color: var(--strip-ink);
  font-size: .875rem; text-align: center; text-wrap: balance;
}
main {
  width: 100%; max-width: 25.5rem; padding: 2.25rem 2.25rem 2rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .875rem; box-shadow: 0 1px 2px rgb(16 18 24 / 5%), 0 8px 24px -6px rgb(16 18 24 / 8%); overflow-wrap: anywhere;
}
main > :last-child { margin-bottom: 0; }
h1 { margin: 0 0 .375rem; font-size: 1.3125rem; font-weight: 600; line-height: 1.3; letter-spacing: -.011em; text-align: center; text-wrap: balance; }
p { margin: 0 0 1.25rem; text-wrap: pretty; }
.soft { color: var(--soft); font-size: .9375rem; text-align: center; }
h1 + .soft { margin-bottom: 1.75rem; }
ul { margin: 0 0 1.25rem; padding: 0; list-style: none; border: 1px solid var(--line); border-radius: .625rem; overflow: hidden; }
li + li { border-top: 1px solid var(--line); }
button, .button {
  display: block; width: 100%; min-height: 2.75rem; padding: .5rem 1rem; border: 1px solid var(--edge); border-radius: .5rem;
  background: var(--card); color: inherit; font: inherit; font-size: .9375rem; font-weight: 500; line-height: 1.3; text-align: center; text-decoration: none; cursor: pointer;
}
.button { display: grid; place-items: center; }
button:hover, .button:hover { background: var(--hover); }
li button { padding: .625rem .875rem; border: 0; border-radius: 0; text-align: start; }
li button strong, li button span { display: block; font-weight: 500; }
li button span { color: var(--soft); font-size: .875rem; font-weight: 400; }
ul.people button { display: grid; grid-template-columns: auto 1fr; column-gap: .75rem; align-items: center; }
ul.people img { grid-row: span 2; border-radius: 50%; }
ul.people strong { align-self: end; }
ul.people span { align-self: start; }
form + form { padding-top: .25rem; }
li button.suggested { box-shadow: inset 3px 0 0 var(--accent); background: var(--hover); }
button.primary { background: var(--accent); border-color: transparent; color: var(--accent-ink); }
button.primary:hover { background: var(--accent-hover); }
button.plain { min-height: 2.75rem; border-color: transparent; color: var(--soft); text-decoration: underline; text-underline-offset: .2em; }
label { display: block; margin: 0 0 1.125rem; font-size: .875rem; font-weight: 500; }
input {
  display: block; width: 100%; min-height: 2.75rem; margin-top: .375rem; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: .5rem;
  background: var(--field); color: inherit; font: inherit; font-size: 1rem; font-weight: 400;
}
.error { padding: .75rem .875rem; color: var(--bad); background: var(--bad-soft); border: 1px solid var(--bad-line); border-radius: .5rem; font-size: .9375rem; }
a { color: inherit; font-weight: 500; text-underline-offset: .2em; }
code { font: .875rem/1.5 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace; }
p > code:only-child { display: block; padding: .625rem .75rem; background: var(--hover); border-radius: .5rem; }
:focus-visible { outline: 2px solid var(--ring); outline-offset: 2px; }
li :focus-visible { outline-offset: -2px; }
@media (max-width: 26rem) {
  .notice { margin-bottom: 1.5rem; }
  main { padding: 1.75rem 1.25rem 1.5rem; }
}
`;
