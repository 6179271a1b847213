/**
 * Simulates a browser between an authorize URL and the application's callback: it follows the
 * redirects, and presses a button on the consent page. Resolves to the next URL.
 */
export async function walkConsent(
  authorizeUrl: string,
  decision: { readonly approve: boolean; readonly user?: string | undefined },
): Promise<URL> {
  // /sso responds with the identity provider's own page.
  const consentUrl = authorizeUrl.includes('/provider/') ? authorizeUrl : await follow(authorizeUrl);
  const body = new URLSearchParams({
    decision: decision.approve ? 'approve' : 'deny',
    ...(decision.user === undefined ? {} : { email: decision.user }),
  });
  return new URL(await follow(await follow(consentUrl, { method: 'POST', body })));
}

/** The redirect target of `url`. */
export async function follow(url: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(url, { ...init, redirect: 'manual' });
  const location = response.headers.get('location');
  if (location === null) throw new Error(`No redirect but ${response.status}: ${await response.text()}`);
  return new URL(location, url).href;
}
