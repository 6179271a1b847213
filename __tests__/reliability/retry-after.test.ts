import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import type { Visitor } from '../support/visitor.ts';

const json = { 'content-type': 'application/json' };
const limited = (retryAfter: string) => () =>
  Response.json({ code: 429, error_code: 'over_request_rate_limit', message: 'Too many.' }, answer(429, retryAfter));
const answer = (status: number, retryAfter: string, headers: Record<string, string> = json): ResponseInit => ({
  status,
  headers: { ...headers, 'retry-after': retryAfter, date: new Date().toUTCString() },
});
const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString();

const html = '<html><body>Back soon</body></html>';
const page = { 'content-type': 'text/html' };
const pauses: readonly (readonly [string, () => Response])[] = [
  ['429', limited('30')],
  ['429 with a date', () => limited(inSeconds(30))()],
  ['503', () => Response.json({ message: 'Maintenance' }, answer(503, '30'))],
  ['a page with 503 and a date', () => new Response(html, answer(503, inSeconds(30), page))],
  ['a page with 429', () => new Response(html, answer(429, '30', page))],
  ['a page with 403', () => new Response(html, answer(403, '30', page))],
];

describe.each(adapters)('$name, asked by its provider to wait', ({ start }) => {
  let app: AppUnderTest;
  /** Answers refreshes in the provider's place. */
  let reply: (() => Response) | undefined;
  let asked = 0;
  beforeAll(async () => {
    const fetch: typeof globalThis.fetch = (input, init) => {
      const { href } = new URL(input instanceof Request ? input.url : input);
      const isRefresh = `${href} ${typeof init?.body === 'string' ? init.body : ''}`.includes('refresh_token');
      if (!isRefresh || href.includes('/logout')) return globalThis.fetch(input, init);
      asked += 1;
      return reply === undefined ? globalThis.fetch(input, init) : Promise.resolve(reply());
    };
    app = await start({ options: { fetch } });
  });
  beforeEach(() => {
    // No pause of an earlier test lasts.
    app.clock.advance(61_000);
    reply = undefined;
    asked = 0;
  });
  afterAll(() => app.close());

  const expired = async (): Promise<readonly [Visitor, Visitor]> => {
    const visitors = [await app.signedIn(), await app.otherSignedIn()] as const;
    app.expireTokens();
    asked = 0;
    return visitors;
  };
  const told = async (visitor: Visitor): Promise<[number, number]> => {
    const { status, headers } = await visitor.getJson('/api/me');
    return [status, Number(headers['retry-after'])];
  };

  it.each(pauses)('with %s refreshes nothing before Retry-After, for any session', async (_what, pause) => {
    const [one, other] = await expired();
    reply = pause;
    for (let request = 0; request < 10; request += 1) {
      const [status, seconds] = await told(request % 2 === 0 ? one : other);
      expect(status).toBe(503);
      expect([29, 30]).toContain(seconds);
    }
    expect(asked).toBe(1);

    app.clock.advance(20_000);
    const [status, left] = await told(other);
    expect([status, [9, 10].includes(left), asked]).toEqual([503, true, 1]);

    reply = undefined;
    app.clock.advance(11_000);
    expect((await one.getJson('/api/me')).status).toBe(200);
    expect(asked).toBe(2);
    expect((await other.getJson('/api/me')).status).toBe(200);
    expect(asked).toBe(3);
  });

  it('waits a minute at most, and tells browsers the provider’s own number', async () => {
    const [one, other] = await expired();
    reply = limited('7200');
    expect(await told(one)).toEqual([503, 7200]);
    app.clock.advance(50_000);
    expect(await told(other)).toEqual([503, 7150]);
    expect(asked).toBe(1);
    app.clock.advance(11_000);
    reply = undefined;
    expect((await other.getJson('/api/me')).status).toBe(200);
  });

  it('serves a live token meanwhile, and signs in', async () => {
    const [one] = await expired();
    reply = limited('30');
    await told(one);
    expect((await (await app.signedIn()).getJson('/api/me')).status).toBe(200);
    expect(asked).toBe(1);
  });

  it('makes no call for a session that is signed out meanwhile', async () => {
    const [one, other] = await expired();
    reply = limited('30');
    await told(one);
    await app.signOut(other);
    expect(other.cookies.size).toBe(0);
    expect(asked).toBe(1);
  });

  it('asks again at once without Retry-After, or after one that has passed', async () => {
    const [one, other] = await expired();
    for (const [index, retryAfter] of ['0', 'soon', inSeconds(-30)].entries()) {
      reply = limited(retryAfter);
      expect((await told(index % 2 === 0 ? one : other))[0]).toBe(503);
      expect(asked).toBe(index + 1);
    }
  });
});
