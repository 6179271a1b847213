import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RefreshMessage, SignInMessage, VerifyMessage } from '../../lib/types.ts';
import { requireSession } from '../../lib/index.ts';
import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import type { Host } from '../support/hosts.ts';
import { ownRoutes, storeBy } from '../support/own-sign-in.ts';
import type { OwnSignIn } from '../support/own-sign-in.ts';
import { variant } from '../support/variant.ts';
import type { Visitor } from '../support/visitor.ts';

type Message = RefreshMessage | SignInMessage | VerifyMessage;

const channels = ['refresh', 'verify', 'sign-in'] as const;
const messages: [channel: string, message: Message][] = [];
/** What a tracer keeps of each request, and what it was when each message came. */
const requests = new AsyncLocalStorage<string>();
const paths: (string | undefined)[] = [];
const listeners = channels.map((channel) => {
  const listener = (message: unknown): void => {
    messages.push([channel, message as Message]);
    paths.push(requests.getStore());
  };
  return [`express-auth-adapters:${channel}`, listener] as const;
});

beforeEach(() => {
  messages.length = 0;
  paths.length = 0;
  for (const [name, listener] of listeners) subscribe(name, listener);
});
afterEach(() => {
  for (const [name, listener] of listeners) unsubscribe(name, listener);
});

const closing = closeAfterEach();

/** Without the durations, which differ from run to run. */
const told = () => messages.map(([channel, message]) => ({ channel, ...message, durationMs: undefined }));

describe.each(adapters)('$name reports to its subscribers', ({ name, start }) => {
  const adapter = name === 'b2bAuth' ? 'b2b' : 'backend';
  let app: AppUnderTest;
  beforeEach(async () => {
    app = await start();
  });
  afterEach(() => app.close());

  it('a sign-in and the token that it received', async () => {
    await app.signedIn();
    expect(told()).toEqual([
      { channel: 'verify', adapter, outcome: 'live' },
      { channel: 'sign-in', adapter, outcome: 'signed_in' },
    ]);
    for (const [, { durationMs }] of messages) expect(durationMs > 0 && Number.isFinite(durationMs)).toBe(true);
  });

  it('nothing for a request whose session is in the cache', async () => {
    const visitor = await app.signedIn();
    await visitor.getJson('/api/me');
    messages.length = 0;
    for (let index = 0; index < 3; index += 1) expect((await visitor.getJson('/api/me')).status).toBe(200);
    if (variant.isCached) expect(told()).toEqual([]);
  });

  it('one refresh, however many requests wait for it', async () => {
    const visitor = await app.signedIn();
    app.expireTokens();
    messages.length = 0;
    await Promise.all([1, 2, 3].map(() => visitor.getJson('/api/me')));
    expect(told().filter(({ channel }) => channel === 'refresh')).toEqual([
      { channel: 'refresh', adapter, outcome: 'renewed' },
    ]);
    expect(told()).toContainEqual({ channel: 'verify', adapter, outcome: 'expired' });
  });

  it('a refresh that the provider does not answer, and one that ends the session', async () => {
    const visitor = await app.signedIn();
    app.expireTokens();
    messages.length = 0;
    app.fail('refresh', 503);
    await visitor.getJson('/api/me');
    const failed = { channel: 'refresh', adapter, outcome: 'failed', code: 'provider_unavailable' };
    expect(told()).toContainEqual(expect.objectContaining(failed));
    app.heal();
    app.clock.advance(120_000);
    await app.revoke(visitor);
    app.expireTokens();
    messages.length = 0;
    await visitor.getJson('/api/me');
    expect(told()).toContainEqual({ channel: 'refresh', adapter, outcome: 'ended', reason: expect.any(String) });
  });

  it('neither tokens nor users', async () => {
    const visitor = await app.signedIn();
    app.expireTokens();
    await visitor.getJson('/api/me');
    const known = ['adapter', 'durationMs', 'outcome', 'code', 'reason'];
    expect(messages.flatMap(([, message]) => Object.keys(message).filter((key) => !known.includes(key)))).toEqual([]);
    const values = messages
      .flatMap(([, message]) => Object.values(message))
      .filter((value) => typeof value === 'string');
    expect(values.filter((value) => !/^[a-z0-9_]{1,40}$/.test(value))).toEqual([]);
  });
});

it('reports a sign-in that the application completed itself, and one whose tokens were refused', async () => {
  const own: OwnSignIn = { tokens: undefined };
  const app: B2bApp = await closing(startB2bApp({ after: (host) => ownRoutes(host, () => app.auth, own) }));
  const tokens = await app.workos.issueSession({ user: demoUsers.personal });
  await storeBy(own, app.visitor(), tokens);
  await storeBy(own, app.visitor(), { ...tokens, accessToken: 'not.a.token' });
  const signIns = messages.filter(([channel]) => channel === 'sign-in').map(([, message]) => message);
  expect(signIns).toEqual([
    { adapter: 'b2b', outcome: 'signed_in', durationMs: expect.any(Number) },
    expect.objectContaining({ adapter: 'b2b', outcome: 'failed', code: 'tokens_refused' }),
  ]);
  for (const { durationMs } of signIns) expect(durationMs >= 0 && Number.isFinite(durationMs)).toBe(true);
});

it('reports why a sign-in through WorkOS failed', async () => {
  const app = await closing(startB2bApp());
  await app.visitor().get('/callback?error=access_denied&state=made-up');
  const failed = { channel: 'sign-in', adapter: 'b2b', outcome: 'failed', code: 'access_denied' };
  expect(told()).toEqual([expect.objectContaining(failed)]);
});

it('reports why a sign-in at Supabase failed', async () => {
  const app = await closing(startBackendApp());
  await app.visitor().postJson('/auth/login', { ...ada, password: 'wrong' });
  const failed = { channel: 'sign-in', adapter: 'backend', outcome: 'failed', code: 'invalid_credentials' };
  expect(told()).toEqual([expect.objectContaining(failed)]);
});

it.each([
  ['b2b', startB2bApp],
  ['backend', startBackendApp],
] as const)('reports a bearer token that %s refuses', async (adapter, start) => {
  const after = (host: Host) => host.get('/bearer', requireSession({ credentials: ['bearer'] }));
  const app = await closing<{ visitor(): Visitor; close(): Promise<void> }>(start({ after }));
  await app.visitor().get('/bearer', { headers: { authorization: 'Bearer made.up.token' } });
  expect(told()).toEqual([{ channel: 'verify', adapter, outcome: 'invalid', reason: expect.any(String) }]);
});

it('reports in the async context of the request, where a tracer finds its parent', async () => {
  const before = (host: Host) => host.use((req, _res, next) => requests.run(req.url ?? '', next));
  const app = await closing(startBackendApp({ before }));
  const visitor = await app.signedIn();
  app.clock.advance(3_700_000);
  await visitor.getJson('/api/me');
  expect(messages.map(([channel], index) => [channel, paths[index]?.replace(/^.*(?=\/(?:auth|api)\/)/, '')])).toEqual([
    ['verify', '/auth/login'],
    ['sign-in', '/auth/login'],
    ['verify', '/api/me'],
    ['refresh', '/api/me'],
    ['verify', '/api/me'],
  ]);
});
