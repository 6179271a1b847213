// The page works without this script: it counts down an outage, and reloads the page when the providers are back.
const outage = document.getElementById('outage');

function tick() {
  const seconds = Math.ceil((Number(outage.dataset.until) - Date.now()) / 1000);
  if (seconds <= 0) location.reload();
  else outage.textContent = `The providers are down for ${seconds} more seconds.`;
}

if (outage !== null) setInterval(tick, 1000);
