export function queryOf(target: string): URLSearchParams {
  const start = target.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : target.slice(start + 1));
}

/**
 * A URL with further query parameters, after its own and before its fragment (RFC 3986 §3).
 *
 * @param url absolute or root-relative
 */
export function withQuery(url: string, parameters: Readonly<Record<string, string>>): string {
  const query = Object.entries(parameters)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');
  if (query === '') return url;
  const [page = '', ...fragment] = url.split(/(?=#)/);
  return `${page}${page.includes('?') ? '&' : '?'}${query}${fragment.join('')}`;
}

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$|\.localhost$/;

/** Whether a URL's host name is that of this machine. */
export const isLoopback = (hostname: string): boolean => loopback.test(hostname);

/** Whether a URL has neither credentials nor a query nor a fragment. */
export function isPlainUrl({ username, password, search, hash }: URL): boolean {
  return username + password + search + hash === '';
}
