import { createSubmitOnce } from '../../lib/backend/forms/double-submit.ts';
import type { CookieWrite } from '../../lib/tools/cookies.ts';
import type { AuthRequest } from '../../lib/http/request.ts';
import { redirect } from '../../lib/http/reply.ts';
import type { Reply } from '../../lib/http/reply.ts';

const cookieName = 'sb-auth';
const start = 1_000_000;

/** One POST of a form. */
interface Post {
  readonly headers?: Readonly<Record<string, string>>;
  readonly originalUrl?: string;
  readonly prefix?: string;
  readonly wantsJson?: boolean;
  readonly peer?: string;
  readonly cookies?: Readonly<Record<string, string>>;
  readonly fields?: Readonly<Record<string, string>>;
  /** The session of the cookies that the first response left. */
  readonly session?: () => Promise<object | null>;
  readonly provesSender?: boolean;
  /** What its own work answers. */
  readonly status?: number;
  readonly writes?: readonly CookieWrite[];
}

const typical: Post = {
  headers: { host: 'app.example', 'user-agent': 'Browser/1' },
  originalUrl: '/auth/login',
  prefix: '',
  wantsJson: false,
  peer: '203.0.113.7',
  cookies: { [cookieName]: 'a' },
  fields: { email: 'ada@example.com' },
  session: () => Promise.resolve({}),
  status: 303,
  writes: [],
};

/** A process that takes posts; each says whether it did the work itself, and which cookies its response has. */
function startProcess() {
  let now = start;
  const submitOnce = createSubmitOnce({ now: () => now, cookieName });
  return {
    advance: (ms: number): void => void (now += ms),
    post: async (post: Post = {}) => {
      const {
        headers,
        originalUrl,
        cookies = {},
        fields = {},
        session,
        status = 303,
        writes = [],
        provesSender = false,
        ...own
      } = {
        ...typical,
        ...post,
      };
      const written: CookieWrite[] = [];
      const request = {
        ...own,
        req: { headers, originalUrl },
        cookies: new Map(Object.entries(cookies).map(([name, value]) => [name, [value]])),
        definition: { resolver: { resolve: () => session?.().then((found) => ({ session: found })) } },
        written,
        writeCookies: (more: readonly CookieWrite[]) => void written.push(...more),
      } as unknown as AuthRequest;
      let isOwnWork = false;
      const work = (): Promise<Reply> => {
        isOwnWork = true;
        request.writeCookies(writes);
        return Promise.resolve({ ...redirect(303, '/'), status });
      };
      await submitOnce(request, { fields: new Map(Object.entries(fields)), provesSender, submit: work });
      return { isOwnWork, written };
    },
  };
}

/** Whether the second post shares the answer to the first one, which has arrived. */
async function isShared(first: Post, second: Post): Promise<boolean> {
  const { post } = startProcess();
  await post(first);
  return !(await post(second)).isOwnWork;
}

describe('a second post', () => {
  it.each<[string, Post]>([
    ['host', { headers: { host: 'other.example', 'user-agent': 'Browser/1' } }],
    ['kind of browser', { headers: { host: 'app.example', 'user-agent': 'Browser/2' } }],
    ['path', { originalUrl: '/auth/signup' }],
    ['query', { originalUrl: '/auth/login?x' }],
    ['mount path', { prefix: '/app' }],
    ['kind of response', { wantsJson: true }],
    ['address', { peer: '203.0.113.8' }],
    ['value of a field', { fields: { email: 'eve@example.com' } }],
    ['field more', { fields: { email: 'ada@example.com', code: '1' } }],
    ['value of a cookie', { cookies: { [cookieName]: 'b' } }],
    ['cookie more', { cookies: { [cookieName]: 'a', [`${cookieName}-pending`]: 'x' } }],
    ['cookie less', { cookies: {} }],
  ])('is another form with another %s', async (_difference, second) => {
    expect(await isShared({}, second)).toBe(false);
  });

  it('is the same form with the same cookies in another order, and whatever other cookies the site has', async () => {
    const [a, b, c] = [{ [`${cookieName}-a`]: '1' }, { [`${cookieName}-b`]: '2' }, { [`${cookieName}-c`]: '3' }];
    for (const cookies of [
      { ...a, ...c, ...b },
      { ...c, ...b, ...a },
    ]) {
      expect(await isShared({ cookies }, { cookies: { consent: 'yes', ...b, ...a, ...c } })).toBe(true);
    }
  });

  it('is the same form with the cookies that the first response left', async () => {
    const first = {
      cookies: { [`${cookieName}-flow`]: '1', [`${cookieName}-pending`]: '2', [`${cookieName}-x`]: '3' },
      writes: [
        { name: `${cookieName}-flow`, value: 'new' },
        { name: `${cookieName}-pending`, value: undefined },
        { name: cookieName, value: 'session' },
      ],
    };
    const left = { [`${cookieName}-flow`]: 'new', [`${cookieName}-x`]: '3', [cookieName]: 'session' };
    expect(await isShared(first, { cookies: left })).toBe(true);
    expect(await isShared(first, { cookies: { ...left, [`${cookieName}-pending`]: '2' } })).toBe(false);
  });

  it('writes the cookies of the first response, which itself writes them once', async () => {
    const { post } = startProcess();
    const writes = [{ name: cookieName, value: 'b' }];
    expect((await post({ writes })).written).toEqual(writes);
    expect(await post()).toEqual({ isOwnWork: false, written: writes });
  });

  it('shares nothing where the browser has no cookie, which could be any other browser', async () => {
    expect(await isShared({ cookies: {} }, { cookies: {} })).toBe(false);
    expect(await isShared({ cookies: { consent: 'yes' } }, { cookies: { consent: 'yes' } })).toBe(false);
  });

  it('shares a session without a cookie where the fields prove who sends them', async () => {
    const writes = [{ name: cookieName, value: 'session' }];
    const post = { cookies: {}, provesSender: true, writes };
    expect(await isShared(post, post)).toBe(true);
    expect(await isShared({ ...post, writes: [] }, post)).toBe(false);
    expect(await isShared(post, { ...post, fields: { email: 'eve@example.com' } })).toBe(false);
  });

  it.each([
    [303, true],
    [399, true],
    [400, false],
    [401, false],
  ])('after the status %i shares the answer: %p', async (status, expected) => {
    expect(await isShared({ status }, { status })).toBe(expected);
  });

  it.each([
    [2_000, true],
    [2_001, false],
  ])('%i ms after the answer shares it: %p', async (ms, expected) => {
    const { post, advance } = startProcess();
    await post();
    advance(ms);
    expect((await post()).isOwnWork).toBe(!expected);
  });
});

describe('the session that the first response left', () => {
  const ended = () => Promise.resolve(null);
  const unknown = () => Promise.reject(new Error('the store is down'));

  it.each<[string, string, () => Promise<object | null>]>([
    ['was ended', cookieName, ended],
    ['was ended, in parts', `${cookieName}.0`, ended],
    ['cannot be read', cookieName, unknown],
  ])('starts the work again where it %s', async (_state, name, session) => {
    const cookies = { [`${cookieName}-pending`]: 'b', [name]: 'a' };
    expect(await isShared({ cookies }, { cookies, session })).toBe(false);
  });

  it('is not asked for while the first post is still worked on, which both share', async () => {
    const { post } = startProcess();
    const answers = await Promise.all([post({ session: ended }), post({ session: ended })]);
    expect(answers.map(({ isOwnWork }) => isOwnWork)).toEqual([true, false]);
  });

  it('is not there where only other cookies of the adapter are', async () => {
    const cookies = { [`${cookieName}-pending`]: 'a' };
    expect(await isShared({ cookies }, { cookies, session: ended })).toBe(true);
  });
});
