import { createB2bClient } from './client/index.js';

const b2b = createB2bClient();

/** What each button calls, and how that looks in code. */
const calls = {
  'b2b.session': [() => b2b.session(), 'session()'],
  'b2b.login': [() => b2b.login({ query: { returnTo: '/client' } }), "login({ query: { returnTo: '/client' } })"],
  'b2b.signup': [() => b2b.signup({ query: { returnTo: '/client' } }), "signup({ query: { returnTo: '/client' } })"],
  'b2b.logout': [() => b2b.logout(), 'logout()'],
};

const call = document.getElementById('call');
const result = document.getElementById('result');
const onward = document.getElementById('onward');

async function show(name) {
  const [run, code] = calls[name];
  const { data, error } = await run();
  call.textContent = `await auth.${code}`;
  result.hidden = false;
  result.firstElementChild.textContent = JSON.stringify({ data, error }, null, 2);
  onward.hidden = data?.redirectTo === undefined;
  onward.firstElementChild.href = data?.redirectTo ?? '';
}

for (const button of document.querySelectorAll('[data-call]')) {
  button.addEventListener('click', () => show(button.dataset.call));
}
