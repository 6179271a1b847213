import { spawnSync } from 'node:child_process';
import { render } from '../../lib/tools/html.ts';
import { startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { everyPageState } from '../support/built-in-pages.ts';
import { variant } from '../support/variant.ts';

const loaded = /<script src="([^"]+)" defer><\/script>/;

describe('the script of the pages', () => {
  let app: BackendApp;
  beforeAll(async () => {
    app = await startBackendApp();
  });
  afterAll(() => app.close());

  it('is what its source makes', () => {
    const { status, stderr } = spawnSync(process.execPath, ['tools/page-script.ts', '--check'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('is the only one, under 4 KB, cacheable for a year under its hash, and not under another one', async () => {
    const [, url = ''] = loaded.exec((await app.visitor().get('/auth/login')).text) ?? [];
    const script = await app.visitor().get(url);
    expect(script.status).toBe(200);
    expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(script.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(script.headers['x-content-type-options']).toBe('nosniff');
    expect(script.setCookies).toEqual([]);
    expect(Buffer.byteLength(script.text)).toBeLessThan(4 * 1024);
    expect(url).toMatch(/\/auth\/pages\.js\?v=[\w-]{16}$/);
    for (const other of [url.replace(/v=.*/, 'v=x'), url.replace(/\?.*/, '')]) {
      expect((await app.visitor().get(other)).headers['cache-control']).toBe('private, no-store');
    }
  });

  it('may call nothing on a page that asks for a password alone', async () => {
    for (const path of ['/auth/login', '/auth/signup']) {
      const { text, headers } = await app.visitor().get(path);
      const policy = String(headers['content-security-policy']);
      expect([path, loaded.test(text)]).toEqual([path, true]);
      expect(policy).toMatch(/^default-src 'none'; script-src [^ ;]+; style-src 'self';/);
      expect(policy).toContain(`script-src ${app.origin}${variant.prefix}/auth/pages.js; `);
    }
    const { text, headers } = await (await app.signedIn()).get('/auth/password');
    expect([loaded.test(text), String(headers['content-security-policy']).includes('connect-src')]).toEqual([
      true,
      false,
    ]);
  });

  it('is on a page exactly where it asks for a passkey, a security key or a password, in every state', () => {
    const states = Object.entries(everyPageState());
    const withScript = states.flatMap(([name, { body }]) => {
      if (body?.kind !== 'page') throw new Error(`${name} is no page`);
      const [text, policy] = [render(body.markup), body.policy];
      const hasCeremony = text.includes('data-passkey=');
      const isNeeded = hasCeremony || text.includes('type="password"');
      const scripts = text.match(new RegExp(loaded, 'g')) ?? [];
      const count = Number(isNeeded);
      expect([name, scripts.length, text.split('<script').length - 1]).toEqual([name, count, count]);
      const directives = [policy.includes('script-src '), policy.includes('connect-src ')];
      expect([name, ...directives]).toEqual([name, isNeeded, hasCeremony]);
      expect([name, policy]).not.toEqual([name, expect.stringMatching(/unsafe|data:|\*/)]);
      return isNeeded ? [name] : [];
    });
    expect(withScript.length).toBeGreaterThan(4);
    expect(withScript.length).toBeLessThan(states.length / 2);
  });
});

it('every password field has a button that shows it, hidden until the script shows the button', () => {
  const states = Object.entries(everyPageState());
  const fields = states.flatMap(([name, { body }]) => {
    const text = body?.kind === 'page' ? render(body.markup) : '';
    return [...text.matchAll(/<input id="(\w+)"[^>]* type="password"[^>]*>\n(.*)/g)].map(([, id, next]) => ({
      name,
      id,
      next,
    }));
  });
  expect(fields.map(({ id }) => id)).toContain('password');
  for (const { name, id, next } of fields) {
    const opening = `<button type="button" class="reveal" aria-pressed="false" aria-controls="${id}" hidden>`;
    expect([name, next]).toEqual([name, expect.stringContaining(opening)]);
    expect(next).toMatch(/<span>Show password<\/span><\/button>$/);
  }
});
