import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { createB2bClient, createBackendClient } from 'express-auth-adapters/client';

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Answer = (res: ServerResponse, req: IncomingMessage) => void;

let server: Server;
let origin: string;
let received: Received[];
let answer: Answer;

const json =
  (status: number, body: unknown): Answer =>
  (res) =>
    res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
const raw =
  (status: number, type: string, body: string, headers: Record<string, string> = {}): Answer =>
  (res) =>
    res.writeHead(status, { 'Content-Type': type, ...headers }).end(body);

beforeAll(async () => {
  server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString()));
    req.on('end', () => {
      received.push({ method: req.method, url: req.url, headers: req.headers, body });
      answer(res, req);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  received = [];
  answer = json(200, { redirectTo: '/' });
});

describe('the typed B2B client', () => {
  it('requests JSON to start a sign-in and returns the URL to go to', async () => {
    answer = json(200, { redirectTo: 'https://provider.example/authorize?x=1' });
    const result = await createB2bClient({ baseUrl: origin }).login({ query: { returnTo: '/a?b=c&d=ü#e' } });
    expect(result).toEqual({ data: { redirectTo: 'https://provider.example/authorize?x=1' }, error: null });
    expect(received[0]).toMatchObject({
      method: 'GET',
      headers: { accept: 'application/json' },
    });
    const url = new URL(received[0]!.url!, origin);
    expect(url.pathname).toBe('/login');
    expect([...url.searchParams]).toEqual([['returnTo', '/a?b=c&d=ü#e']]);
  });

  it('uses the routes that the adapter has by default', async () => {
    const client = createB2bClient({ baseUrl: origin });
    await client.login();
    await client.signup({ query: {} });
    await client.logout();
    await client.session();
    await client.organization({ body: { organizationId: 'org_1', returnTo: '/a' } });
    expect(received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /login',
      'GET /signup',
      'POST /logout',
      'GET /auth/session',
      'POST /organization',
    ]);
    expect(received.at(-1)).toMatchObject({ body: JSON.stringify({ organizationId: 'org_1', returnTo: '/a' }) });
  });

  it('validates the response of each route by its required fields', async () => {
    const client = createB2bClient({ baseUrl: origin });
    expect(await Promise.all([client.login(), client.signup(), client.logout()])).toEqual(
      Array.from({ length: 3 }, () => ({ data: { redirectTo: '/' }, error: null })),
    );
    answer = json(200, { ok: true });
    for (const result of await Promise.all([client.login(), client.signup(), client.logout(), client.session()])) {
      expect(result.error?.code).toBe('unexpected_response');
    }
  });

  it.each([
    ['/', '/login'],
    ['/app', '/app/login'],
    ['/app/', '/app/login'],
  ])('joins the prefix %j and a path', async (prefix, expected) => {
    await createB2bClient({ baseUrl: origin + prefix }).login();
    expect(received[0]?.url).toBe(expected);
  });

  it('accepts other paths one by one and keeps the defaults of the rest', async () => {
    const client = createB2bClient({ baseUrl: origin, paths: { session: '/b2b/session' } });
    await client.session();
    await client.login();
    expect(received.map(({ url }) => url)).toEqual(['/b2b/session', '/login']);
  });

  it('sends no body and no content type with a sign-out, and still asks for JSON', async () => {
    await createB2bClient({ baseUrl: origin }).logout();
    expect(received[0]).toMatchObject({ method: 'POST', body: '', headers: { accept: 'application/json' } });
    expect(received[0]?.headers['content-type']).toBeUndefined();
  });

  it('returns the session as the server sent it', async () => {
    const body = { authenticated: true, sessionId: 's', user: { id: 'u', email: 'ada@example.com', firstName: null } };
    answer = json(200, body);
    expect(await createB2bClient({ baseUrl: origin }).session()).toEqual({ data: body, error: null });
  });

  it('reports a missing session as an error with status 401', async () => {
    answer = json(401, { error: { status: 401, code: 'unauthenticated', message: 'No.' }, redirectTo: '/login' });
    expect(await createB2bClient({ baseUrl: origin }).session()).toEqual({
      data: null,
      error: { status: 401, code: 'unauthenticated', message: 'No.' },
    });
  });
});

describe('the typed backend client', () => {
  it('validates the response of each route by its required fields', async () => {
    const client = createBackendClient({ baseUrl: origin });
    const credentials = { body: { email: 'ada@example.com', password: 'p' } };
    const redirects = [
      client.login(credentials),
      client.signup(credentials),
      client.oauth({ query: { provider: 'x' } }),
    ];
    expect(await Promise.all([...redirects, client.logout()])).toEqual(
      Array.from({ length: 4 }, () => ({ data: { redirectTo: '/' }, error: null })),
    );
    answer = json(200, { user: { id: 'u' } });
    expect((await client.session()).data).toEqual({ user: { id: 'u' } });
    answer = json(200, { redirectTo: '/' });
    expect((await client.password({ body: { password: 'p' } })).data).toEqual({ redirectTo: '/' });
    expect((await client.code({ body: { email: 'e', code: '123456' } })).data).toEqual({ redirectTo: '/' });
    expect((await client.sso({ body: { email: 'e' } })).data).toEqual({ redirectTo: '/' });
    answer = json(200, { message: 'Sent.' });
    expect((await client.forgot({ body: { email: 'ada@example.com' } })).data).toEqual({ message: 'Sent.' });
    expect((await client.resend({ body: { email: 'ada@example.com' } })).data).toEqual({ message: 'Sent.' });
  });

  it('posts email and password as JSON', async () => {
    const client = createBackendClient({ baseUrl: origin });
    await client.login({ body: { email: 'ada@example.com', password: 'pä', returnTo: '/x' } });
    expect(received[0]).toMatchObject({
      method: 'POST',
      url: '/auth/login',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
    });
    expect(JSON.parse(received[0]!.body)).toEqual({ email: 'ada@example.com', password: 'pä', returnTo: '/x' });
  });

  it('sends further fields of a sign-up, and returns what is refused by their names', async () => {
    const fields = { username: 'Please choose a name.' };
    answer = json(422, { error: { status: 422, code: 'form_refused', message: 'No.', fields } });
    const body = { email: 'ada@example.com', password: 'pä', username: '', terms: true };
    const { error } = await createBackendClient({ baseUrl: origin }).signup({ body });
    expect([JSON.parse(received[0]!.body), error?.fields]).toEqual([body, fields]);
  });

  it('uses the routes that the adapter has by default', async () => {
    const client = createBackendClient({ baseUrl: origin });
    await client.signup({ body: { email: 'e', password: 'p' } });
    await client.oauth({ query: { provider: 'github', returnTo: '/' } });
    await client.logout({ body: { returnTo: '/bye' } });
    await client.session();
    await client.resend({ body: { email: 'e' } });
    await client.forgot({ body: { email: 'e', returnTo: '/x' } });
    await client.password({ body: { password: 'p', currentPassword: 'c' } });
    await client.code({ body: { email: 'e' } });
    await client.code({ body: { email: 'e', code: '123456' } });
    await client.sso({ body: { domain: 'example.com' } });
    expect(received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /auth/signup',
      'GET /auth/login?provider=github&returnTo=%2F',
      'POST /auth/logout',
      'GET /auth/session',
      'POST /auth/resend',
      'POST /auth/forgot',
      'POST /auth/password',
      'POST /auth/code',
      'POST /auth/code',
      'POST /auth/sso',
    ]);
    expect(JSON.parse(received[2]!.body)).toEqual({ returnTo: '/bye' });
  });

  it('reports that an email must be confirmed first', async () => {
    const body = { emailConfirmationRequired: true, email: 'e', message: 'See your mail.', redirectTo: '/auth/login' };
    answer = json(200, body);
    const result = await createBackendClient({ baseUrl: origin }).signup({ body: { email: 'e', password: 'p' } });
    expect(result).toEqual({ data: body, error: null });
  });
});

describe('an error', () => {
  const call = (baseUrl = origin) => createBackendClient({ baseUrl }).login({ body: { email: 'e', password: 'p' } });

  it('is the server’s own error if it sent one, with the HTTP status', async () => {
    answer = json(429, { error: { status: 1, code: 'rate_limited', message: 'Wait.' } });
    expect(await call()).toEqual({ data: null, error: { status: 429, code: 'rate_limited', message: 'Wait.' } });
  });

  it.each<[string, Answer, number]>([
    ['a proxy’s HTML', raw(502, 'text/html', '<h1>Bad gateway</h1>'), 502],
    ['HTML with status 200', raw(200, 'text/html', '<h1>Sign in</h1>'), 200],
    ['broken JSON', raw(200, 'application/json', '{"redirectTo":'), 200],
    ['an empty answer', raw(204, 'text/plain', ''), 204],
    ['JSON of another kind', raw(200, 'application/json', '{"ok":true}'), 200],
    ['JSON null', raw(200, 'application/json', 'null'), 200],
    ['a JSON string', raw(200, 'application/json', '"redirectTo"'), 200],
    ['an error that is no object', json(500, { error: 'secret stack' }), 500],
    ['an error without a code', json(500, { error: { message: 'secret stack' } }), 500],
    ['an error with a code of another type', json(500, { error: { code: 7, message: 'secret stack' } }), 500],
    ['data with a failing status', json(500, { redirectTo: '/' }), 500],
  ])('is an unexpected response: %s', async (_name, given, status) => {
    answer = given;
    const { data, error } = await call();
    expect(data).toBeNull();
    expect(error).toMatchObject({ status, code: 'unexpected_response' });
    expect(error?.message).not.toMatch(/secret|gateway|JSON/i);
  });

  it('is unauthenticated for any 401, whatever server answered', async () => {
    answer = raw(401, 'text/html', 'Unauthorized');
    expect((await call()).error).toMatchObject({ status: 401, code: 'unauthenticated' });
  });

  it('never sends the password to the target of a redirect', async () => {
    answer = raw(307, 'text/plain', '', { Location: `${origin}/elsewhere` });
    expect((await call()).error).toMatchObject({ code: 'unexpected_response' });
    expect(received.map(({ url }) => url)).toEqual(['/auth/login']);
  });

  it.each<[string, Answer]>([
    ['before the answer', (_res, req) => void req.socket.destroy()],
    [
      'in the middle of the answer',
      (res) => {
        res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '100' });
        res.write('{"redirectTo"', () => res.destroy());
      },
    ],
  ])('is a network error when the connection breaks %s', async (_name, given) => {
    answer = given;
    expect((await call()).error).toMatchObject({ status: 0, code: 'network_error' });
  });

  it('is a network error if no server listens or the URL is invalid', async () => {
    expect((await call('http://127.0.0.1:1')).error).toEqual({
      status: 0,
      code: 'network_error',
      message: 'The server could not be reached. Please try again.',
    });
    expect((await call('http://')).error).toMatchObject({ status: 0, code: 'network_error' });
  });

  it('is aborted if the caller aborted, before or during the call', async () => {
    const client = createBackendClient({ baseUrl: origin });
    const before = await client.session({ signal: AbortSignal.abort() });
    expect(before.error).toEqual({ status: 0, code: 'aborted', message: 'The request was given up.' });
    const controller = new AbortController();
    answer = () => controller.abort();
    const during = await client.session({ signal: controller.signal });
    expect(during.error).toMatchObject({ status: 0, code: 'aborted' });
  });

  it('never rejects and never makes up data, whatever the server answers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 200, max: 599 }), fc.oneof(fc.json(), fc.string()), async (status, body) => {
        const client = createB2bClient({
          fetch: () => Promise.resolve(new Response([204, 205, 304].includes(status) ? null : body, { status })),
        });
        const { data, error } = await client.session();
        expect((data === null) !== (error === null)).toBe(true);
        if (data !== null) expect(data).toHaveProperty('user');
      }),
    );
  });
});

describe('the typed backend client about other apps', () => {
  it('reads, decides, lists and disconnects', async () => {
    const client = createBackendClient({ baseUrl: origin });
    const asked = { client: { id: 'c', name: 'Cursor', redirectUri: 'cursor://x' }, scopes: [], user: {} };
    answer = json(200, asked);
    expect(await client.consent({ query: { authorization_id: 'a b' } })).toEqual({ data: asked, error: null });
    answer = json(200, { redirectTo: 'cursor://x?code=1' });
    const granted = await client.consent({ query: { authorization_id: 'a' } });
    expect(granted).toEqual({ data: { redirectTo: 'cursor://x?code=1' }, error: null });
    await client.consent({ body: { authorization_id: 'a', action: 'deny' } });
    await client.connectedApps({ body: { revoke: 'c' } });
    answer = json(200, { apps: [] });
    expect(await client.connectedApps()).toEqual({ data: { apps: [] }, error: null });
    expect(received.map(({ method, url, body }) => `${method} ${url} ${body}`.trim())).toEqual([
      'GET /oauth/consent?authorization_id=a+b',
      'GET /oauth/consent?authorization_id=a',
      'POST /oauth/consent {"authorization_id":"a","action":"deny"}',
      'POST /oauth/apps {"revoke":"c"}',
      'GET /oauth/apps',
    ]);
  });

  it('takes an answer of something else for none', async () => {
    const client = createBackendClient({ baseUrl: origin, paths: { consent: '/connect', connectedApps: '/mine' } });
    answer = json(200, { user: {} });
    expect((await client.consent({ query: { authorization_id: 'a' } })).error?.code).toBe('unexpected_response');
    expect((await client.connectedApps()).error?.code).toBe('unexpected_response');
    expect(received.map(({ url }) => url)).toEqual(['/connect?authorization_id=a', '/mine']);
  });
});

describe('how a request is sent', () => {
  const sentWith = async (baseUrl?: string): Promise<RequestInit | undefined> => {
    let init: RequestInit | undefined;
    const client = createB2bClient({
      ...(baseUrl !== undefined && { baseUrl }),
      fetch: (_url, given) => {
        init = given;
        return Promise.resolve(Response.json({ redirectTo: '/' }));
      },
    });
    await client.login();
    return init;
  };

  it('sends cookies to this origin, and to another one only if a base URL names it', async () => {
    expect((await sentWith())?.credentials).toBe('same-origin');
    expect((await sentWith('/app'))?.credentials).toBe('same-origin');
    expect((await sentWith('https://api.example.com'))?.credentials).toBe('include');
    expect((await sentWith('//api.example.com/app'))?.credentials).toBe('include');
  });

  it('looks the global fetch up on each call, so that a later replacement is used', async () => {
    const original = globalThis.fetch;
    const client = createB2bClient();
    try {
      globalThis.fetch = (url) => Promise.resolve(Response.json({ redirectTo: url }));
      expect(await client.login()).toEqual({ data: { redirectTo: '/login' }, error: null });
    } finally {
      globalThis.fetch = original;
    }
  });
});
