// Shows this page's WebSocket: it closes when the session ends, in any tab or browser.
const status = document.getElementById('live');
const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/live`);
const show = (text) => (status.textContent = text);

show('opening');
socket.onmessage = ({ data }) => show(data);
socket.onclose = ({ code, reason }) => show(code === 4401 ? `closed: ${reason}` : 'closed');
