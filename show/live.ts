import type { Router } from 'express';
import { authenticateUpgrade, refuseUpgrade } from 'express-auth-adapters/b2b';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';

export type UpgradeListener = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** A WebSocket that closes when the session of its page ends. */
export function liveSockets(b2b: Router): UpgradeListener {
  const sockets = new WebSocketServer({ noServer: true });
  return (req, socket, head) => {
    authenticateUpgrade(b2b, req).then(
      ({ session, ended }) =>
        sockets.handleUpgrade(req, socket, head, (live) => {
          const close = (): void => live.close(4401, 'The session has ended.');
          if (ended.aborted) close();
          else ended.addEventListener('abort', close);
          live.send(`open, for ${session.user.email ?? session.user.id}`);
        }),
      (error: unknown) => refuseUpgrade(socket, error),
    );
  };
}
