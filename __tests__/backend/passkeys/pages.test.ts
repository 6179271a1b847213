import { ada } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { startPasskeyApp } from '../../support/passkeys.ts';
import { variant } from '../../support/variant.ts';
import type { Answer } from '../../support/visitor.ts';

let running: BackendApp | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(setup?: BackendAppSetup): Promise<BackendApp> {
  return (running = await startPasskeyApp(setup));
}

const scriptOf = ({ text }: Answer): string => /<script src="([^"]+)" defer><\/script>/.exec(text)?.[1] ?? '';

/** The directives of a page's policy. */
function policyOf({ headers }: Answer): ReadonlyMap<string, string> {
  const text = String(headers['content-security-policy']);
  return new Map(text.split('; ').map((directive) => directive.split(/ (.*)/, 2) as [string, string]));
}

describe('the sign-in page', () => {
  it('has the button, hidden until the script shows it, and autofill in the email field', async () => {
    const app = await start();
    const page = await app.visitor().get('/auth/login?returnTo=/account');
    expect(page.text).toMatch(
      /<form method="post" action="\/auth\/passkey" data-passkey="get"[^>]* data-autofill hidden>/,
    );
    expect(page.text).toContain('Sign in with a passkey');
    expect(page.text).toMatch(/<input id="email"[^>]* autocomplete="username webauthn"/);
  });

  it('allows exactly that script, to call exactly that path, and nothing else', async () => {
    const app = await start();
    const policy = policyOf(await app.visitor().get('/auth/login'));
    expect(policy.get('default-src')).toBe("'none'");
    expect(policy.get('script-src')).toBe(`${app.origin}${variant.prefix}/auth/pages.js`);
    expect(policy.get('connect-src')).toBe(`${app.origin}${variant.prefix}/auth/passkey`);
    expect(policy.get('style-src')).toBe("'self'");
  });

  it.each([['password'], ['code'], ['password', 'code']] as const)(
    'is what it was without the method: %s',
    async (...signInMethods) => {
      const app = await start({ options: { signInMethods: [...signInMethods] } });
      const page = await app.visitor().get('/auth/login');
      expect(page.text).not.toMatch(/passkey|webauthn/i);
      expect(policyOf(page).has('connect-src')).toBe(false);
    },
  );

  it('with codes alone, and with passkeys alone, has the button beside what there is', async () => {
    const app = await start({ options: { signInMethods: ['code', 'passkey'] } });
    const withCode = await app.visitor().get('/auth/login');
    expect(withCode.text).toMatch(/<input id="email"[^>]* autocomplete="username webauthn"/);
    expect(withCode.text).toContain('<button class="quiet"><svg');
    await app.close();
    const alone = await start({ options: { signInMethods: ['passkey'], providers: ['github'] } });
    const page = await alone.visitor().get('/auth/login');
    expect(page.text).not.toContain('id="email"');
    expect(page.text).toContain('<button><svg');
    // Without a script, the page says why there is no button.
    expect(page.text).toMatch(/<p class="hint" data-fallback>/);
    for (const path of ['/auth/forgot', '/auth/password', '/auth/signup', '/auth/code']) {
      expect((await alone.visitor().get(path)).status).toBe(404);
    }
  });
});

it('the pages that need no script allow none', async () => {
  const app = await start({ options: { signInMethods: ['password', 'code', 'passkey'] } });
  const pages = ['/auth/forgot', '/auth/code', '/auth/confirm?token_hash=x&type=email'];
  for (const path of pages) {
    const page = await app.visitor().get(path);
    expect([path, policyOf(page).has('script-src'), page.text.includes('<script')]).toEqual([path, false, false]);
  }
  const owner = await app.signedIn();
  const list = await owner.get('/auth/passkeys');
  expect(policyOf(list).has('script-src')).toBe(true);
  const { id } = app.supabase.users().find(({ email }) => email === ada.email)!;
  for (const path of ['/auth/login', `/auth/passkeys?remove=${id}x`]) {
    const page = await owner.get(path);
    expect([path, page.text.includes('<script')]).toEqual([path, path.includes('passkeys')]);
  }
});

it('names the script below a mount path and behind a base URL', async () => {
  const app = await start({ options: { appBaseUrl: 'https://shop.example/base' } });
  const page = await app.visitor().get('/auth/login');
  expect(scriptOf(page)).toContain(`/base${variant.prefix}/auth/pages.js?v=`);
  expect(policyOf(page).get('script-src')).toBe(`https://shop.example/base${variant.prefix}/auth/pages.js`);
});
