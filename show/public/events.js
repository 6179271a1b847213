// The page works without this script, which only saves the reload.
const log = document.getElementById('log');
const limit = 50;

async function update() {
  const response = await fetch('/events');
  const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
  // Only new entries, so that a screen reader does not repeat the others.
  const added = [...fresh.querySelectorAll('#log > li')].filter(({ id }) => document.getElementById(id) === null);
  log.prepend(...added);
  [...log.children].slice(limit).forEach((entry) => entry.remove());
  if (added.length > 0) document.querySelector('.empty')?.remove();
}

let timer;
new EventSource('/events/stream').onmessage = () => {
  // Several steps may arrive together; one update shows them all.
  clearTimeout(timer);
  timer = setTimeout(update, 100);
};
