import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenOnLocalhost } from '../../show/listen.ts';

it('serves a request that comes before the application is ready, once it is', async () => {
  const listener = await listenOnLocalhost(0);
  try {
    const early = request({
      host: '127.0.0.1',
      port: listener.port,
      method: 'POST',
      headers: { expect: '100-continue' },
    });
    early.flushHeaders();
    // Node reports this when it has read the request, just before it calls its listeners.
    await once(early, 'continue');
    early.end('a body');
    listener.serve((req, res) => void text(req).then((body) => res.end(`${req.method ?? ''} ${body}`)));
    const [answer] = (await once(early, 'response')) as [IncomingMessage];
    expect(await text(answer)).toBe('POST a body');
  } finally {
    await listener.close();
  }
});
