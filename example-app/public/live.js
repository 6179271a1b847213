// Shows a WebSocket of this page: it ends when the session does, in whatever tab or browser that happens.
const status = document.getElementById('live');
const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/live`);
const show = (text) => (status.textContent = text);

show('opening');
socket.onmessage = ({ data }) => show(data);
socket.onclose = ({ code, reason }) => show(code === 4401 ? `closed: ${reason}` : 'closed');
