import { getSession } from '../../lib/b2b/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { sendText } from '../support/hosts.ts';
import { itOnExpress } from '../support/only.ts';
import { protocolAttributes } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

let provider: SharedProvider;
let app: B2bApp;
beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({
    provider,
    after: (root) => {
      root.get('/twice', async (req, res) => {
        await getSession(req);
        await getSession(req, 'b2b');
        sendText(res, 'ok');
      });
    },
  });
});
beforeEach(() => {
  app.events.length = 0;
});
afterEach(() => {
  app.workos.switches.extraClaims = {};
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

/** As if the organization had given a user this many permissions. */
function withPermissions(count: number): void {
  const permissions = Array.from({ length: count }, (_, index) => `resource-${index}:read-and-write`);
  app.workos.switches.extraClaims = { permissions };
}

async function signIn(visitor: Visitor, on = app): Promise<Answer> {
  const start = await visitor.get('/login');
  const { pathname, search } = await on.workos.authorize(start.location, { user: demoUsers.personal });
  return visitor.get(pathname + search);
}

const namesIn = ({ cookies }: Visitor): string[] => [...cookies.keys()].sort();
const attributesOf = (line: string): string[] => line.split('; ').slice(1).sort();

describe('attributes', () => {
  it('are HttpOnly, SameSite=Lax, Path=/ and 400 days, and Secure only on https', async () => {
    const [line = ''] = (await signIn(app.visitor())).setCookies.filter((each) => each.startsWith('b2b-session='));
    expect(attributesOf(line)).toEqual([
      'HttpOnly',
      `Max-Age=${400 * 86_400}`,
      'Path=/',
      'SameSite=Lax',
      ...protocolAttributes,
    ]);
  });

  itOnExpress('include Secure if the public origin is https', async () => {
    const secure = await startB2bApp({
      provider,
      before: ({ express }) => express.set('trust proxy', true),
    });
    const https = { headers: { 'x-forwarded-proto': 'https' } };
    const visitor = createVisitor(`http://127.0.0.1:${secure.port}`);
    const start = await visitor.get('/login', https);
    expect(start.setCookies.every((line) => line.includes('; Secure'))).toBe(true);
    expect((await visitor.get('/login')).setCookies.join()).not.toContain('Secure');
    await secure.close();
  });

  it('include Secure if appBaseUrl is https, in any spelling', async () => {
    const other = await startB2bApp({ provider, options: { appBaseUrl: 'HTTPS://App.example' } });
    const start = await createVisitor(`http://127.0.0.1:${other.port}`).get('/login');
    await other.close();
    expect(start.setCookies.length).toBeGreaterThan(0);
    expect(start.setCookies.every((line) => line.includes('; Secure'))).toBe(true);
  });

  it('are repeated by the deletion, whatever their values', async () => {
    const cookieOptions = { domain: 'example.com', path: '/', sameSite: 'strict', secure: true } as const;
    for (const options of [{}, { cookieOptions }]) {
      const other = await startB2bApp({ provider, options });
      const visitor = other.visitor();
      const stored = (await signIn(visitor, other)).setCookies.find((line) => line.startsWith('b2b-session=')) ?? '';
      const deleted = (await visitor.post('/logout')).setCookies.find((line) => line.startsWith('b2b-session=;')) ?? '';
      const lasting = (line: string): string[] =>
        attributesOf(line).filter((each) => !/^(?:Max-Age|Expires)/.test(each));
      expect(lasting(deleted)).toEqual(lasting(stored));
      expect(attributesOf(deleted)).toEqual(
        expect.arrayContaining(['Max-Age=0', 'Expires=Thu, 01 Jan 1970 00:00:00 GMT']),
      );
      await other.close();
    }
  });
});

describe('a session larger than a cookie', () => {
  it('is stored in chunks that browsers accept, read back, refreshed and deleted as one', async () => {
    withPermissions(90);
    const visitor = app.visitor();
    const done = await signIn(visitor);
    expect(done.status).toBe(303);
    expect(namesIn(visitor)).toEqual(['b2b-session.0', 'b2b-session.1']);
    for (const line of done.setCookies) expect(line.length).toBeLessThanOrEqual(4096);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(demoUsers.personal.email);

    provider.clock.advance(400_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(namesIn(visitor)).toEqual(['b2b-session.0', 'b2b-session.1']);

    const out = await visitor.post('/logout');
    expect(out.location).toContain('session_id=');
    expect(namesIn(visitor)).toEqual([]);
  });

  it('leaves no old chunk behind when it shrinks, and no unchunked cookie when it grows', async () => {
    withPermissions(90);
    const visitor = app.visitor();
    await signIn(visitor);
    app.workos.switches.extraClaims = {};
    provider.clock.advance(400_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(namesIn(visitor)).toEqual(['b2b-session']);
    withPermissions(90);
    provider.clock.advance(400_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(namesIn(visitor)).toEqual(['b2b-session.0', 'b2b-session.1']);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('is read from its chunks beside strays and duplicates of another domain', async () => {
    withPermissions(90);
    const visitor = app.visitor();
    await signIn(visitor);
    const [first, second] = ['b2b-session.0', 'b2b-session.1'].map((name) => `${name}=${visitor.cookies.get(name)}`);
    for (const cookie of [
      `b2b-session.0=bad; ${first}; b2b-session.1=bad; ${second}`,
      `b2b-session.7=stray; ${second}; ${first}; b2b-session.00=stray`,
      `b2b-session=bad; ${first}; ${second}; b2b-session.2=leftover`,
    ]) {
      const answer = await app.visitor().get('/auth/session', { headers: { cookie } });
      expect([answer.status, answer.setCookies]).toEqual([200, []]);
    }
    for (const cookie of [`${first}`, `${second}`, `${first}; b2b-session.2=${visitor.cookies.get('b2b-session.1')}`]) {
      expect((await app.visitor().get('/auth/session', { headers: { cookie } })).status).toBe(401);
    }
  });

  it('raises one event above 8 KB', async () => {
    withPermissions(50);
    await signIn(app.visitor());
    expect(app.events.map(({ type }) => type)).toEqual(['signed_in']);
    app.events.length = 0;
    withPermissions(180);
    const visitor = app.visitor();
    await signIn(visitor);
    const large = app.events.filter(({ type }) => type === 'session_large');
    expect(large).toEqual([{ adapter: 'b2b', type: 'session_large', bytes: expect.any(Number) }]);
    const [bytes = 0] = large.map((event) => ('bytes' in event ? event.bytes : 0));
    expect(bytes).toBeGreaterThan(8 * 1024);
    expect(Math.abs(visitor.cookieHeader().length - bytes)).toBeLessThan(4);

    provider.clock.advance(400_000);
    app.events.length = 0;
    const cookie = visitor.cookieHeader();
    await Promise.all([1, 2, 3].map(() => app.visitor().get('/auth/session', { headers: { cookie } })));
    expect(app.events.map(({ type }) => type)).toEqual(['session_large', 'session_refreshed']);
  });

  it('over 12 KB is refused with session_too_large, and nothing is stored', async () => {
    withPermissions(260);
    const visitor = app.visitor();
    const refused = await signIn(visitor);
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('session_too_large');
    // Otherwise the hosted page would sign the same user in again, and no one else.
    await app.workos.arrived('revoke');
    expect(namesIn(visitor)).toEqual([]);
    expect(app.events.map(({ type }) => type)).not.toContain('signed_in');
  });

  it('over 12 KB skips the hook: the application creates no row for a sign-in that must fail', async () => {
    let calls = 0;
    const other = await startB2bApp({
      provider,
      options: {
        onSignIn: () => {
          calls += 1;
        },
      },
    });
    withPermissions(260);
    expect((await signIn(other.visitor(), other)).status).toBe(422);
    expect(calls).toBe(0);
    await other.close();
  });
});

describe('several cookies of the same name', () => {
  it('never hide a good session, whatever the position of the bad ones', async () => {
    const visitor = await app.signedIn();
    const good = visitor.cookieHeader();
    for (const cookie of [
      `b2b-session=bad; ${good}`,
      `${good}; b2b-session=bad`,
      `b2b-session=; b2b-session="x"; b2b-session=%zz; ${good}`,
      `other=1;;; =; b2b-session ; ${good}; b2b-session2=x`,
    ]) {
      for (let again = 0; again < 2; again += 1) {
        const answer = await app.visitor().get('/auth/session', { headers: { cookie } });
        expect([cookie.slice(0, 20), answer.status, answer.setCookies]).toEqual([cookie.slice(0, 20), 200, []]);
      }
    }
  });
});

describe('an unreadable cookie', () => {
  it('is left to the application that wrote it, chunks included, and reported once', async () => {
    const visitor = app.visitor();
    visitor.cookies.set('b2b-session', 'rubbish').set('b2b-session.0', 'x').set('b2b-session.3', 'y').set('other', 'z');
    for (let time = 0; time < 2; time += 1) {
      const answer = await visitor.getJson('/auth/session');
      expect([answer.status, answer.setCookies]).toEqual([401, []]);
    }
    expect(app.events).toEqual([{ adapter: 'b2b', type: 'session_rejected', reason: 'unreadable' }]);
  });

  it('is deleted by a sign-out, which leaves cookies with similar names alone', async () => {
    const visitor = app.visitor();
    visitor.cookies
      .set('b2b-session', 'rubbish')
      .set('b2b-session-2', 'a')
      .set('xb2b-session', 'b')
      .set('b2b-session.x', 'c');
    await visitor.post('/logout');
    expect(namesIn(visitor)).toEqual(['b2b-session-2', 'b2b-session.x', 'xb2b-session']);
  });
});

it('writes one Set-Cookie per name, however often the session is requested', async () => {
  const visitor = await app.signedIn();
  provider.clock.advance(400_000);
  const answer = await visitor.get('/twice');
  expect(answer.setCookies).toHaveLength(1);
  provider.clock.advance(400_000);
  const out = await visitor.post('/logout');
  expect(out.setCookies).toHaveLength(1);
});
