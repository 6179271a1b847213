import { getSession, requireSession } from '../../../lib/b2b/index.ts';
import { sendJson } from '../../support/hosts.ts';
import type { Answer } from '../../support/visitor.ts';
import { addUser, authorize, describeEmulator, expire, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';

const maxAge = 2;
const stale = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, (maxAge + 1) * 1000));

describeEmulator('guards with the emulator', (url) => {
  let app: RealB2b;
  beforeAll(async () => {
    app = await startRealB2b(url, undefined, undefined, ({ host }) => {
      host.all('/recent', requireSession({ adapter: 'b2b', maxAge }), (req, res, next) => {
        getSession(req).then((session) => sendJson(res, session), next);
      });
      const credentials = ['cookie', 'bearer'] as const;
      host.all('/api/both', requireSession({ adapter: 'b2b', credentials }), (req, res, next) => {
        getSession(req).then((session) => sendJson(res, session), next);
      });
    });
  });
  afterAll(() => app.close());

  it('ask for a new sign-in if the last one is too old, and redirect back', async () => {
    const { email } = await addUser(app);
    const visitor = await app.signedIn({ email });
    expect((await visitor.getJson('/recent')).status).toBe(200);
    await stale();
    const asked = await visitor.getJson('/recent');
    expect([asked.status, asked.json.error.code]).toEqual([401, 'fresh_sign_in_required']);
    const sent = await visitor.get('/recent');
    const { pathname, searchParams } = new URL(sent.location);
    expect([sent.status, pathname, searchParams.get('max_age')]).toEqual([307, '/login', String(maxAge)]);
    const start = new URL((await visitor.get(`${sent.location}&login_hint=${encodeURIComponent(email)}`)).location);
    expect(start.searchParams.get('max_age')).toBe(String(maxAge));
    const done = await visitor.get(await authorize(start));
    expect([done.status, done.headers.location]).toEqual([303, '/recent']);
    expect((await visitor.get('/recent')).status).toBe(200);
  });

  it('are not satisfied by a refresh', async () => {
    const visitor = await app.signedIn(await addUser(app));
    await expire(visitor);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect((await visitor.getJson('/recent')).status).toBe(401);
  });

  it('accept an access token as a bearer token until it expires, and refresh nothing for it', async () => {
    const user = await addUser(app);
    const visitor = await app.signedIn(user);
    const { accessToken } = (await visitor.getJson('/api/me')).json;
    const call = (): Promise<Answer> =>
      visitor.get('/api/both', { headers: { authorization: `Bearer ${String(accessToken)}` } });
    const answer = await call();
    expect([answer.status, answer.json.user.id, answer.json.credential]).toEqual([200, user.id, 'bearer']);
    await expire(visitor);
    const late = await call();
    expect([late.status, late.headers['www-authenticate'], late.setCookies]).toEqual([
      401,
      'Bearer error="invalid_token"',
      [],
    ]);
    expect((await visitor.getJson('/api/both')).json.credential).toBe('cookie');
  });
});
