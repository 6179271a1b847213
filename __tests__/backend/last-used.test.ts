import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { flowPrefix } from '../support/variant.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

const cookie = `${flowPrefix}sb-127-auth-token-last`;
const everyWay: BackendAppSetup = {
  options: { providers: ['github', 'google'], signInMethods: ['password', 'code'], sso: true },
  standIn: { ssoDomains: new Set(['example.com']) },
};

let app: BackendApp;
const start = async (setup: BackendAppSetup = everyWay): Promise<Visitor> => {
  app = await startBackendApp(setup);
  return app.visitor();
};
afterEach(() => app.close());

/** The words of the marked ways on the sign-in page. */
async function marked(visitor: Visitor): Promise<readonly string[]> {
  const { text } = await visitor.get('/auth/login?prompt=login');
  return [...text.matchAll(/<(a|button)[^>]*>(?:<svg.*?<\/svg>)?([^<]*) <small>Last used<\/small><\/\1>/g)].map(
    ([, , words = '']) => words,
  );
}
const marks = ({ setCookies }: Answer): readonly string[] => setCookies.filter((line) => line.startsWith(`${cookie}=`));

const signInWays: Readonly<Record<string, (visitor: Visitor) => Promise<Answer>>> = {
  'Sign in': (visitor) => postForm(visitor, '/auth/login', ada),
  'Email me a code instead': async (visitor) => {
    await postForm(visitor, '/auth/code', { email: ada.email });
    return postForm(visitor, '/auth/code', { email: ada.email, code: app.supabase.mails.at(-1)?.token ?? '' });
  },
  'Continue with Google': async (visitor) => {
    const begun = await visitor.get('/auth/login?provider=google');
    return visitor.get((await app.supabase.authorize(begun.location, { approve: true })).href);
  },
  'Single sign-on': async (visitor) => {
    const begun = await postForm(visitor, '/auth/sso', { email: 'octavia@example.com' });
    return visitor.get(
      (await app.supabase.authorize(begun.location, { approve: true, user: 'octavia@example.com' })).href,
    );
  },
};

it.each(Object.keys(signInWays))('the sign-in page marks the way that this browser used last: %s', async (words) => {
  const visitor = await start();
  expect(await marked(visitor)).toEqual([]);
  const answer = await signInWays[words]!(visitor);
  expect([answer.status, marks(answer).length]).toEqual([303, 1]);
  expect(await marked(visitor)).toEqual([words]);
});

it('the mark is one HttpOnly cookie of a year with the name of the way alone, and a later way takes its place', async () => {
  const visitor = await start();
  const [line = ''] = marks(await postForm(visitor, '/auth/login', ada));
  const [pair, ...attributes] = line.split('; ');
  expect(pair).toBe(`${cookie}=password`);
  expect(attributes.filter((attribute) => attribute !== 'Secure').sort()).toEqual([
    'HttpOnly',
    'Max-Age=31536000',
    'Path=/',
    'SameSite=Lax',
  ]);
  expect(attributes.includes('Secure')).toBe(flowPrefix !== '');
  await signInWays['Continue with Google']!(visitor);
  expect([visitor.cookies.get(cookie), await marked(visitor)]).toEqual(['google', ['Continue with Google']]);
});

it('the mark stays after a sign-out, and is there for a second factor, too', async () => {
  const visitor = await start();
  app.supabase.addFactor(ada.email);
  const answer = await postForm(visitor, '/auth/login', ada);
  expect(answer.location).toContain('/auth/verify');
  await postForm(visitor, '/auth/logout', {});
  expect(await marked(visitor)).toEqual(['Sign in']);
});

it('a failed sign-in and a client of JSON leave no mark', async () => {
  const visitor = await start();
  expect(marks(await postForm(visitor, '/auth/login', { ...ada, password: 'wrong' }))).toEqual([]);
  const answer = await visitor.postJson('/auth/login', ada);
  expect([answer.status, marks(answer)]).toEqual([200, []]);
});

it.each<[string, BackendAppSetup]>([
  ['one way alone', {}],
  ['a sign-in page of the application', { options: { ...everyWay.options, pages: { signIn: '/welcome' } } }],
])('with %s there is no mark', async (_name, setup) => {
  const answer = await postForm(await start(setup), '/auth/login', ada);
  expect([answer.status, marks(answer)]).toEqual([303, []]);
});

it.each(['gitlab', 'Password', '<b>', '%3Cscript%3E', '', 'password,google', 'x'.repeat(200)])(
  'a cookie that names no way of the page marks nothing: %j',
  async (value) => {
    const visitor = await start();
    visitor.cookies.set(cookie, value);
    const { status, text } = await visitor.get('/auth/login');
    expect([status, text.includes('Last used'), text.includes(value) && value.length > 8]).toEqual([200, false, false]);
  },
);

it('in a row of icons the marked provider has its words, and comes first', async () => {
  const providers = ['github', 'google', 'gitlab', 'azure'];
  const visitor = await start({ options: { providers } });
  visitor.cookies.set(cookie, 'gitlab');
  expect(await marked(visitor)).toEqual(['Continue with GitLab']);
  const { text } = await visitor.get('/auth/login');
  const order = [...text.matchAll(/provider=(\w+)/g)].map(([, name]) => name);
  expect(order).toEqual(['gitlab', 'github', 'google', 'azure']);
});

it('pages.render gets the name of the way, and no other value of the cookie', async () => {
  const visitor = await start({
    options: {
      ...everyWay.options,
      pages: {
        render: (_req, res, page) => {
          res.end(JSON.stringify({ kind: page.kind, lastUsed: page.lastUsed }));
          return true;
        },
      },
    },
  });
  visitor.cookies.set(cookie, 'gitlab');
  expect((await visitor.get('/auth/login')).json).toEqual({ kind: 'sign_in' });
  await postForm(visitor, '/auth/login', ada);
  expect((await visitor.get('/auth/login?prompt=login')).json).toEqual({ kind: 'sign_in', lastUsed: 'password' });
});
