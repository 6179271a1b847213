import type { Credentials } from '../../stand-ins/supabase/index.ts';
import { codeBlock } from './code.ts';
import { html } from './html.ts';
import { page } from './layout.ts';

/** @param demo the initial values of the password form */
export function clientPage(demo: Credentials | undefined): string {
  return page({
    title: 'The typed client',
    at: '/client',
    lead: html`The same routes, asked by a script: <code>express-auth-adapters/client</code> runs in your browser. No call throws; each answers <code>{ data, error }</code>, and one of them is null.`,
    script: 'client.js',
    content: html`<noscript><p class="hint">This page is about scripts, and they are switched off.</p></noscript>
<div class="columns">
<section class="card" aria-labelledby="b2b-client">
<h2 id="b2b-client">B2B</h2>
${codeBlock(
  `import { createB2bClient } from 'express-auth-adapters/client';

const auth = createB2bClient();
const { data, error } = await auth.session();`,
  'Calls of the B2B client',
)}
<div class="buttons">
<button data-call="b2b.session">session()</button>
<button data-call="b2b.login" class="quiet">login()</button>
<button data-call="b2b.signup" class="quiet">signup()</button>
<button data-call="b2b.logout" class="quiet">logout()</button>
</div>
</section>
<section class="card" aria-labelledby="backend-client">
<h2 id="backend-client">Backend</h2>
${codeBlock(
  `import { createBackendClient } from 'express-auth-adapters/client';

const auth = createBackendClient({
  paths: { session: '/auth/me' },
});`,
  'Calls of the backend client',
)}
<div class="buttons">
<button data-call="backend.session">session()</button>
<button data-call="backend.oauth" class="quiet">oauth()</button>
<button data-call="backend.logout" class="quiet">logout()</button>
</div>
<form id="password-form" class="fields">
<label>Email <input name="email" type="email" autocomplete="username" value="${demo?.email ?? ''}" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<div class="buttons"><button name="call" value="login">login()</button><button name="call" value="signup" class="quiet">signup()</button></div>
</form>
</section>
<section class="card wide" aria-labelledby="answer">
<h2 id="answer">Answer</h2>
<div aria-live="polite"><p id="call" class="soft">Press a button.</p>
<pre id="result" hidden><code></code></pre>
<p id="onward" hidden><a class="button">Go where it says</a></p></div>
</section>
</div>`,
  });
}
