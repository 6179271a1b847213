import { AuthError, requireSession } from '../../lib/index.ts';
import { askSecondFactor } from '../../lib/http/guard/step-up.ts';
import type { AuthRequest } from '../../lib/http/request.ts';
import type { Session } from '../../lib/index.ts';
import { ada, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendText } from '../support/hosts.ts';
import type { Visitor } from '../support/visitor.ts';

const enrolled = requireSession({ aal: 'enrolled', credentials: ['cookie', 'bearer'] }) as Handler;

/** The id of the session that a Supabase access token belongs to. */
function sessionIdOf(accessToken: string): string {
  const [, payload = ''] = accessToken.split('.');
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { session_id: string }).session_id;
}

describe('a session that the provider has ended, where a guard asks for a second factor', () => {
  let app: BackendApp;
  beforeAll(async () => {
    app = await startBackendApp({
      after: (host) => host.use('/settings', enrolled, (_req, res) => sendText(res, 'settings')),
    });
  });
  afterAll(() => app.close());

  /** The access token is valid, but the session is over. */
  async function ended(): Promise<{ readonly visitor: Visitor; readonly accessToken: string }> {
    const session = await app.supabase.issueSession(ada.email);
    const visitor = app.visitor();
    setSession(visitor, session);
    app.supabase.revokeSession(sessionIdOf(session.access_token));
    return { visitor, accessToken: session.access_token };
  }

  it('loses its cookie and leads to sign in, and from there back', async () => {
    const { visitor } = await ended();
    const answer = await visitor.get('/settings?tab=1');
    expect([answer.status, answer.headers.location]).toEqual([307, '/auth/login?returnTo=%2Fsettings%3Ftab%3D1']);
    expect([...visitor.cookies.keys()].filter((name) => name.startsWith(app.cookieName))).toEqual([]);
    // The sign-in page does not lead straight back.
    expect((await visitor.get(answer.location)).status).toBe(200);
  });

  it('is a 401 in JSON, which names the sign-in page', async () => {
    const { visitor } = await ended();
    const { status, json } = await visitor.getJson('/settings');
    expect([status, json]).toEqual([
      401,
      { error: expect.objectContaining({ code: 'unauthenticated' }), redirectTo: '/auth/login' },
    ]);
    expect([...visitor.cookies.keys()].filter((name) => name.startsWith(app.cookieName))).toEqual([]);
  });

  it('is over for the whole process, also where no guard asks for a second factor', async () => {
    const { visitor } = await ended();
    const cookie = visitor.cookieHeader();
    expect((await app.visitor().get('/api/me', { headers: { cookie } })).status).toBe(200);
    await visitor.get('/settings');
    expect((await app.visitor().get('/api/me', { headers: { cookie } })).status).toBe(307);
  });

  it('refuses its access token as a bearer token, without a way to sign in, and keeps the cookie of another session', async () => {
    const { accessToken } = await ended();
    const visitor = await app.signedIn();
    const cookie = visitor.cookieHeader();
    const answer = await visitor.get('/settings', { headers: { authorization: `Bearer ${accessToken}` } });
    expect([answer.status, answer.json, answer.setCookies]).toEqual([
      401,
      { error: expect.objectContaining({ code: 'invalid_token' }) },
      [],
    ]);
    expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    expect(visitor.cookieHeader()).toBe(cookie);
    expect((await visitor.get('/settings')).text).toBe('settings');
  });
});

describe('a question about second factors that fails for any other reason', () => {
  const session = { credential: 'cookie', claims: { aal: 'aal1' }, accessToken: 'token' } as unknown as Session;

  function requestFailingWith(failure: Error): { readonly request: AuthRequest; readonly ended: unknown[] } {
    const ended: unknown[] = [];
    const request = {
      definition: {
        secondFactor: {
          verifyPath: '/verify',
          enrollPath: '/enroll',
          hasVerifiedFactor: () => Promise.reject(failure),
        },
        resolver: { endOver: (...given: unknown[]) => Promise.resolve(void ended.push(given)) },
      },
      req: { headers: {} },
      waits: { limit: <Value>(ask: () => Promise<Value>): Promise<Value> => ask() },
      wayBack: '/settings',
    };
    return { request: request as unknown as AuthRequest, ended };
  }

  it.each([
    ['an outage', new AuthError('provider_unavailable')],
    ['a refusal of the application’s key', new AuthError('provider_refused')],
    ['a refusal of the person', new AuthError('forbidden')],
    ['an error of other code', Object.assign(new Error('not ours'), { code: 'unauthenticated' })],
  ])('ends no session, and lets no one pass: %s', async (_what, failure) => {
    const { request, ended } = requestFailingWith(failure);
    await expect(askSecondFactor(request, session, 'enrolled')).rejects.toBe(failure);
    expect(ended).toEqual([]);
  });
});
