// The page is complete without this; it only saves the reload.
const log = document.getElementById('log');
const limit = 50;

async function update() {
  const response = await fetch('/events');
  const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
  // Only what is new, so that a screen reader does not hear the rest again.
  const added = [...fresh.querySelectorAll('#log > li')].filter(({ id }) => document.getElementById(id) === null);
  log.prepend(...added);
  [...log.children].slice(limit).forEach((entry) => entry.remove());
  if (added.length > 0) document.querySelector('.empty')?.remove();
}

let timer;
new EventSource('/events/stream').onmessage = () => {
  // Several steps come at once; one look shows them all.
  clearTimeout(timer);
  timer = setTimeout(update, 100);
};
