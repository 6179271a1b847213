import { execFileSync } from 'node:child_process';

const root = new URL('../', import.meta.url);

/** The packages that a program has loaded when it exits. */
function packagesLoadedBy(program: string): string[] {
  const watched = `
    import { registerHooks } from 'node:module';
    const loaded = new Set();
    registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) });
    ${program}
    console.log(JSON.stringify([...loaded]));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', watched], { cwd: root });
  const urls = JSON.parse(output.toString()) as string[];
  return [...new Set(urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? []))];
}

const options = {
  b2b: { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) },
  backend: { url: 'https://project.supabase.co', anonKey: 'sb_publishable_abcdefghijklmnopqrstuv' },
};

describe.each([
  ['b2b', 'b2bAuth', ['@workos-inc/node', 'iron-session', 'jose']],
  ['backend', 'backendAuth', ['@supabase/ssr', '@supabase/supabase-js', 'rate-limiter-flexible', 'jose']],
] as const)('an application that starts with %s', (entry, factory, later) => {
  it('does not wait for what only a sign-in needs', () => {
    const loaded = packagesLoadedBy(`
      const adapter = await import('./lib/${entry}/index.ts');
      adapter.${factory}(${JSON.stringify(options[entry])});`);
    expect(loaded).toContain('valibot');
    for (const name of later) expect(loaded).not.toContain(name);
  });

  it('makes no hash: the first one of a process loads OpenSSL', () => {
    const program = `
      import crypto from 'node:crypto';
      import { syncBuiltinESMExports } from 'node:module';
      crypto.createHash = () => { throw new Error('a hash') };
      syncBuiltinESMExports();
      const adapter = await import('./lib/${entry}/index.ts');
      adapter.${factory}(${JSON.stringify(options[entry])});`;
    expect(() =>
      execFileSync(process.execPath, ['--input-type=module', '--eval', program], { cwd: root }),
    ).not.toThrow();
  });
});
