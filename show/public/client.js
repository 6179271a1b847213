import { createB2bClient, createBackendClient } from './client/index.js';

const b2b = createB2bClient();
const backend = createBackendClient({ paths: { session: '/auth/me' } });

/** The call of each button, and its source code. */
const calls = {
  'b2b.session': [() => b2b.session(), 'session()'],
  'b2b.login': [() => b2b.login({ query: { returnTo: '/client' } }), "login({ query: { returnTo: '/client' } })"],
  'b2b.signup': [() => b2b.signup({ query: { returnTo: '/client' } }), "signup({ query: { returnTo: '/client' } })"],
  'b2b.logout': [() => b2b.logout(), 'logout()'],
  'backend.session': [() => backend.session(), 'session()'],
  'backend.oauth': [
    () => backend.oauth({ query: { provider: 'github', returnTo: '/client' } }),
    "oauth({ query: { provider: 'github', returnTo: '/client' } })",
  ],
  'backend.logout': [
    () => backend.logout({ body: { returnTo: '/client' } }),
    "logout({ body: { returnTo: '/client' } })",
  ],
};

const call = document.getElementById('call');
const result = document.getElementById('result');
const onward = document.getElementById('onward');

async function show(run, code) {
  const { data, error } = await run();
  call.textContent = `await auth.${code}`;
  result.hidden = false;
  result.firstElementChild.textContent = JSON.stringify({ data, error }, null, 2);
  onward.hidden = data?.redirectTo === undefined;
  onward.firstElementChild.href = data?.redirectTo ?? '';
  result.scrollIntoView({ block: 'nearest' });
}

for (const button of document.querySelectorAll('[data-call]')) {
  button.addEventListener('click', () => show(...calls[button.dataset.call]));
}

document.getElementById('password-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const fields = new FormData(event.target);
  const body = { email: fields.get('email'), password: fields.get('password'), returnTo: '/client' };
  const method = event.submitter?.value === 'signup' ? 'signup' : 'login';
  void show(() => backend[method]({ body }), `${method}({ body: { email, password, returnTo: '/client' } })`);
});
