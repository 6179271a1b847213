import { AuthError } from '../../lib/backend/index.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { itAtRoot } from '../support/only.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

describe('the hook', () => {
  itAtRoot('runs once, after verification and before any cookie, and may send elsewhere', async () => {
    const seen: unknown[] = [];
    await start({
      options: {
        onSignIn({ session, returnTo }) {
          seen.push([session.user.email, returnTo]);
          return { redirectTo: '/welcome' };
        },
      },
    });
    const answer = await app.visitor().postJson('/auth/login', { ...ada, returnTo: '/account' });
    expect(answer.json).toEqual({ redirectTo: '/welcome' });
    expect(seen).toEqual([[ada.email, '/account']]);
  });

  it.each<[string, () => unknown, number]>([
    ['an AuthError', () => new AuthError('forbidden', { message: 'Not you.' }), 403],
    ['anything else', () => new Error('broken'), 500],
  ])('that throws %s leaves no session, here or at the backend', async (_what, failure, status) => {
    await start({
      options: {
        onSignIn() {
          throw failure();
        },
      },
    });
    const visitor = app.visitor();
    const answer = await visitor.postJson('/auth/login', ada);
    expect(answer.status).toBe(status);
    expect(answer.setCookies).toEqual([]);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(app.supabase.calls('logout')).toBe(1);
    expect(app.eventTypes()).not.toContain('signed_in');
  });
});
