export interface Choice {
  /** A user, or a user's id. */
  readonly user: { readonly id: string } | string;
  /** Picks the organization on the hosted page, even where the page would not ask. */
  readonly organizationId?: string;
}

/**
 * A browser at the hosted pages, reduced to its requests. Each function takes the sign-in URL,
 * follows the real HTTP flow, and resolves to the callback URL of the final redirect.
 *
 * @throws Error with the page's text where the response is not a redirect
 */
export const visitor = {
  authorize(url: string | URL, { user, organizationId }: Choice): Promise<URL> {
    const form = { user_id: typeof user === 'string' ? user : user.id };
    return submit(url, { ...form, ...(organizationId !== undefined && { organization_id: organizationId }) });
  },
  signUp(url: string | URL, { name, email }: { name: string; email: string }): Promise<URL> {
    return submit(url, { decision: 'sign-up', name, email });
  },
  cancel(url: string | URL): Promise<URL> {
    return submit(url, { decision: 'cancel' });
  },
};

async function submit(url: string | URL, form: Record<string, string>): Promise<URL> {
  const shown = await fetch(url, { redirect: 'manual' });
  const early = shown.headers.get('location');
  const text = await shown.text();
  if (early !== null) return new URL(early);
  if (!shown.ok) throw new Error(`The hosted page answered ${shown.status}: ${text}`);
  const decided = await fetch(url, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' });
  const location = decided.headers.get('location');
  if (location === null) throw new Error(`The hosted page stayed, with ${decided.status}: ${await decided.text()}`);
  return new URL(location);
}
