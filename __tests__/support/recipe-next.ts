import type { IncomingMessage, ServerResponse } from 'node:http';

/** In place of Next.js, which is not installed: a server whose every page is the header that the recipe hands over. */
export default function next() {
  return {
    prepare: () => Promise.resolve(),
    getRequestHandler: () => (req: IncomingMessage, res: ServerResponse) => {
      res.end(req.headers['x-user'] ?? 'no user');
      return Promise.resolve();
    },
  };
}
