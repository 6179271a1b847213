import { inspect } from 'node:util';
import { jest } from '@jest/globals';
import createDebug from 'debug';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import type { AuthError } from '../../lib/errors.ts';
import { demoUsers } from '../support/b2b-app.ts';
import { withoutOwnScript } from '../support/passkeys.ts';
import { ada, postForm } from '../support/backend-app.ts';
import type { BackendAppSetup } from '../support/backend-app.ts';
import { startBothApp } from '../support/both-app.ts';
import type { BothApp } from '../support/both-app.ts';
import { privateCookie } from '../support/variant.ts';
import type { Answer, Ask, Visitor } from '../support/visitor.ts';

/** Unusual enough to show where it would be escaped. */
const typedPassword = 'p<4>ss & "w0rd\' Geheimnis';

/** Longer than bcrypt reads. */
const tooLong = `${typedPassword} `.repeat(4);

/** The secrets, by kind. */
const secrets = new Map<string, string>();
/** Every answer to a visitor. */
const answers: { readonly ask: string; readonly answer: Answer }[] = [];
/** Console, stdout, stderr, debug output, warnings. */
const printed: string[] = [];
/** The arguments of `onError` and Express' error handlers, as a log would show them. */
const errors: { readonly message: string; readonly shown: string }[] = [];
/** Whether the provider repeats in every answer what it was sent. */
let isEchoing = false;

const secretFields =
  /^(?:access_token|refresh_token|provider_token|code|auth_code|code_verifier|pending_authentication_token|client_secret|password|token_hash|api_?key|ceremony_token)$/i;

/** Of what a provider answers, `code` is the name of an error. */
const answeredFields = /token|secret/i;

function learn(value: unknown, fields = secretFields, path = ''): void {
  if (typeof value === 'string') {
    if (fields.test(path) && value.length >= 8) secrets.set(value, path);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) learn(inner, fields, name);
}

function learnText(text: string, fields = secretFields): void {
  try {
    learn(JSON.parse(text), fields);
  } catch {
    learn(Object.fromEntries(new URLSearchParams(text)), fields);
  }
}

/** Between the adapters and their providers: records what passes. */
const watchedFetch: typeof fetch = async (input, init) => {
  const body = init?.body;
  const sent = typeof body === 'string' ? body : body instanceof URLSearchParams ? body.toString() : '';
  learnText(sent);
  const headers = new Headers(init?.headers);
  for (const name of ['authorization', 'apikey']) {
    const value = headers.get(name)?.replace(/^Bearer /, '');
    if (value !== undefined && value.length >= 8) secrets.set(value, name);
  }
  const url = typeof input === 'string' ? input : input instanceof URL ? input.href : input.url;
  if (isEchoing) {
    const echo = `${url} ${sent} ${JSON.stringify([...headers])}`;
    const answer = { error: echo, error_description: echo, message: echo, msg: echo, error_code: echo, code: 'other' };
    return Response.json(answer, { status: 400 });
  }
  const response = await fetch(input, init);
  learnText(
    await response
      .clone()
      .text()
      .catch(() => ''),
    answeredFields,
  );
  return response;
};

let app: BothApp;

function record(visitor: Visitor): Visitor {
  const ask = async (url: string, options: Ask = {}): Promise<Answer> => {
    learn(Object.fromEntries(new URL(url, app.origin).searchParams));
    const answer = await visitor.ask(url, options);
    if (new URL(url, app.origin).origin === app.origin)
      answers.push({ ask: `${options.method ?? 'GET'} ${url}`, answer });
    return answer;
  };
  return {
    ...visitor,
    ask,
    get: (url, options) => ask(url, { ...options, method: 'GET' }),
    post: (url, options) => ask(url, { ...options, method: 'POST' }),
    getJson: (url) => ask(url, { headers: { accept: 'application/json' } }),
    postJson: (url, body = {}) =>
      ask(url, {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
}
const newVisitor = (): Visitor => record(app.visitor());

/** Every flow of both adapters that is worth a log line, mostly the failing ones. */
async function everything(): Promise<void> {
  await b2bWays();
  await backendWays();
}

async function b2bSignIn(visitor: Visitor, user = demoUsers.personal as { readonly id: string }): Promise<Answer> {
  const start = await visitor.get('/login?returnTo=/dashboard');
  const callback = await app.workos.authorize(start.location, { user });
  return visitor.get(callback.href);
}

async function b2bWays(): Promise<void> {
  const visitor = newVisitor();
  await visitor.getJson('/login');
  await visitor.get('/dashboard/x?token=1');
  await b2bSignIn(visitor);
  for (const path of ['/dashboard', '/b2b/session', '/guard/b2b']) await visitor.get(path);
  for (const outage of ['html502', 'refuse', { status: 429 }, { status: 401 }, { status: 500 }] as const) {
    app.clock.advance(6 * 60_000);
    app.workos.switches.outage = { token: outage };
    await visitor.get('/guard/b2b');
    await visitor.get('/dashboard');
    await visitor.getJson('/b2b/session');
    await b2bSignIn(newVisitor());
    app.workos.switches.outage = {};
    app.clock.advance(31_000);
    await visitor.get('/guard/b2b');
  }
  app.workos.switches.outage = { jwks: 'html502' };
  await b2bSignIn(newVisitor());
  app.workos.switches.outage = {};
  const refusals = ['email_verification_required', 'mfa_enrollment', 'mfa_challenge', 'sso_required'] as const;
  for (const refusal of refusals) {
    app.workos.switches.authenticateError = refusal;
    await b2bSignIn(newVisitor());
  }
  app.workos.switches.authenticateError = null;
  const chooser = newVisitor();
  const offered = await b2bSignIn(chooser, demoUsers.twoOrganizations);
  const [, link = ''] = /href="([^"]*organization_id[^"]*)"/.exec(offered.text) ?? [];
  if (link !== '') await chooser.get(link.replaceAll('&amp;', '&'));
  for (const query of [
    'code=stolen-code&state=made-up-state',
    'code=stolen-code',
    'error=access_denied&error_description=secret-words',
    'state=x',
  ]) {
    await newVisitor().get(`/callback?${query}`);
  }
  await visitor.post('/logout');
  await visitor.getJson('/b2b/session');
  await newVisitor().get('/b2b/session', { headers: { cookie: 'b2b-session=Fe26.2*1*rubbish' } });
}

async function backendSignIn(visitor: Visitor): Promise<Answer> {
  const start = await visitor.get('/auth/login?provider=github&returnTo=/account');
  return visitor.get(String(await app.supabase.authorize(start.location, { approve: true, user: ada.email })));
}

const enrolled = { email: 'grace@example.com', password: ada.password };

/** Through the second factor, a new password and a code by email, with and without errors; `fault` breaks one step of each. */
async function accountWays(fault?: Parameters<typeof app.supabase.fail>[1]): Promise<void> {
  const during = async (
    endpoint: 'challenge' | 'enroll' | 'update-user' | 'verify' | 'user',
    work: () => Promise<unknown>,
  ) => {
    if (fault !== undefined) app.supabase.fail(endpoint, fault);
    await work();
    app.supabase.heal();
  };
  const visitor = newVisitor();
  await visitor.postJson('/auth/login', enrolled);
  await during('user', () => visitor.get('/auth/verify'));
  const [factor] = app.supabase.factorsOf(enrolled.email);
  await postForm(visitor, '/auth/verify', { code: '000000' });
  await during('challenge', () => postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(factor!) }));
  await postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(factor!) });
  await during('enroll', () => visitor.postJson('/auth/enroll', {}));
  const { text } = await postForm(visitor, '/auth/enroll', {});
  const [, factorId = '', uri = ''] = /"factorId" value="([^"]+)"[^]*?"uri" value="([^"]+)"/.exec(text) ?? [];
  await postForm(visitor, '/auth/enroll', { factorId, uri: uri.replaceAll('&amp;', '&'), code: '000000' });
  await visitor.getJson('/auth/enroll');

  const other = newVisitor();
  await other.postJson('/auth/forgot', { email: ada.email });
  const tokenHash = app.supabase.mails.at(-1)?.tokenHash ?? 'made-up-hash';
  learn({ token_hash: tokenHash });
  await during('verify', () => postForm(other, '/auth/confirm', { token_hash: tokenHash, type: 'recovery' }));
  await postForm(other, '/auth/confirm', { token_hash: tokenHash, type: 'recovery' });
  await other.get('/auth/password');
  await postForm(other, '/auth/password', { password: tooLong });
  await during('update-user', () => postForm(other, '/auth/password', { password: ada.password }));
  await postForm(visitor, '/auth/password', { currentPassword: typedPassword, password: typedPassword });

  const third = newVisitor();
  await postForm(third, '/auth/code', { email: ada.email });
  await postForm(third, '/auth/code', { email: ada.email, code: '000000' });
  const code = app.supabase.mails.at(-1)?.token ?? '000000';
  await during('verify', () => postForm(third, '/auth/code', { email: ada.email, code }));
  await third.postJson('/auth/code', { email: ada.email, code });
  for (const fault of [undefined, 503, 500] as const) {
    if (fault !== undefined) app.supabase.fail('passkey-verify', fault);
    const { json } = await third.postJson('/auth/passkey', {});
    learn({ ceremony_token: [...third.cookies].find(([name]) => name.endsWith('-ceremony'))?.[1] ?? '' });
    const fields = { challengeId: json.challengeId, credential: '{"id":"made-up","response":{}}' };
    await third.postJson('/auth/passkey', fields);
    await postForm(third, '/auth/passkey', fields);
    app.supabase.heal();
  }
  for (const email of ['ada@elsewhere.example', 'octavia@example.com']) await postForm(third, '/auth/sso', { email });
}

async function backendWays(): Promise<void> {
  const visitor = newVisitor();
  const wrong = { email: ada.email, password: typedPassword };
  const sendsMail = ['/auth/signup', '/auth/resend', '/auth/forgot', '/auth/code'];
  const forms = [
    '/auth/login',
    ...sendsMail,
    '/auth/password',
    '/auth/sso',
    '/auth/verify',
    '/auth/enroll',
    '/auth/passkey',
    '/auth/passkeys',
    '/auth/account',
  ];
  for (const path of [...forms, '/auth/logout', '/account/x', '/auth/confirm?token_hash=made-up-hash&type=email']) {
    await visitor.get(path);
  }
  for (const password of [tooLong, 'short']) {
    await newVisitor().postJson('/auth/signup', { email: 'weak@example.com', password });
    await postForm(newVisitor(), '/auth/signup', { email: 'weak@example.com', password });
  }
  await visitor.postJson('/auth/login', ada);
  for (const path of ['/account', '/auth/session', '/guard/backend', '/notes']) await visitor.get(path);
  for (const fault of [undefined, 'html502', 'refuse', 401, 429, 500] as const) {
    if (fault !== undefined) app.supabase.fail('all', fault);
    for (const path of forms) {
      await postForm(newVisitor(), path, wrong);
      await newVisitor().postJson(path, wrong);
    }
    await newVisitor().postJson('/auth/confirm', { token_hash: 'made-up-hash', type: 'email' });
    app.clock.advance(61 * 60_000);
    for (const path of ['/guard/backend', '/account', '/auth/session', '/notes']) await visitor.get(path);
    app.supabase.heal();
    app.clock.advance(31_000);
    await visitor.get('/guard/backend');
    const other = newVisitor();
    const start = await other.get('/auth/login?provider=github');
    const callback = String(await app.supabase.authorize(start.location, { approve: true, user: ada.email }));
    if (fault !== undefined) app.supabase.fail('pkce', fault);
    await other.get(callback);
    app.supabase.heal();
    await other.get(callback);
  }
  for (const fault of [undefined, 'html502', 'refuse', 429, 500] as const) await accountWays(fault);
  await backendSignIn(newVisitor());
  app.supabase.switches.autoconfirm = false;
  await newVisitor().postJson('/auth/signup', { email: `new${app.clock.now()}@example.com`, password: typedPassword });
  for (const mail of app.supabase.mails.slice(-1)) {
    learn({ token_hash: mail.tokenHash });
    await newVisitor().get(`/auth/confirm?token_hash=${mail.tokenHash}&type=email`);
    await postForm(newVisitor(), '/auth/confirm', { token_hash: mail.tokenHash, type: 'email' });
    await postForm(newVisitor(), '/auth/confirm', { token_hash: mail.tokenHash, type: 'email' });
  }
  app.supabase.switches.autoconfirm = true;
  for (const query of [
    'code=stolen-code',
    'error=access_denied&error_description=secret-words',
    'error_code=otp_expired',
  ]) {
    await newVisitor().get(`/auth/callback?${query}`);
  }
  await visitor.post('/auth/logout');
  await visitor.get('/auth/session');
}

/** Both adapters with everything switched on, and a user who has a second factor. */
async function startWatched(
  watched: B2bAuthOptions & BackendAuthOptions,
  after?: BackendAppSetup['after'],
): Promise<BothApp> {
  const started = await startBothApp({
    b2b: watched,
    options: {
      ...watched,
      throttle: false,
      providers: ['github'],
      signInMethods: ['password', 'code', 'passkey'],
      sso: true,
    },
    standIn: { passkeys: true, mailFrequency: 0, ssoDomains: new Set(['example.com']) },
    ...(after && { after }),
  });
  started.supabase.addUser(enrolled);
  started.supabase.addFactor(enrolled.email);
  return started;
}

/** How a secret may appear wherever code might have put it. */
function guisesOf(secret: string): string[] {
  const escaped = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const base64 = Buffer.from(secret).toString('base64').replaceAll('=', '');
  return [
    secret,
    escaped,
    escaped.replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
    encodeURIComponent(secret),
    new URLSearchParams({ x: secret }).toString().slice(2),
    JSON.stringify(secret).slice(1, -1),
    base64,
    Buffer.from(secret).toString('base64url'),
    Buffer.from(secret).toString('hex'),
  ];
}

function leaksIn(text: string): string[] {
  return [...secrets]
    .filter(([secret]) => guisesOf(secret).some((guise) => text.includes(guise)))
    .map(([, kind]) => kind);
}

/** Supabase's own cookies hold tokens and verifiers; that is their format, and why they are HttpOnly. */
const isSupabaseCookie = (line: string): boolean => line.replace(/^__Host-/, '').startsWith(app.cookieName);

beforeAll(async () => {
  jest.spyOn(process.stdout, 'write').mockImplementation(keep);
  jest.spyOn(process.stderr, 'write').mockImplementation(keep);
  for (const level of ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const) {
    jest.spyOn(console, level).mockImplementation((...values: unknown[]) => void printed.push(inspect(values)));
  }
  jest.spyOn(process, 'emitWarning').mockImplementation((warning) => void printed.push(String(warning)));
  createDebug.log = (...values: unknown[]) => void printed.push(inspect(values));
  createDebug.enable('express-auth-adapters*');

  const watched = { fetch: watchedFetch, timeoutMs: 2_000 };
  app = await startWatched(watched);
  for (const secret of [typedPassword, tooLong, ada.password]) secrets.set(secret, 'password typed');
  secrets.set(String(app.b2bOptions.cookiePassword), 'cookie password');
  secrets.set(app.workos.apiKey, 'WorkOS API key');
  secrets.set(app.supabase.publishableKey, 'Supabase key');
  await everything();
  isEchoing = true;
  await everything().catch(() => undefined);
  isEchoing = false;
}, 60_000);

afterAll(async () => {
  createDebug.disable();
  jest.restoreAllMocks();
  await app.close();
});

function keep(chunk: string | Uint8Array): boolean {
  printed.push(String(chunk));
  return true;
}

it('has collected every kind of secret, and about a hundred answers, explanations and events', () => {
  const kinds = new Set(secrets.values());
  for (const kind of [
    'access_token',
    'refresh_token',
    'code',
    'auth_code',
    'code_verifier',
    'pending_authentication_token',
    'authorization',
    'cookie password',
    'password',
    'token_hash',
    'secret',
    'apikey',
  ]) {
    expect(kinds).toContain(kind);
  }
  const statuses = new Set(answers.map(({ answer }) => answer.status));
  for (const status of [200, 302, 303, 307, 400, 401, 403, 422, 502, 503]) expect(statuses).toContain(status);
  expect(answers.length).toBeGreaterThan(150);
  expect(printed.length).toBeGreaterThan(100);
  expect(new Set(app.eventTypes()).size).toBeGreaterThan(5);
});

it('no secret is in the body of any answer', () => {
  // The application's own page shows what PostgREST answers it.
  for (const { ask, answer } of answers.filter(({ ask }) => ask !== 'GET /notes')) {
    // The button of a confirmation page carries the parameters of the email's link; a new app needs its secret.
    const isOwn = (kind: string): boolean =>
      (kind === 'token_hash' && ask.includes('/auth/confirm')) || (kind === 'secret' && ask === 'POST /auth/enroll');
    const own = leaksIn(answer.text).filter((kind) => !isOwn(kind));
    expect([ask, answer.status, own]).toEqual([ask, answer.status, []]);
  }
});

it('no secret is in any header but Supabase’s own cookies, neither Location nor Set-Cookie', () => {
  for (const { ask, answer } of answers) {
    const cookies = answer.setCookies.filter((line) => !isSupabaseCookie(line));
    const text = inspect(
      { ...answer.headers, 'set-cookie': cookies },
      { depth: null, maxStringLength: null, breakLength: Infinity },
    );
    expect([ask, leaksIn(text)]).toEqual([ask, []]);
  }
});

it('every cookie is HttpOnly and Lax', () => {
  const lines = answers.flatMap(({ answer }) => answer.setCookies);
  expect(lines.length).toBeGreaterThan(50);
  for (const line of lines) expect(line).toMatch(privateCookie);
});

it('no secret is printed, and none is in what DEBUG explains', () => {
  for (const text of printed) expect([text, leaksIn(text)]).toEqual([text, []]);
});

it('no secret and no address is in any event', () => {
  for (const event of app.events) {
    const text = JSON.stringify(event);
    expect([text, leaksIn(text)]).toEqual([text, []]);
    expect(text).not.toContain('@');
  }
});

it('none of the provider’s own text reaches a visitor', () => {
  for (const { ask, answer } of answers) {
    expect([ask, /secret-words|cloudflare|502 Bad Gateway<|Database error/i.test(answer.text)]).toEqual([ask, false]);
  }
});

it('nothing may be cached', () => {
  for (const { ask, answer } of answers) {
    expect([ask, answer.headers['cache-control']]).toEqual([ask, 'private, no-store']);
    expect(answer.headers.vary).toMatch(/\bCookie\b/);
  }
});

it('every page has its full set of security headers, and sends no referrer to other sites', () => {
  const own = answers.filter(({ ask }) => /^\w+ \S*(?:\/auth\/|\/callback|\/login|\/logout|\/b2b\/)/.test(ask));
  const pages = own.filter(({ answer }) => (answer.headers['content-type'] ?? '').startsWith('text/html'));
  expect(pages.length).toBeGreaterThan(20);
  for (const { answer } of own) {
    expect(answer.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'same-origin' });
  }
  for (const { ask, answer } of pages) {
    expect([ask, answer.headers['content-security-policy']]).toEqual([
      ask,
      expect.stringMatching(/^default-src 'none';.*frame-ancestors 'none'/),
    ]);
    expect(answer.headers['content-security-policy']).not.toMatch(/unsafe|\*/);
    expect(answer.headers).toMatchObject({
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
    });
    expect(withoutOwnScript(answer.text)).not.toMatch(/<script|<style|\sstyle=|\son\w+=|javascript:/i);
  }
});

describe('errors that an application logs', () => {
  let logging: BothApp;
  const onError = (error: AuthError, _req: unknown, res: { statusCode: number; end(text: string): unknown }): void => {
    const shown = inspect(error, { depth: 12, showHidden: true, maxStringLength: null });
    errors.push({ message: `${error.message} ${JSON.stringify(error)}`, shown });
    res.statusCode = error.status;
    res.end('refused');
  };

  beforeAll(async () => {
    const quiet = app;
    const watched = { fetch: watchedFetch, timeoutMs: 2_000, onError };
    logging = await startWatched(watched, (host) =>
      host.onError((error, _req, _res, next) => {
        errors.push({ message: String(error), shown: inspect(error, { depth: 12, maxStringLength: null }) });
        next(error);
      }),
    );
    secrets.set(String(logging.b2bOptions.cookiePassword), 'cookie password');
    app = logging;
    await everything();
    app = quiet;
  }, 60_000);
  afterAll(() => logging.close());

  it('hold no secret, including their causes', () => {
    expect(errors.length).toBeGreaterThan(40);
    for (const { message, shown } of errors) {
      expect([message, leaksIn(message)]).toEqual([message, []]);
      expect([shown, leaksIn(shown)]).toEqual([shown, []]);
    }
  });
});
