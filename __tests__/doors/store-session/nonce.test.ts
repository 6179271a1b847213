import { createHash } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ConfigurationError } from '../../../lib/errors.ts';
import type { AuthRequest } from '../../../lib/http/request.ts';
import { createNonce, takeNonce } from '../../../lib/doors/store-session/nonce.ts';
import { startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp } from '../../support/backend-app.ts';
import { startB2bApp } from '../../support/b2b-app.ts';
import type { B2bApp } from '../../support/b2b-app.ts';
import { bareRequest } from '../../support/bare-request.ts';
import { ownRoutes } from '../../support/own-sign-in.ts';
import type { OwnSignIn } from '../../support/own-sign-in.ts';
import { until } from '../../support/until.ts';
import { flowPrefix, protocolAttributes } from '../../support/variant.ts';
import type { Visitor } from '../../support/visitor.ts';

const own: OwnSignIn = { tokens: undefined };

describe.each([
  ['backend', 'sb-127-auth-token'],
  ['b2b', 'b2b-session'],
] as const)('a nonce of the %s adapter', (adapter, cookieName) => {
  let app: BackendApp | B2bApp;
  const name = `${flowPrefix}${cookieName}-nonce`;

  beforeEach(async () => {
    app =
      adapter === 'backend'
        ? await startBackendApp({ after: (host) => ownRoutes(host, () => app.auth, own) })
        : await startB2bApp({ after: (host) => ownRoutes(host, () => app.auth, own) });
  });
  afterEach(() => app.close());

  const create = async (visitor: Visitor) => (await visitor.getJson('/own/nonce')).json;
  const take = async (visitor: Visitor) => (await visitor.postJson('/own/take')).json.nonce;

  it('is 256 random bits, and its lower-case hex SHA-256', async () => {
    const [one, other] = [await create(app.visitor()), await create(app.visitor())];
    expect(one.nonce).toMatch(/^[\w-]{43}$/);
    expect(one.hashed).toBe(createHash('sha256').update(one.nonce).digest('hex'));
    expect(other.nonce).not.toBe(one.nonce);
  });

  it('is kept in an HttpOnly cookie for ten minutes, and its page in no cache', async () => {
    const { setCookies, headers } = await app.visitor().getJson('/own/nonce');
    const [line = '', ...others] = setCookies;
    const [pair = '', ...attributes] = line.split('; ');
    expect([pair.startsWith(`${name}=`), others]).toEqual([true, []]);
    expect(attributes).toEqual(
      expect.arrayContaining(['Max-Age=600', 'Path=/', 'HttpOnly', 'SameSite=Lax', ...protocolAttributes]),
    );
    expect(headers['cache-control']).toBe('private, no-store');
  });

  it('is taken once', async () => {
    const visitor = app.visitor();
    const { nonce } = await create(visitor);
    const taken = (await visitor.postJson('/own/take')).json;
    // The second call was in the same request.
    expect(taken).toEqual({ nonce, again: null });
    expect(visitor.cookies.size).toBe(0);
    expect(await take(visitor)).toBeNull();
  });

  it('is null where there is none, and where it is older than ten minutes', async () => {
    const visitor = app.visitor();
    expect(await take(visitor)).toBeNull();
    await create(visitor);
    app.clock.advance(600_000);
    expect(await take(visitor)).toBeNull();
    expect(visitor.cookies.size).toBe(0);
    await create(visitor);
    app.clock.advance(599_000);
    expect(await take(visitor)).not.toBeNull();
  });

  it('is shared by the tabs of a browser for five minutes; then a page gets its own', async () => {
    const visitor = app.visitor();
    const first = await create(visitor);
    app.clock.advance(299_000);
    const second = await visitor.getJson('/own/nonce');
    expect([second.json, second.setCookies]).toEqual([first, []]);
    expect(second.headers['cache-control']).toBe('private, no-store');
    app.clock.advance(2_000);
    const third = await create(visitor);
    expect(third.nonce).not.toBe(first.nonce);
    expect(await take(visitor)).toBe(third.nonce);
  });

  it.each(['', 'x', '.', 'x.y', `${'z'.repeat(11)}.${'a'.repeat(43)}`, `zzzzzzzzzz.${'a'.repeat(43)}`, '%00', '"'])(
    'made up as %j is none',
    async (value) => {
      const visitor = app.visitor();
      visitor.cookies.set(name, value);
      expect(await take(visitor)).toBeNull();
      expect((await create(visitor)).nonce).toMatch(/^[\w-]{43}$/);
    },
  );

  it('for a response that is already sent is an error', async () => {
    const late: unknown[] = [];
    own.late = (error) => late.push(error);
    const visitor = app.visitor();
    for (const path of ['/sent/create', '/sent/take']) expect((await visitor.post(path)).text).toBe('sent');
    await until(() => late.length === 2);
    expect(late.map(String)).toEqual([
      expect.stringContaining('createNonce: the headers of the response are already sent'),
      expect.stringContaining('takeNonce: the headers of the response are already sent'),
    ]);
  });

  it('beside another of a sibling domain is none', async () => {
    const visitor = app.visitor();
    await create(visitor);
    const value = String(visitor.cookies.get(name));
    const other = `${value.slice(0, -3)}abc`;
    const cookie = `${name}=${value}; ${name}=${other}`;
    const answer = await app.visitor().post('/own/take', { headers: { cookie } });
    expect(answer.json.nonce).toBeNull();
    const twice = { headers: { cookie: `${name}=${value}; ${name}=${value}` } };
    expect((await app.visitor().post('/own/take', twice)).json.nonce).toBe(value.split('.')[1]);
  });
});

describe('the nonce of one request', () => {
  const now = 1_800_000_000_000;
  const nonce = 'n'.repeat(43);
  /** A request with a nonce that is as many milliseconds old, if any. */
  const requestWith = (ageMs?: number): AuthRequest => {
    const cookie = ageMs === undefined ? '' : `session-nonce=${(now - ageMs).toString(36)}.${nonce}`;
    return bareRequest({ now: () => now }, { headers: { cookie } });
  };
  const take = ({ req, res }: AuthRequest): string | null => takeNonce(req, res);
  const create = ({ req, res }: AuthRequest): string => createNonce(req, res).nonce;
  const setCookieOf = ({ res }: AuthRequest): unknown => res.writeHead(200).getHeader('set-cookie');

  it.each([
    [599_999, true],
    [600_000, false],
    [-59_999, true],
    [-60_000, false],
  ])('at an age of %i ms can be taken: %p; clocks differ by less than a minute', (ageMs, isTaken) => {
    expect(take(requestWith(ageMs))).toBe(isTaken ? nonce : null);
  });

  it.each([
    [299_999, true],
    [300_000, false],
  ])('at an age of %i ms is shared: %p', (ageMs, isShared) => {
    expect(create(requestWith(ageMs)) === nonce).toBe(isShared);
  });

  it('is deleted when it is taken; where there is none, no cookie is sent', () => {
    const [taken, none] = [requestWith(0), requestWith()];
    expect([take(taken), setCookieOf(taken)]).toEqual([
      nonce,
      [expect.stringMatching(/^session-nonce=; Max-Age=0;.*HttpOnly/)],
    ]);
    expect([take(none), setCookieOf(none)]).toEqual([null, undefined]);
  });

  it('can be taken in the response that makes it, once, also after other cookies', () => {
    const request = requestWith();
    const made = create(request);
    request.writeCookies([{ name: 'session', value: 'new' }]);
    expect([take(request), take(request), take(request)]).toEqual([made, null, null]);
    // Nothing is left to delete after the first time.
    expect(request.written.map(({ name, value }) => [name, value?.split('.')[1]])).toEqual([
      ['session-nonce', made],
      ['session', undefined],
      ['session-nonce', undefined],
    ]);
  });

  it('needs an adapter that has seen the request', () => {
    const req = new IncomingMessage(new Socket());
    const res = new ServerResponse(req);
    for (const call of [createNonce, takeNonce]) {
      expect(() => call(req, res)).toThrow(ConfigurationError);
      expect(() => call(req, res)).toThrow(/no adapter has seen this request/);
    }
  });
});
