import { setSession } from './backend-app.ts';
import type { BackendApp } from './backend-app.ts';
import { createPageBrowser } from './page-browser.ts';
import type { PageBrowser } from './page-browser.ts';

export const guestAccount = { email: 'gus@example.com', password: 'long enough' } as const;

/** A browser with the anonymous session of a project that has those on. */
export async function openAsGuest({ origin, supabase }: BackendApp): Promise<PageBrowser> {
  const answer = await fetch(`${supabase.url}/auth/v1/signup`, {
    method: 'POST',
    headers: { apikey: supabase.publishableKey, 'content-type': 'application/json' },
    body: '{}',
  });
  const browser = createPageBrowser(origin);
  setSession(browser.jar, await answer.json());
  return browser;
}

/** Signs up where the guest was led to, opens the email's link where one was sent, and returns the user's id before and after. */
export async function signUpAsGuest(app: BackendApp, browser: PageBrowser): Promise<readonly string[]> {
  const idOf = async (): Promise<string> => (await browser.jar.getJson('/auth/session')).json.user.id;
  const before = await idOf();
  await browser.submit(guestAccount);
  const mail = app.supabase.mails.at(-1);
  if (mail !== undefined) {
    await browser.open(`/auth/confirm?token_hash=${mail.tokenHash}&type=email_change`);
    await browser.submit({ token_hash: mail.tokenHash });
  }
  return [before, await idOf()];
}
