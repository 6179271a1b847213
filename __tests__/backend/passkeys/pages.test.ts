import { spawnSync } from 'node:child_process';
import { ada } from '../../support/backend-app.ts';
import { everyPageState } from '../../support/built-in-pages.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { startPasskeyApp } from '../../support/passkeys.ts';
import { render } from '../../../lib/tools/html.ts';
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

describe('the script', () => {
  it('is what its source makes', () => {
    const { status, stderr } = spawnSync(process.execPath, ['tools/passkey-script.ts', '--check'], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('is under 3 KB, cacheable for a year under its hash, and not under another one', async () => {
    const app = await start();
    const url = scriptOf(await app.visitor().get('/auth/login'));
    const script = await app.visitor().get(url);
    expect(script.status).toBe(200);
    expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(script.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(script.headers['x-content-type-options']).toBe('nosniff');
    expect(script.setCookies).toEqual([]);
    expect(Buffer.byteLength(script.text)).toBeLessThan(3 * 1024);
    expect(url).toMatch(/\?v=[\w-]{16}$/);
    for (const other of [url.replace(/v=.*/, 'v=x'), url.replace(/\?.*/, '')]) {
      expect((await app.visitor().get(other)).headers['cache-control']).toBe('private, no-store');
    }
  });
});

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
    expect(policy.get('script-src')).toBe(`${app.origin}${variant.prefix}/auth/passkey.js`);
    expect(policy.get('connect-src')).toBe(`${app.origin}${variant.prefix}/auth/passkey`);
    expect(policy.get('style-src')).toBe("'self'");
  });

  it.each([['password'], ['code'], ['password', 'code']] as const)(
    'is what it was without the method: %s',
    async (...signInMethods) => {
      const app = await start({ options: { signInMethods: [...signInMethods] } });
      const page = await app.visitor().get('/auth/login');
      expect(page.text).not.toMatch(/<script|passkey|webauthn/i);
      expect([policyOf(page).has('script-src'), policyOf(page).has('connect-src')]).toEqual([false, false]);
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
  const pages = ['/auth/signup', '/auth/forgot', '/auth/code', '/auth/confirm?token_hash=x&type=email'];
  for (const path of pages) {
    const page = await app.visitor().get(path);
    expect([path, policyOf(page).has('script-src'), page.text.includes('<script')]).toEqual([path, false, false]);
  }
  const owner = await app.signedIn();
  const list = await owner.get('/auth/passkeys');
  expect(policyOf(list).has('script-src')).toBe(true);
  const { id } = app.supabase.users().find(({ email }) => email === ada.email)!;
  for (const path of ['/auth/password', '/auth/login', `/auth/passkeys?remove=${id}x`]) {
    const page = await owner.get(path);
    expect([path, page.text.includes('<script')]).toEqual([path, path.includes('passkeys')]);
  }
});

it('a page has the script exactly where it has a form for a passkey or a second factor, in every state that a visitor can meet', () => {
  const states = Object.entries(everyPageState());
  const withScript = states.flatMap(([name, { body }]) => {
    if (body?.kind !== 'page') throw new Error(`${name} is no page`);
    const [text, policy] = [render(body.markup), body.policy];
    const hasForm = text.includes('data-passkey=');
    const scripts = text.match(/<script src="[^"]*\/auth\/passkey\.js\?v=[\w-]{16}" defer><\/script>/g) ?? [];
    expect([name, scripts.length, text.split('<script').length - 1]).toEqual([name, Number(hasForm), Number(hasForm)]);
    expect([name, policy.includes('script-src '), policy.includes('connect-src ')]).toEqual([name, hasForm, hasForm]);
    expect([name, policy]).not.toEqual([name, expect.stringMatching(/unsafe|data:|\*/)]);
    return hasForm ? [name] : [];
  });
  expect(withScript.length).toBeGreaterThan(4);
  expect(withScript.length).toBeLessThan(states.length / 2);
});

it('names the script below a mount path and behind a base URL', async () => {
  const app = await start({ options: { appBaseUrl: 'https://shop.example/base' } });
  const page = await app.visitor().get('/auth/login');
  expect(scriptOf(page)).toContain(`/base${variant.prefix}/auth/passkey.js?v=`);
  expect(policyOf(page).get('script-src')).toBe(`https://shop.example/base${variant.prefix}/auth/passkey.js`);
});
