import type { BackendAuthOptions, BackendIdentity } from '../../lib/backend/index.ts';
import { subjectOf } from '../../stand-ins/supabase/users.ts';
import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { ownRoutes, storeBy } from '../support/own-sign-in.ts';
import type { OwnSignIn } from '../support/own-sign-in.ts';
import type { Visitor } from '../support/visitor.ts';

let app: BackendApp;
let seen: { readonly id: string; readonly identities: readonly BackendIdentity[] }[];
afterEach(() => app.close());

/** @param setup `options.fetch` may change what the project answers */
async function start({ options, ...setup }: BackendAppSetup = {}): Promise<BackendApp> {
  seen = [];
  const onSignIn: BackendAuthOptions['onSignIn'] = ({ session, identities }) => {
    seen.push({ id: session.user.id, identities });
  };
  return (app = await startBackendApp({ ...setup, options: { onSignIn, ...options } }));
}

/** Changes the user in the project's answers with a session. */
const withUser = (change: (user: Record<string, unknown>) => unknown): Pick<BackendAuthOptions, 'fetch'> => ({
  fetch: async (input, init) => {
    const answer = await fetch(input, init);
    if (!new Request(input).url.includes('/token?grant_type=')) return answer;
    const body = (await answer.json()) as { readonly user: Record<string, unknown> };
    return Response.json({ ...body, user: change(body.user) }, answer);
  },
});

const byEmail = (id: string): BackendIdentity => ({ provider: 'email', id, email: ada.email });

async function signInWith(visitor: Visitor, provider: string): Promise<number> {
  const { location } = await visitor.get(`/auth/login?provider=${provider}`);
  const callback = await app.supabase.authorize(location, { approve: true, user: ada.email });
  return (await visitor.get(callback.href)).status;
}

describe('identities of the hook', () => {
  it('have the provider’s own id after OAuth, from the project’s answer', async () => {
    await start();
    expect(await signInWith(app.visitor(), 'google')).toBe(303);
    const [{ id, identities } = { id: '', identities: [] }] = seen;
    expect(identities).toEqual([
      byEmail(id),
      { provider: 'google', id: subjectOf('google', { id, email: ada.email }), email: ada.email },
    ]);
    expect(subjectOf('google', { id, email: ada.email })).toMatch(/^\d+$/);
  });

  it('are never those of a cookie', async () => {
    await start();
    const visitor = await app.signedIn();
    const [name = '', value = ''] = [...visitor.cookies].find(([each]) => each.includes('auth-token')) ?? [];
    const stored = JSON.parse(Buffer.from(value.replace('base64-', ''), 'base64url').toString());
    stored.user = { ...stored.user, identities: [{ provider: 'google', id: 'of-someone-else' }] };
    visitor.cookies.set(name, `base64-${Buffer.from(JSON.stringify(stored)).toString('base64url')}`);
    seen = [];
    await visitor.postJson('/auth/login', ada);
    const [{ id, identities } = { id: '', identities: [] }] = seen;
    expect(identities).toEqual([byEmail(id)]);
  });

  it('come with a password, an emailed link, a second factor (verify) and a stored session', async () => {
    const own: OwnSignIn = { tokens: undefined };
    await start({ standIn: { mailFrequency: 0 }, after: (host) => ownRoutes(host, () => app.auth, own) });
    await app.visitor().postJson('/auth/login', ada);
    await storeBy(own, app.visitor(), await app.supabase.issueSession(ada.email));
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await postForm(visitor, '/auth/login', ada);
    await postForm(visitor, '/auth/verify', { code: app.supabase.codeOf(factor) });
    const [{ id } = { id: '' }] = seen;
    expect(seen).toEqual([1, 2, 3].map(() => ({ id, identities: [byEmail(id)] })));
  });

  it('skip what is no identity', async () => {
    const identities = [
      null,
      7,
      {},
      { provider: 'google' },
      { id: '1' },
      { provider: '', id: '1' },
      { provider: 'x', id: 1 },
    ];
    await start({
      options: withUser((user) => ({ ...user, identities: [...identities, { provider: 'x', id: '1' }] })),
    });
    await app.visitor().postJson('/auth/login', ada);
    expect(seen.map((each) => each.identities)).toEqual([[{ provider: 'x', id: '1' }]]);
  });

  it.each([undefined, null, {}])('are asked for where the answer has no list: %j', async (identities) => {
    await start({ options: withUser((user) => ({ ...user, identities })) });
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
    const [{ id, identities: given } = { id: '', identities: [] }] = seen;
    expect(given).toEqual([byEmail(id)]);
    expect(app.supabase.requests.map(({ endpoint }) => endpoint)).toContain('user');
  });

  it('that are asked for in vain sign in no one', async () => {
    await start({
      options: {
        timeoutMs: 1000,
        fetch: (input, init) =>
          new Request(input).url.endsWith('/user')
            ? Promise.reject(new TypeError('fetch failed'))
            : (withUser((user) => ({ ...user, identities: undefined })).fetch?.(input, init) ?? fetch(input, init)),
      },
    });
    const visitor = app.visitor();
    expect((await visitor.postJson('/auth/login', ada)).status).toBe(503);
    expect([seen, (await visitor.getJson('/auth/session')).status]).toEqual([[], 401]);
  });

  it('cost no call without a hook', async () => {
    await start({ options: { ...withUser((user) => ({ ...user, identities: undefined })), onSignIn: undefined } });
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
    expect(app.supabase.requests.map(({ endpoint }) => endpoint)).not.toContain('user');
  });
});
