// `getSupabaseClient(req)` inside of `onSignIn`.
import type { IncomingMessage } from 'node:http';
import { AuthError, getSupabaseClient } from '../../../lib/backend/index.ts';
import type { BackendAuthOptions, BackendSignIn } from '../../../lib/backend/index.ts';
import { ada, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp } from '../../support/backend-app.ts';
import { ownRoutes, storeBy } from '../../support/own-sign-in.ts';
import type { OwnSignIn } from '../../support/own-sign-in.ts';

const bob = { email: 'bob@example.com', password: 'long enough' } as const;
let app: BackendApp;
const own: OwnSignIn = { tokens: undefined };
/** What the hook found, and what it does after that. */
let found: unknown[];
let after: (signIn: BackendSignIn) => unknown;

beforeEach(async () => {
  found = [];
  after = () => undefined;
  const onSignIn: BackendAuthOptions['onSignIn'] = async (signIn) => {
    const client = await getSupabaseClient(signIn.req);
    expect(await getSupabaseClient(signIn.req)).toBe(client);
    const { data } = await client.from('notes').select();
    found.push(data?.map(({ body }: { body: string }) => body));
    expect(signIn.req.res?.getHeader('set-cookie')).toBeUndefined();
    await after(signIn);
  };
  app = await startBackendApp({
    options: { onSignIn },
    after: (host) => ownRoutes(host, () => app.auth, own),
  });
  app.supabase.addUser(bob);
  app.supabase.addNote(ada.email, 'of Ada');
  app.supabase.addNote(bob.email, 'of Bob');
});
afterEach(() => app.close());

const endpoints = (): string[] => app.supabase.requests.map(({ endpoint }) => endpoint);

it('getSupabaseClient acts as the new user in the hook, before a cookie is written', async () => {
  expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
  expect(found).toEqual([['of Ada']]);
});

it('getSupabaseClient acts as the new user in the hook, also in a browser of another one, whose session it leaves alone', async () => {
  const visitor = await app.signedIn();
  app.clock.advance(2 * 3600_000);
  app.supabase.requests.length = 0;
  expect((await visitor.postJson('/auth/login', bob)).status).toBe(200);
  expect(found).toEqual([['of Ada'], ['of Bob']]);
  // Ada's access token has expired, and her session is not renewed for a client that does not act as her.
  expect(endpoints()).not.toContain('refresh');
  expect((await visitor.getJson('/notes')).json.data).toMatchObject([{ body: 'of Bob' }]);
});

it('getSupabaseClient in the hook has no auth, so it refreshes and signs out no one', async () => {
  let thrown: unknown;
  after = async ({ req }) => {
    const client = await getSupabaseClient(req);
    try {
      await client.auth.refreshSession();
    } catch (error) {
      thrown = error;
    }
  };
  const visitor = app.visitor();
  expect((await visitor.postJson('/auth/login', ada)).status).toBe(200);
  expect(String(thrown)).toContain('accessToken');
  expect((await visitor.getJson('/auth/session')).status).toBe(200);
});

it('getSupabaseClient leaves no one signed in where the hook throws, and the former user stays', async () => {
  after = ({ session }) => {
    if (session.user.email === bob.email) throw new AuthError('forbidden');
  };
  const visitor = await app.signedIn();
  const refused = await visitor.postJson('/auth/login', bob);
  expect([refused.status, refused.setCookies]).toEqual([403, []]);
  expect((await visitor.getJson('/notes')).json.data).toMatchObject([{ body: 'of Ada' }]);
});

it('getSupabaseClient acts as the former user again after the hook has refused', async () => {
  const visitor = await app.signedIn();
  const seen: unknown[] = [];
  const readBy = async (req: IncomingMessage): Promise<void> => {
    const { data } = await (await getSupabaseClient(req)).from('notes').select();
    seen.push(data?.map(({ body }: { body: string }) => body));
  };
  own.before = readBy;
  after = ({ req }) => {
    own.before = undefined;
    asked = req;
    throw new AuthError('forbidden');
  };
  let asked: IncomingMessage | undefined;
  const answer = await storeBy(own, visitor, await app.supabase.issueSession(bob.email));
  expect([answer.status, answer.json.code]).toEqual([403, 'forbidden']);
  if (asked !== undefined) await readBy(asked);
  expect([seen, found.at(-1)]).toEqual([[['of Ada'], ['of Ada']], ['of Bob']]);
});
