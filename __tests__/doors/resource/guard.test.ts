import { endSession, renewSession } from '../../../lib/index.ts';
import { adapters, paths, startResourceApp } from '../../support/resource-app.ts';
import type { ResourceApp } from '../../support/resource-app.ts';
import { sendRaw } from '../../support/raw-socket.ts';
import { hostNames } from '../../support/variant.ts';

const ada = { user: { email: 'ada@example.com' } };

describe.each(hostNames)('on %s', (host) => {
  let app: ResourceApp;
  beforeAll(async () => {
    app = await startResourceApp({ host });
  });
  afterAll(() => app.close());

  describe.each(adapters)('a resource of %s', (adapter) => {
    const token = (options: object = {}): Promise<string> =>
      app.kits[adapter].bearer(ada, { client: 'client_agent', audience: audience(), ...options });
    const audience = (): string => (adapter === 'b2b' ? app.identifiers.b2b : 'authenticated');

    it('lets in the token of an OAuth client, as an ordinary bearer session', async () => {
      const { status, json, headers } = await app.call(adapter, await token());
      expect([status, json.credential, json.info.clientId]).toEqual([200, 'bearer', 'client_agent']);
      expect([json.user.id, json.isSame]).toEqual([json.info.extra.userId, true]);
      expect(headers['cache-control']).toBe('private, no-store');
      expect(headers.vary).toMatch(/authorization/i);
      expect(headers['set-cookie']).toBeUndefined();
    });

    it('answers a request without a token with 401, and where clients learn what to do', async () => {
      const { status, headers, json } = await app.call(adapter);
      expect([status, json.error.code, headers.location]).toEqual([401, 'unauthenticated', undefined]);
      expect(headers['www-authenticate']).toBe(
        `Bearer resource_metadata="${app.origin}/.well-known/oauth-protected-resource${paths[adapter]}"`,
      );
      expect(headers['set-cookie']).toBeUndefined();
    });

    it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])(
      'refuses %s without a token',
      async (method) => {
        for (const path of ['', '/', '/below', '/below/that?x=1']) {
          expect((await app.visitor().ask(paths[adapter] + path, { method })).status).toBe(401);
        }
      },
    );

    it('says invalid_token to a token that was sent and is none', async () => {
      const { status, headers, json } = await app.call(adapter, 'Bearer not.a.token');
      expect([status, json.error.code]).toEqual([401, 'invalid_token']);
      expect(headers['www-authenticate']).toBe(
        `Bearer error="invalid_token", resource_metadata="${app.origin}/.well-known/oauth-protected-resource${paths[adapter]}"`,
      );
    });

    it.each([
      ['another scheme', 'Basic dXNlcjpwYXNz', 'unauthenticated'],
      ['an empty token', 'Bearer ', 'invalid_token'],
      ['a token with a blank', 'Bearer a b', 'invalid_token'],
    ])('refuses %s', async (_, authorization, code) => {
      const answer = await app.call(adapter, authorization);
      expect([answer.status, answer.json.error.code]).toEqual([401, code]);
    });

    it('never redirects, whatever the client accepts', async () => {
      for (const accept of ['text/html', 'application/json', '*/*', 'text/event-stream']) {
        const headers = { accept, 'sec-fetch-mode': 'navigate' };
        const answer = await app.visitor().get(paths[adapter], { headers });
        expect([answer.status, answer.headers['content-type']]).toEqual([401, 'application/json; charset=utf-8']);
      }
    });

    it('answers before it reads the body', async () => {
      const head = `POST ${paths[adapter]} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10000000000\r\n\r\n`;
      const answer = await sendRaw(app.port, head);
      expect([answer.status, answer.head]).toEqual([401, expect.stringMatching(/connection: close/i)]);
    });

    it.each([
      ['two tokens', (good: string) => [`Authorization: ${good}`, `Authorization: ${good}`]],
      ['a scheme and a token', (good: string) => ['Authorization: Basic eDp5', `Authorization: ${good}`]],
      ['a token and a scheme', (good: string) => [`Authorization: ${good}`, 'Authorization: Basic eDp5']],
    ])('refuses several Authorization headers: %s', async (_, lines) => {
      const request = `GET ${paths[adapter]} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines(await token()).join('\r\n')}\r\n\r\n`;
      expect((await sendRaw(app.port, request)).status).toBe(401);
    });

    it.each([
      ['upper case', (path: string) => path.toUpperCase()],
      ['an escape', (path: string) => path.replace('m', '%6d')],
      ['a double escape', (path: string) => path.replace('m', '%256d')],
      ['a doubled slash', (path: string) => path.replace('/', '//')],
      ['a dot segment', (path: string) => `/x/..${path}`],
      ['a backslash', (path: string) => path.replace('/', '/\\')],
      ['an encoded slash', (path: string) => `/x%2f..${path}`],
      ['an absolute form', (path: string) => `http://127.0.0.1${path}`],
      ['a parameter', (path: string) => `${path};x=1`],
    ])('guards the path in another spelling: %s', async (_, spell) => {
      const request = `GET ${spell(paths[adapter])} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
      expect((await sendRaw(app.port, request)).status).toBe(401);
    });

    it('guards what the host reads as below the path, whatever follows it', async () => {
      for (const rest of ['.', '.x', '.json', '.x/y', '%2ex', ':x', ';x', '\\x', '%5cx', '%00', '%00x', '-x', '~']) {
        const request = `GET ${paths[adapter]}${rest} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
        const { status, body } = await sendRaw(app.port, request);
        const isPublic = body === '{"public":true}';
        expect({ rest, status, isPublic }).toEqual({ rest, status: isPublic ? 200 : 401, isPublic });
      }
    });

    it('leaves other paths alone', async () => {
      for (const path of ['/', '/mcpx', '/other', '/tools', '/tools/mcps']) {
        expect((await app.visitor().get(path)).json).toEqual({ public: true });
      }
    });

    it('answers 503 with Retry-After while keys are out of reach, and then knows the token', async () => {
      const other = await startResourceApp({ host });
      const kit = other.kits[adapter];
      const good = await kit.bearer(ada, {
        client: 'client_agent',
        audience: adapter === 'b2b' ? other.identifiers.b2b : 'authenticated',
      });
      kit.simulate('down');
      const down = await other.call(adapter, good);
      expect([down.status, Number(down.headers['retry-after']) > 0, down.headers['www-authenticate']]).toEqual([
        503,
        true,
        undefined,
      ]);
      expect((await other.call(adapter)).status).toBe(401);
      kit.simulate('working');
      other.clock.advance(10_000);
      expect((await other.call(adapter, good)).status).toBe(200);
      kit.simulate('down');
      expect((await other.call(adapter, good)).status).toBe(200);
      await other.close();
    });

    it('ends with endSession by user and by session, and renewSession asks for a newer token', async () => {
      const auth = app.auths[adapter];
      const grace = {
        user: { email: `grace-${host}@example.com` },
        sessionId: `app_consent_${host.replaceAll(/\W/g, '')}`,
      };
      const mint = () => app.kits[adapter].bearer(grace, { client: 'client_agent', audience: audience() });
      const first = await mint();
      const { json } = await app.call(adapter, first);
      await endSession(auth, { userId: json.user.id });
      expect((await app.call(adapter, first)).status).toBe(401);
      app.clock.advance(2_000);
      const second = await mint();
      expect((await app.call(adapter, second)).status).toBe(200);
      await renewSession(auth, { userId: json.user.id });
      expect((await app.call(adapter, second)).headers['www-authenticate']).toMatch(/error="invalid_token"/);
      app.clock.advance(2_000);
      const third = await mint();
      expect((await app.call(adapter, third)).status).toBe(200);
      await endSession(auth, { sessionId: grace.sessionId });
      expect((await app.call(adapter, third)).status).toBe(401);
    });
  });
});

describe('the request', () => {
  it('has req.auth only where the caller asks for it, and never believes another one', async () => {
    const plain = await startResourceApp({
      front: (host) =>
        host.use((req, _res, next) => {
          Object.assign(req, { auth: { clientId: 'forged' } });
          next();
        }),
    });
    const audience = plain.identifiers.b2b;
    const answer = await plain.call('b2b', await plain.kits.b2b.bearer(ada, { audience }));
    expect([answer.json.auth.clientId, answer.json.info.clientId]).toEqual(['forged', '']);
    await plain.close();

    const attached = await startResourceApp({ resources: { b2b: { attach: true } } });
    const token = await attached.kits.b2b.bearer(ada, { audience: attached.identifiers.b2b, client: 'client_1' });
    const { json } = await attached.call('b2b', token);
    expect(json.auth).toEqual(json.info);
    await attached.close();
  });

  it('works with check and accept, which see the session', async () => {
    const seen: string[] = [];
    const app = await startResourceApp({
      b2b: { accept: (session) => (seen.push(`accept ${session.user.id}`), session.organizationId !== 'org_out') },
      resources: {
        b2b: { check: (session) => (seen.push(`check ${session.user.id}`), session.claims.role === 'admin') },
      },
    });
    const audience = app.identifiers.b2b;
    const call = async (person: object) =>
      app.call('b2b', await app.kits.b2b.bearer({ ...ada, ...person }, { audience }));
    const out = await call({ organizationId: 'org_out' });
    expect([out.status, out.json.error.code, out.headers['www-authenticate']]).toEqual([
      403,
      'not_accepted',
      undefined,
    ]);
    expect(seen).toHaveLength(1);
    expect(app.events).toContainEqual({ adapter: 'b2b', type: 'session_rejected', reason: 'not_accepted' });
    const refused = await call({});
    expect([refused.status, refused.json.error.code]).toEqual([403, 'forbidden']);
    expect((await call({ claims: { role: 'admin' } })).status).toBe(200);
    await app.close();
  });

  it.each([undefined, null, 1, 'true', {}, Promise.resolve(undefined)])(
    'a check that returns %p refuses',
    async (value) => {
      const app = await startResourceApp({ resources: { b2b: { check: () => value as never } } });
      const token = await app.kits.b2b.bearer(ada, { audience: app.identifiers.b2b });
      expect((await app.call('b2b', token)).status).toBe(403);
      await app.close();
    },
  );

  it('hands an error of check to the application', async () => {
    const check = (): boolean => {
      throw new Error('the database is gone');
    };
    const app = await startResourceApp({ resources: { b2b: { check } } });
    const answer = await app.call('b2b', await app.kits.b2b.bearer(ada, { audience: app.identifiers.b2b }));
    expect([answer.status, answer.json.thrown]).toEqual([500, 'Error: the database is gone']);
    await app.close();
  });

  it('does not refresh, read or write a cookie', async () => {
    const app = await startResourceApp({ adapters: 'before' });
    const cookie = await app.kits.b2b.cookie({ ...ada, expired: true });
    const token = await app.kits.b2b.bearer({ user: { email: 'bob@example.com' } }, { audience: app.identifiers.b2b });
    const answer = await app.call('b2b', token, { headers: { cookie } });
    expect([answer.status, answer.setCookies]).toEqual([200, []]);
    expect(app.events.filter(({ type }) => type === 'session_refreshed')).toEqual([]);
    await app.close();
  });

  it('is the same behind a body parser', async () => {
    const { default: express } = await import('express');
    const app = await startResourceApp({ front: (host) => host.use(express.json() as never) });
    const ask = { method: 'POST', body: '{"access_token":"x"}', headers: { 'content-type': 'application/json' } };
    expect((await app.call('b2b', undefined, ask)).status).toBe(401);
    const token = await app.kits.b2b.bearer(ada, { audience: app.identifiers.b2b });
    expect((await app.call('b2b', token, ask)).status).toBe(200);
    await app.close();
  });
});
