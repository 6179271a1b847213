import type { Router } from 'express';
import { endSession, renewSession } from '../../lib/index.ts';
import type { SessionTarget } from '../../lib/index.ts';
import { startB2bApp } from '../support/b2b-app.ts';
import { startBackendApp } from '../support/backend-app.ts';
import type { Visitor } from '../support/visitor.ts';

interface App {
  readonly auth: Router;
  signedIn(): Promise<Visitor>;
  close(): Promise<void>;
}

const starts: Readonly<Record<'b2b' | 'backend', () => Promise<App>>> = {
  b2b: () => startB2bApp(),
  backend: () => startBackendApp(),
};

describe.each(['b2b', 'backend'] as const)('%s', (name) => {
  let app: App;
  beforeAll(async () => void (app = await starts[name]()));
  afterAll(() => app.close());

  const userOf = async (visitor: Visitor): Promise<string> =>
    ((await visitor.getJson('/auth/session')).json as { readonly user: { readonly id: string } }).user.id;
  const statusOf = async (visitor: Visitor): Promise<number> => (await visitor.getJson('/api/me')).status;

  it('endSession ends every session of a user at once and deletes its cookie; a sign-in right after it works', async () => {
    const [one, two] = [await app.signedIn(), await app.signedIn()];
    expect([await statusOf(one), await statusOf(two)]).toEqual([200, 200]);
    await endSession(app.auth, { userId: await userOf(one) });
    const after = await app.signedIn();
    expect([await statusOf(one), await statusOf(two), await statusOf(after)]).toEqual([401, 401, 200]);
    expect([one.cookieHeader(), two.cookieHeader()]).toEqual(['', '']);
    expect(await statusOf(after)).toBe(200);
  });

  it('the first request after a sign-in in the same second as endSession keeps its tokens', async () => {
    const before = await app.signedIn();
    await endSession(app.auth, { userId: await userOf(before) });
    const after = await app.signedIn();
    const issued = after.cookieHeader();
    expect([await statusOf(after), await statusOf(before)]).toEqual([200, 401]);
    expect(after.cookieHeader()).toBe(issued);
  });

  it('renewSession makes the next request refresh, and no later one', async () => {
    const visitor = await app.signedIn();
    const userId = await userOf(visitor);
    const before = visitor.cookieHeader();
    await renewSession(app.auth, { userId });
    expect(await statusOf(visitor)).toBe(200);
    const renewed = visitor.cookieHeader();
    expect(renewed).not.toBe(before);
    expect(await statusOf(visitor)).toBe(200);
    expect(visitor.cookieHeader()).toBe(renewed);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['no id', { userId: undefined }],
    ['an empty id', { sessionId: '' }],
    ['an id that is no text', { userId: 1 }],
    ['an id of 257 characters', { userId: 'x'.repeat(257) }],
    ['both', { userId: 'user', sessionId: 'session' }],
  ])('neither accepts %s as a session or a user', async (_, target) => {
    for (const call of [endSession, renewSession]) {
      await expect(call(app.auth, target as SessionTarget)).rejects.toMatchObject({ name: 'ConfigurationError' });
    }
  });
});

it('endSession in onSignIn ends the person’s other sessions, and every sign-in works', async () => {
  const app = await startBackendApp({
    options: {
      async onSignIn({ session }) {
        await endSession(app.auth, { userId: session.user.id });
        // The hook takes its time.
        app.clock.advance(50);
      },
    },
  });
  const first = await app.signedIn();
  app.clock.advance(1_500);
  const second = await app.signedIn();
  const statuses = [first, second].map(async (visitor) => (await visitor.getJson('/api/me')).status);
  expect(await Promise.all(statuses)).toEqual([401, 200]);
  await app.close();
});

it('both require the router of an adapter', async () => {
  for (const auth of [undefined, {}, () => undefined]) {
    await expect(endSession(auth as unknown as Router, { userId: 'user' })).rejects.toThrow(
      'b2bAuth() or backendAuth()',
    );
  }
});
