/** A `fetch` for the adapter's option of that name: it changes the backend's JSON answers to successful requests for these paths. */
export const changedAnswers =
  (path: RegExp, change: (body: any) => unknown): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    const { pathname } = new URL(new Request(input).url);
    return response.ok && path.test(pathname) ? Response.json(change(await response.json())) : response;
  };

/** Lists in lists, of so many levels. */
export function nested(levels: number): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels));
}
