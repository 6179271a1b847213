import type { RequestListener } from 'node:http';
import { neighborPage } from './pages/neighbor.ts';

/** Another service behind the gateway. It knows no session: it believes the headers, which only the gateway sets. */
export const neighbor: RequestListener = (req, res) => {
  const header = (name: string): string | undefined => {
    const value = req.headers[name];
    // They are percent-encoded, because a header is ASCII.
    return typeof value === 'string' ? decodeURIComponent(value) : undefined;
  };
  const body = neighborPage({
    path: req.url ?? '/',
    user: header('x-auth-request-user'),
    email: header('x-auth-request-email'),
    organization: header('x-auth-request-organization'),
    hasCookies: req.headers.cookie !== undefined,
  });
  res
    .writeHead(200, {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy':
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    })
    .end(body);
};
