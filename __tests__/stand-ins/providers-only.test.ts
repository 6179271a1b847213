import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import express from 'express';
import { b2bAuth } from '../../lib/b2b/index.ts';
import { backendAuth } from '../../lib/backend/index.ts';
import { startTourProcess } from '../support/show.ts';
import type { TourProcess } from '../support/show.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';

let providers: TourProcess;
afterEach(() => providers.stop());

const start = (...args: readonly string[]): TourProcess =>
  (providers = startTourProcess({}, ['stand-ins/providers-only.ts', ...args]));

/** What a shell would have in its environment after the printed lines were pasted into it. */
function exported(output: string): Record<string, string> {
  return Object.fromEntries(
    [...output.matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
}

it('prints settings for an application that signs in against the stand-ins', async () => {
  const app = express();
  const server = await serve(app);
  const before = { ...process.env };
  try {
    await start(String(server.port)).printed('# Supabase');
    const variables = exported(providers.output());
    Object.assign(process.env, variables);
    app.use(b2bAuth());
    app.use(backendAuth({ sessionPath: '/auth/me' }));

    const visitor = createVisitor(`http://localhost:${server.port}`);
    const hostedPageUrl = new URL((await visitor.get('/login')).location);
    expect(hostedPageUrl.port).toBe(variables['B2B_API_PORT']);
    expect(hostedPageUrl.searchParams.get('redirect_uri')).toBe(`http://localhost:${server.port}/callback`);
    expect((await fetch(hostedPageUrl)).status).toBe(200);

    const [, email, password] =
      /sign in as (\S+) with (\S+)/.exec(providers.output().split('# Supabase')[1] ?? '') ?? [];
    expect((await visitor.postJson('/auth/login', { email, password })).status).toBe(200);
    expect((await visitor.getJson('/auth/me')).json.user.email).toBe(email);
  } finally {
    process.env = before;
    await server.close();
  }
});

it('has an OAuth provider of each name, and a callback on each path, as applications that move here have them', async () => {
  const app = express();
  const server = await serve(app);
  const before = { ...process.env };
  try {
    await start(String(server.port)).printed('# Supabase');
    Object.assign(process.env, exported(providers.output()));
    const identities: unknown[] = [];
    const onSignIn = (sign: { identities: unknown; session: { user: { userMetadata: unknown } } }): void =>
      void identities.push(sign.identities, sign.session.user.userMetadata);
    app.use(b2bAuth({ pathPrefix: '/api/auth' }));
    app.use(backendAuth({ signInMethods: [], providers: ['google'], pathPrefix: '/account', onSignIn }));

    const visitor = createVisitor(`http://localhost:${server.port}`);
    const hostedPage = await fetch((await visitor.get('/api/auth/login')).location);
    expect(await hostedPage.text()).toContain('ada@example.com');

    const atGoogle = await fetch((await visitor.get('/account/login?provider=google')).location);
    const approved = await fetch(atGoogle.url, {
      method: 'POST',
      body: new URLSearchParams({ decision: 'approve', email: 'grace@example.com' }),
      redirect: 'manual',
    });
    const back = await fetch(approved.headers.get('location')!, { redirect: 'manual' });
    expect((await visitor.get(back.headers.get('location')!)).status).toBe(303);
    expect(identities).toEqual([
      [{ provider: 'google', id: expect.stringMatching(/./), email: 'grace@example.com' }],
      expect.objectContaining({ full_name: 'Grace' }),
    ]);
  } finally {
    process.env = before;
    await server.close();
  }
});

it('writes the settings to .env in the current folder, and reports it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'providers-'));
  try {
    providers = startTourProcess({}, [`${process.cwd()}/bin/cli.ts`, 'providers', '3999', '--env'], folder);
    await providers.printed('# Supabase');
    expect(providers.output()).toContain('# .env is new: it sets B2B_CLIENT_ID, B2B_API_KEY');
    const variables = parseEnv(readFileSync(join(folder, '.env'), 'utf8'));
    expect(variables).toMatchObject({ B2B_CLIENT_ID: 'client_example', B2B_API_HTTPS: 'false' });
    // The key is in the file; a terminal need not show it.
    expect(providers.output()).not.toContain(variables['B2B_API_KEY']);
    expect((await fetch(`${variables['BAAS_URL']}/auth/v1/.well-known/jwks.json`)).status).toBe(200);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('uses the settings in .env again, and writes them anew where another program has a port', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'providers-'));
  const run = async (...args: readonly string[]) => {
    providers = startTourProcess({}, [`${process.cwd()}/bin/cli.ts`, 'providers', '3999', ...args], folder);
    await providers.printed('# Supabase');
    return { ...parseEnv(readFileSync(join(folder, '.env'), 'utf8')) };
  };
  try {
    const variables = await run('--env');
    await providers.stop();
    expect(await run()).toEqual(variables);
    expect(providers.output()).toContain('# The settings in .env are used again.');
    expect(providers.output()).not.toContain('export ');
    await providers.stop();

    const taken = createServer().listen(Number(variables['B2B_API_PORT']), '127.0.0.1');
    const others = await run();
    taken.close();
    expect(others).toEqual({ ...variables, B2B_API_PORT: expect.stringMatching(/^\d+$/) });
    expect(others['B2B_API_PORT']).not.toBe(variables['B2B_API_PORT']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('registers the addresses of routes that the app has moved, and says which they are', async () => {
  const app = express();
  const server = await serve(app);
  const before = { ...process.env };
  try {
    await start(String(server.port), '--path-prefix', '/v1/auth').printed('an admin');
    Object.assign(process.env, exported(providers.output()));
    const origin = `http://localhost:${server.port}`;
    const register = `register ${origin}/v1/auth/callback as a redirect URI, and ${origin}/v1/auth/login as the sign-in endpoint.`;
    expect(providers.output()).toContain(`# WorkOS: ${register}\n`);
    expect(providers.output()).toContain(`# Supabase: add ${origin}/v1/auth/callback to the redirect URLs.\n`);
    const said = providers.output();
    app.use(b2bAuth({ pathPrefix: '/v1/auth' }));
    const visitor = createVisitor(origin);
    expect((await fetch((await visitor.get('/v1/auth/login')).location)).status).toBe(200);
    expect(providers.output()).toBe(said);
    await providers.stop();

    await start(String(server.port), '--callback-path', '/cb').printed('an admin');
    expect(providers.output()).toContain(`register ${origin}/cb as a redirect URI, and ${origin}/login as`);
  } finally {
    process.env = before;
    await server.close();
  }
});

it.each(['callback', '/a/', '//a', '/a?b'])('refuses %s for a path', async (path) => {
  expect(await start('--callback-path', path).ended).toBe(1);
  expect(providers.output()).toMatch(/ is no path such as \/v1\/auth\n[^]*Usage:/);
});

it('prints its usage, also for a misspelled option', async () => {
  expect(await start('--help').ended).toBe(0);
  expect(providers.output()).toMatch(/^Usage: express-auth-adapters providers/);
  expect(await start('--evn').ended).toBe(1);
  expect(providers.output()).toMatch(/^Unknown option '--evn'[^]*Usage:/);
});

it('exits cleanly, and explains an invalid port in one line', async () => {
  await start().printed('# Supabase');
  expect(exported(providers.output())).toMatchObject({ B2B_API_HTTPS: 'false' });
  expect(await providers.stop()).toBe(0);
  expect(await start('http').ended).toBe(1);
  expect(providers.output()).toBe('PORT must be a number from 0 to 65535, not "http".\n');
});
