import { jest } from '@jest/globals';
import { serve } from '../support/servers.ts';
import { startTourProcess } from '../support/show.ts';
import type { TourProcess } from '../support/show.ts';
import { createVisitor } from '../support/visitor.ts';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import { visitor as hostedPage } from '../../stand-ins/workos/visitor.ts';

// Each start is a process of its own, which is slow on a busy machine.
jest.setTimeout(30_000);

/** Real ids and keys in shape only. */
const clientId = 'client_01ABC';
const apiKey = ['sk', 'test', 'abc'].join('_');

describe('the tour, as a new user runs it', () => {
  let example: TourProcess;
  let origin: string;

  beforeAll(async () => {
    example = startTourProcess({ PORT: '0' });
    await example.printed('Ctrl+C');
    origin = /http:\/\/localhost:\d+/.exec(example.output())![0];
  });
  afterAll(async () => {
    await example.stop();
  });

  it('prints the URL, that stand-ins run, and who can sign in', () => {
    const text = example.output();
    expect(text).toMatch(/Open +http:\/\/localhost:\d+\n/);
    expect(text).toMatch(/stand-in for WorkOS runs on http:\/\/127\.0\.0\.1:\d+: no account, no key/);
    expect(text).toContain(demoUsers.personal.email);
  });

  it('prints nothing else: no warning, no secret', () => {
    expect(example.output()).not.toMatch(/warning|deprecat|sk_test|password:/i);
  });

  it('offers both B2B sign-in options on the landing page', async () => {
    const home = await createVisitor(origin).get('/');
    expect(home.status).toBe(200);
    expect(home.text).toContain('href="/login?returnTo=/dashboard"');
    expect(home.text).toContain('href="/signup?returnTo=/dashboard"');
  });

  it('answers on every address of localhost', async () => {
    const home = await createVisitor(origin.replace('localhost', '127.0.0.1')).get('/');
    expect(home.status).toBe(200);
  });

  it('signs in over HTTP, shows user, session and organization, and signs out', async () => {
    const browser = createVisitor(origin);
    const guarded = await browser.get('/dashboard?tab=2');
    expect(guarded.status).toBe(307);
    const start = await browser.get(guarded.location);
    const { twoOrganizations: katherine } = demoUsers;
    const organizationId = katherine.organizations[1].id;
    const callback = await hostedPage.authorize(start.location, { user: katherine, organizationId });
    const done = await browser.get(callback.href);
    expect(done.location).toBe(`${origin}/dashboard?tab=2`);

    const dashboard = await browser.get(done.location);
    expect(dashboard.status).toBe(200);
    expect(dashboard.headers['cache-control']).toContain('no-store');
    const session = (await browser.getJson('/auth/session')).json;
    expect(session).toMatchObject({ authenticated: true, organizationId, user: { email: katherine.email } });
    for (const shown of [session.sessionId, organizationId, katherine.id, katherine.email]) {
      expect(dashboard.text).toContain(shown);
    }

    const signedOut = await browser.post('/logout', { headers: { 'sec-fetch-site': 'same-origin' } });
    expect(signedOut.status).toBe(303);
    expect(browser.cookies.size).toBe(0);
    expect((await fetch(signedOut.location, { redirect: 'manual' })).headers.get('location')).toBe(`${origin}/`);
    expect((await browser.get('/dashboard')).status).toBe(307);
  });

  it('signs in to the local Supabase with the credentials that it prints, beside the B2B session', async () => {
    const browser = createVisitor(origin);
    const [, email, password] = /Sign in as (\S+@\S+) with (\S+),/.exec(example.output())!;
    const form = new URLSearchParams({ email: email!, password: password!, returnTo: '/account?x=1' }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };
    expect((await browser.get('/account?x=1')).location).toContain('/auth/login?returnTo=');
    const offer = (await browser.post('/auth/login', { headers, body: form })).location;
    expect(offer).toBe(`${origin}/auth/passkeys?offer=yes&returnTo=%2Faccount%3Fx%3D1`);
    expect((await browser.get(offer)).text).toContain('<a class="button quiet" href="/account?x=1">Not now</a>');
    const account = await browser.get('/account?x=1');
    expect(account.text).toContain('read with your own access token');
    expect((await browser.getJson('/auth/me')).json).toMatchObject({ authenticated: true, user: { email } });
    expect((await browser.getJson('/auth/session')).status).toBe(401);
  });

  it('lets a demo app ask for the account, and lists and disconnects it', async () => {
    const browser = createVisitor(origin);
    const [, email, password] = /Sign in as (\S+@\S+) with (\S+),/.exec(example.output()) ?? [];
    expect((await browser.postJson('/auth/login', { email, password })).status).toBe(200);
    const account = await browser.get('/account');
    const demoApp = /href="(http:[^"]+\/demo-app)"/.exec(account.text)?.[1] ?? '';
    const authorize = await browser.get((await browser.get(demoApp)).location);
    const page = await browser.get(new URL(authorize.location).pathname + new URL(authorize.location).search);
    expect(page.text).toContain('Connect “<bdi>Demo app</bdi>”?');
    const id = new URL(authorize.location).searchParams.get('authorization_id');
    const { json } = await browser.postJson('/oauth/consent', { authorization_id: id, action: 'allow' });
    expect((await browser.get(json.redirectTo)).text).toContain('<h1>Connected</h1>');
    const { apps } = (await browser.getJson('/oauth/apps')).json;
    expect(apps).toMatchObject([{ client: { name: 'Demo app' }, scopes: ['openid', 'email'] }]);
    await browser.postJson('/oauth/apps', { revoke: apps[0].client.id });
    expect((await browser.getJson('/oauth/apps')).json).toEqual({ apps: [] });
  });

  it('limits in its policy the targets of a sign-out form, and allows nothing else from other origins', async () => {
    const policy = (await createVisitor(origin).get('/')).headers['content-security-policy'];
    expect(policy).toMatch(/form-action 'self' http:\/\/127\.0\.0\.1:\d+;/);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
  });

  it('keeps codes, states and cookie values out of its event log', async () => {
    const browser = createVisitor(origin);
    const start = await browser.get('/login');
    const callback = await hostedPage.authorize(start.location, { user: demoUsers.personal });
    await browser.get(callback.href);
    const log = (await createVisitor(origin).get('/events')).text;
    expect(log).toContain('GET /callback?code&#38;state');
    expect(log).toContain('signed_in');
    const { searchParams } = callback;
    for (const secret of [searchParams.get('code')!, searchParams.get('state')!, browser.cookies.get('b2b-session')!]) {
      expect(log).not.toContain(secret);
    }
  });

  it('answers 401 to a script and 403 to a session without an organization', async () => {
    const browser = createVisitor(origin);
    expect((await browser.getJson('/api/me')).status).toBe(401);
    const start = await browser.get('/login');
    await browser.get((await hostedPage.authorize(start.location, { user: demoUsers.personal })).href);
    expect((await browser.getJson('/api/me')).json.user.email).toBe(demoUsers.personal.email);
    expect((await browser.get('/team')).status).toBe(403);
  });

  it('escapes what a visitor sends', async () => {
    const page = await createVisitor(origin).get('/cookies', { headers: { cookie: 'b2b-session-flow-0=1; x<b>=1' } });
    expect(page.text).toContain('b2b-session-flow-0');
    expect(page.text).not.toContain('x<b>');
  });

  it('exits cleanly on a signal', async () => {
    const other = startTourProcess({ PORT: '0' });
    await other.printed('Ctrl+C');
    expect(await other.stop()).toBe(0);
  });
});

describe('the tour with invalid settings', () => {
  const failing = async (environment: Record<string, string>): Promise<string> => {
    const example = startTourProcess(environment);
    expect(await example.ended).toBe(1);
    return example.output();
  };

  it('reports in one line that the port is taken', async () => {
    const other = await serve((_req, res) => res.end());
    try {
      const text = await failing({ PORT: String(other.port) });
      expect(text.trimEnd().split('\n')).toEqual([expect.stringContaining(`Port ${other.port} is taken.`)]);
    } finally {
      await other.close();
    }
  });

  it('reports which half of a pair is missing', async () => {
    expect(await failing({ B2B_CLIENT_ID: clientId })).toMatch(/^B2B_CLIENT_ID is set but B2B_API_KEY is missing\./);
    expect(await failing({ B2B_API_KEY: apiKey, B2B_CLIENT_ID: '' })).toMatch(/B2B_CLIENT_ID is missing/);
    expect(await failing({ BAAS_URL: 'https://x.supabase.co' })).toMatch(/BAAS_PUBLISHABLE_KEY is missing/);
  });

  it('never prints a key', async () => {
    expect(await failing({ B2B_API_KEY: apiKey })).not.toContain(apiKey);
  });

  it('refuses to run in production, where stand-ins do not start', async () => {
    expect(await failing({ NODE_ENV: 'production' })).toMatch(/stand-ins do not run/);
  });

  it('refuses a secret key of a Supabase project without printing it', async () => {
    const secret = ['sb', 'secret', 'abcdefghijklmnopqrstuvwxyz'].join('_');
    const text = await failing({ PORT: '0', BAAS_URL: 'https://x.supabase.co', BAAS_PUBLISHABLE_KEY: secret });
    expect(text).toMatch(/secret key/i);
    expect(text).not.toContain(secret);
  });

  it('explains an invalid port or option, without a stack', async () => {
    expect(await failing({ PORT: 'http' })).toMatch(/^PORT must be a number from 0 to 65535, not "http"\./);
    const text = await failing({
      PORT: '0',
      B2B_CLIENT_ID: clientId,
      B2B_API_KEY: apiKey,
      B2B_COOKIE_PASSWORD: 'too short',
    });
    expect(text).toMatch(/cookiePassword .*B2B_COOKIE_PASSWORD.* at least 32 characters/);
    expect(text).not.toContain('    at ');
  });
});

it('runs against the real WorkOS with an id and a key, and prints what to register', async () => {
  const example = startTourProcess({
    PORT: '0',
    B2B_CLIENT_ID: clientId,
    B2B_API_KEY: apiKey,
    B2B_COOKIE_PASSWORD: 'p'.repeat(32),
  });
  try {
    await example.printed('Ctrl+C');
    const origin = /http:\/\/localhost:\d+/.exec(example.output())![0];
    expect(example.output()).toContain(`redirect URI       ${origin}/callback`);
    expect(example.output()).not.toContain('stand-in for WorkOS');
    const start = await createVisitor(origin).get('/login');
    expect(new URL(start.location)).toMatchObject({ host: 'api.workos.com', pathname: '/user_management/authorize' });
    expect(new URL(start.location).searchParams.get('redirect_uri')).toBe(`${origin}/callback`);
    const policy = (await createVisitor(origin).get('/')).headers['content-security-policy'];
    expect(policy).toContain("form-action 'self' https://api.workos.com");
  } finally {
    await example.stop();
  }
});

it('runs against a real Supabase project with a URL and a key', async () => {
  const example = startTourProcess({
    PORT: '0',
    BAAS_URL: 'https://x.supabase.co',
    BAAS_PUBLISHABLE_KEY: ['sb', 'publishable', 'abcdefghijklmnopqrstuv'].join('_'),
  });
  try {
    await example.printed('Ctrl+C');
    const origin = /http:\/\/localhost:\d+/.exec(example.output())![0];
    expect(example.output()).toContain(`redirect URL       ${origin}/auth/callback`);
    expect(example.output()).not.toContain('local Supabase');
    const visitor = createVisitor(origin);
    const start = await visitor.get('/auth/login?provider=github');
    expect(new URL(start.location)).toMatchObject({ host: 'x.supabase.co', pathname: '/auth/v1/authorize' });
    expect((await visitor.get('/outbox')).text).toContain('real Supabase project');
  } finally {
    await example.stop();
  }
});
