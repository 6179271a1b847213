import { sealData } from 'iron-session';
import type { IncomingMessage } from 'node:http';
import { AuthError, authenticateUpgrade, currentSession, requireSession } from '../../lib/b2b/index.ts';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { sendJson } from '../support/hosts.ts';

/** Claims that the same environment signs, besides those of a session; `undefined` removes one. */
const foreign = {
  'a widget': { aud: 'widgets', sid: undefined, client_id: undefined },
  'a widget with our client id': { aud: 'widgets', sid: undefined },
  'an agent': { sub: 'agent_reg_01', sid: undefined, client_id: undefined, act: { sub: 'owner@example.com' } },
  'an agent for its user': { sid: 'agent_session_01', act: { sub: 'agent_reg_01' } },
  'a Connect application': { sid: 'app_consent_01', client_id: 'client_connect' },
  'a Connect application without client_id': { sid: 'app_consent_01', client_id: undefined },
  'a machine': { sub: 'client_machine', sid: undefined, client_id: undefined },
  'another audience': { aud: ['https://api.example'] },
  'an empty session id': { sid: '' },
  'a session id that is no text': { sid: ['session_01'] },
  'another issuer': { iss: 'https://other.authkit.app' },
} as const;
const listed = new Set(['a Connect application', 'a machine']);

const own = {
  'as WorkOS issues it': {},
  'without client_id': { client_id: undefined },
  'with our client id as its audience': { aud: 'client_test' },
  'of several audiences with ours': { aud: ['client_test', 'convex'] },
} as const;

let app: B2bApp;
beforeAll(async () => {
  const clients = ['client_connect', 'client_machine'];
  const guards = {
    both: requireSession({ credentials: ['cookie', 'bearer'] }),
    listed: requireSession({ credentials: ['bearer'], clients }),
  };
  app = await startB2bApp({
    options: { issuer: 'https://api.workos.com/user_management/client_test' },
    before: (host) => {
      for (const [path, options] of Object.entries({ both: {}, listed: { clients } })) {
        host.get(`/upgrade/${path}`, (req, res) => {
          authenticateUpgrade(app.auth, req as IncomingMessage, { credentials: ['cookie', 'bearer'], ...options }).then(
            ({ session }) => sendJson(res, { impersonator: session.adapter === 'b2b' ? session.impersonator : 1 }),
            (error: unknown) => {
              res.statusCode = error instanceof AuthError ? error.status : 500;
              res.end();
            },
          );
        });
      }
    },
    after: (host) => {
      for (const [path, guard] of Object.entries(guards)) {
        host.get(`/guard/${path}`, guard, (req, res) =>
          sendJson(res, { impersonator: currentSession(req, 'b2b').impersonator }),
        );
      }
    },
  });
});
afterAll(() => app.close());
beforeEach(() => void (app.events.length = 0));

async function tokenWith(claims: object): Promise<{ readonly bearer: string; readonly cookie: string }> {
  const session = await app.workos.issueSession({ user: demoUsers.personal, claims: { ...claims } });
  const sub = 'sub' in claims ? String(claims.sub) : session.user.id;
  const sealed = { ...session, user: { ...session.user, id: sub } };
  return {
    bearer: `Bearer ${session.accessToken}`,
    cookie: `b2b-session=${await sealData(sealed, { password: app.cookiePassword, ttl: 0 })}`,
  };
}

const statusOf = async (path: string, headers: Record<string, string>): Promise<number> =>
  (await app.visitor().get(path, { headers: { accept: 'application/json', origin: app.origin, ...headers } })).status;

describe.each(Object.entries(foreign))('a token of %s', (name, claims) => {
  it('is no session in a cookie, and says why', async () => {
    const { cookie } = await tokenWith(claims);
    expect(await statusOf('/guard/both', { cookie })).toBe(401);
    expect(app.events.map(({ type }) => type)).toContain('session_rejected');
    expect(await statusOf('/auth/session', { cookie })).toBe(401);
    expect(await statusOf('/upgrade/both', { cookie })).toBe(401);
  });

  it('is no session as a bearer token, for a guard or an upgrade', async () => {
    const { bearer: authorization } = await tokenWith(claims);
    expect(await statusOf('/guard/both', { authorization })).toBe(401);
    expect(await statusOf('/upgrade/both', { authorization })).toBe(401);
  });

  it('passes only where its client is listed', async () => {
    const { bearer: authorization } = await tokenWith(claims);
    const status = listed.has(name) ? 200 : 401;
    expect(await statusOf('/guard/listed', { authorization })).toBe(status);
    expect(await statusOf('/upgrade/listed', { authorization })).toBe(status);
  });
});

describe.each(Object.entries(own))('the token of a session, %s,', (_name, claims) => {
  it('passes in a cookie, as a bearer token and in an upgrade', async () => {
    const { cookie, bearer: authorization } = await tokenWith(claims);
    for (const headers of [{ cookie }, { authorization }]) {
      expect(await statusOf('/guard/both', headers)).toBe(200);
      expect(await statusOf('/upgrade/both', headers)).toBe(200);
    }
  });
});

it('takes an impersonator from a session, never from the token of a listed client', async () => {
  const act = { sub: 'support@example.com' };
  const read = async (path: string, claims: object): Promise<unknown> => {
    const { bearer: authorization } = await tokenWith({ act, ...claims });
    return (await app.visitor().get(path, { headers: { authorization } })).json;
  };
  for (const place of ['guard', 'upgrade']) {
    expect(await read(`/${place}/both`, {})).toEqual({ impersonator: { email: act.sub, reason: null } });
    expect(await read(`/${place}/listed`, foreign['a Connect application'])).toEqual({});
  }
});
