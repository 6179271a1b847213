/** The style sheet of the stand-ins' hosted pages. */
export const style = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#1c1d22, #ececf1);
  --soft: light-dark(#5b5d69, #a9abb8);
  --paper: light-dark(#ffffff, #1d1e25);
  --ground: light-dark(#f1f1f6, #121318);
  --line: light-dark(#d6d7e0, #3a3c48);
  --accent: light-dark(#4b45c6, #a8a4ff);
  --warn: light-dark(#fff4d6, #3a2f10);
  --warn-ink: light-dark(#5c4300, #ffdf8f);
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem 1rem;
  background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
}
main {
  width: 100%; max-width: 27rem; padding: 1.75rem; border: 1px solid var(--line); border-radius: 16px;
  background: var(--paper); overflow-wrap: anywhere;
}
h1 { font-size: 1.4rem; line-height: 1.25; margin: 1.25rem 0 .35rem; }
p { margin: .35rem 0 1rem; }
.notice { margin: 0; padding: .7rem .9rem; border-radius: 10px; background: var(--warn); color: var(--warn-ink); font-size: .92rem; }
.soft { color: var(--soft); }
ul { list-style: none; margin: 1rem 0; padding: 0; display: grid; gap: .6rem; }
button, .button {
  display: block; width: 100%; padding: .7rem .9rem; border: 1px solid var(--line); border-radius: 10px; background: transparent;
  color: inherit; font: inherit; text-align: left; cursor: pointer;
}
button:hover { border-color: var(--accent); }
button strong, button span { display: block; }
button span { color: var(--soft); font-size: .9rem; }
button.suggested { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--paper); text-align: center; font-weight: 600; }
button.plain { border-color: transparent; text-align: center; color: var(--soft); text-decoration: underline; }
label { display: block; margin: .9rem 0; font-weight: 600; }
input {
  display: block; width: 100%; margin-top: .25rem; padding: .6rem .75rem; border: 1px solid var(--soft); border-radius: 10px;
  background: var(--paper); color: inherit; font: inherit; font-weight: 400;
}
.error { padding: .6rem .9rem; border-left: 4px solid light-dark(#b3261e, #ff897d); }
a { color: var(--accent); }
code { font-size: .9em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;
