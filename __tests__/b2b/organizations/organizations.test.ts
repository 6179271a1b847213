import { sealData } from 'iron-session';
import { demoUsers, startB2bApp, startProvider } from '../../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../../support/b2b-app.ts';
import type { StandInUser } from '../../../stand-ins/workos/index.ts';
import type { B2bSignIn } from '../../../lib/b2b/index.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

let provider: SharedProvider;
let app: B2bApp;
beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({ provider });
});
beforeEach(() => app.workos.clearRequests());
afterAll(async () => {
  await app.close();
  await provider.close();
});

const { twoOrganizations } = demoUsers;
const [instruments, lighthouse] = twoOrganizations.organizations;

async function comeBack(
  visitor: Visitor,
  how: { readonly path?: string; readonly user?: StandInUser; readonly on?: B2bApp } = {},
): Promise<{ readonly answer: Answer; readonly callback: string }> {
  const { path = '/login?returnTo=/dashboard', user = twoOrganizations, on = app } = how;
  const start = await visitor.get(path);
  const callback = (await on.workos.authorize(start.location, { user })).href;
  return { answer: await visitor.get(callback), callback };
}

/** The links of the organization page, as a browser would read them. */
const linksOf = ({ text }: Answer): string[] =>
  [...text.matchAll(/href="([^"]*organization_id=[^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));

async function organizationOf(visitor: Visitor): Promise<string | undefined> {
  return (await visitor.getJson('/auth/session')).json.organizationId;
}

it('lets a user with several organizations choose, and keeps returnTo', async () => {
  const visitor = app.visitor();
  const { answer } = await comeBack(visitor);
  expect(answer.status).toBe(200);
  expect(answer.text).toContain(instruments.name);
  expect(answer.text).toContain(lighthouse.name);
  expect(answer.headers['cache-control']).toBe('private, no-store');
  expect(visitor.cookies.has('b2b-session')).toBe(false);

  const done = await visitor.get(linksOf(answer)[1] ?? '');
  expect([done.status, done.headers.location]).toEqual([303, '/dashboard']);
  expect(await organizationOf(visitor)).toBe(lighthouse.id);
  expect([...visitor.cookies.keys()]).toEqual(['b2b-session']);
});

it('does not ask a user who has one organization or none', async () => {
  expect(await organizationOf(await app.signedIn(demoUsers.oneOrganization))).toBe(instruments.id);
  expect(await organizationOf(await app.signedIn(demoUsers.personal))).toBeUndefined();
});

it('uses the organization that the query names, without asking', async () => {
  const visitor = app.visitor();
  await comeBack(visitor, { path: `/login?organization_id=${lighthouse.id}` });
  expect(await organizationOf(visitor)).toBe(lighthouse.id);
});

describe('the option organizationId', () => {
  const hooked: string[] = [];
  let strict: B2bApp;
  beforeAll(async () => {
    const onSignIn = ({ session }: B2bSignIn): void => void hooked.push(session.user.id);
    strict = await startB2bApp({ provider, options: { organizationId: instruments.id, onSignIn } });
  });
  beforeEach(() => {
    hooked.length = 0;
    strict.events.length = 0;
  });
  afterAll(() => strict.close());

  it('is requested, whatever organization the query names', async () => {
    for (const path of ['/login', `/login?organization_id=${lighthouse.id}`, '/signup?organization_id=org_01X']) {
      const asked = new URL((await strict.visitor().get(path)).location).searchParams;
      expect([path, asked.get('organization_id')]).toEqual([path, instruments.id]);
    }
    const visitor = strict.visitor();
    await comeBack(visitor, { on: strict, path: `/login?organization_id=${lighthouse.id}` });
    expect([await organizationOf(visitor), hooked.length]).toEqual([instruments.id, 1]);
  });

  const elsewhere = { ...demoUsers.personal, id: 'user_01ELSEWHERE', organizations: [lighthouse] };
  const others = [{ ...lighthouse }, { id: 'org_01THIRD', name: 'Third' }];
  it.each([
    ['no organization', demoUsers.personal],
    ['another organization', elsewhere],
    ['several others', { ...demoUsers.personal, id: 'user_01OTHERS', organizations: others }],
  ])('rejects, before calling the hook, a user who comes back with %s', async (_name, user) => {
    app.workos.users.set(user.id, user);
    const visitor = strict.visitor();
    // WorkOS' emulator ignores the parameter as this does: the user who comes back is the one signed in there.
    const asked = new URL((await visitor.get('/login')).location);
    asked.searchParams.delete('organization_id');
    const refused = await visitor.get((await app.workos.authorize(asked, { user })).href);
    expect([refused.status, linksOf(refused)]).toEqual([403, []]);
    expect(refused.text).toContain('organization_required');
    expect([visitor.cookies.size, hooked]).toEqual([0, []]);
    expect(strict.events).toMatchObject([{ type: 'sign_in_failed', code: 'organization_required' }]);
  });

  it('is no guard: a session that another application started stays valid', async () => {
    const session = await app.workos.issueSession({ user: elsewhere, organizationId: lighthouse.id });
    const visitor = strict.visitor();
    const sealed = await sealData(session, { password: strict.cookiePassword, ttl: 0 });
    visitor.cookies.set('b2b-session', sealed);
    expect((await visitor.get('/dashboard')).status).toBe(200);
  });
});

it('selects the organization of the flow if the provider asks for one', async () => {
  const visitor = app.visitor();
  const start = await visitor.get(`/login?organization_id=${lighthouse.id}`);
  // Like a provider that ignores the parameter.
  const asked = new URL(start.location);
  asked.searchParams.delete('organization_id');
  const callback = await app.workos.authorize(asked, { user: twoOrganizations });
  expect((await visitor.get(callback.href)).status).toBe(303);
  expect(await organizationOf(visitor)).toBe(lighthouse.id);
});

it('shows the choice again on reload, without exchanging the code again', async () => {
  const visitor = app.visitor();
  const { callback } = await comeBack(visitor);
  const again = await visitor.get(callback);
  expect([again.status, linksOf(again).length]).toEqual([200, 2]);
  expect(app.workos.tokenCalls).toBe(1);
  expect((await visitor.get(linksOf(again)[0] ?? '')).status).toBe(303);
});

it('keeps the pending authentication out of pages and URLs', async () => {
  const visitor = app.visitor();
  const { answer } = await comeBack(visitor);
  await visitor.get(linksOf(answer)[0] ?? '');
  const selection = app.workos.requests.find(({ grantType }) => grantType?.endsWith('organization-selection'));
  const token = String(selection?.body['pending_authentication_token']);
  expect(token.length).toBeGreaterThan(10);
  expect(answer.text + answer.setCookies.join()).not.toContain(token);
});

it('lets no other browser choose: the links are useless there', async () => {
  const { answer } = await comeBack(app.visitor());
  const stranger = app.visitor();
  expect((await stranger.get(linksOf(answer)[0] ?? '')).status).toBe(400);
  expect(stranger.cookies.size).toBe(0);
});

it('signs no one in to an organization that was not offered', async () => {
  const visitor = app.visitor();
  const { answer } = await comeBack(visitor);
  const link = (linksOf(answer)[0] ?? '').replace(instruments.id, 'org_01SOMEBODYELSES');
  const refused = await visitor.get(link);
  expect([refused.status, linksOf(refused).length, app.workos.tokenCalls]).toEqual([200, 2, 1]);
  expect(visitor.cookies.has('b2b-session')).toBe(false);
});

it('escapes a name that contains markup', async () => {
  const organizations = [
    { id: 'org_01A', name: '<img src=x onerror=alert(1)>' },
    { id: 'org_01B', name: '"\'&</a>' },
  ];
  const user = { ...demoUsers.personal, id: 'user_01MARKUP', organizations };
  app.workos.users.set(user.id, user);
  const { answer } = await comeBack(app.visitor(), { user });
  expect(answer.text).not.toContain('<img');
  expect(answer.text).toContain('&lt;img src=x onerror=alert(1)&gt;');
});

describe('a user with a great many organizations', () => {
  const organizations = Array.from({ length: 150 }, (_, index) => ({
    id: `org_01JC4XJ2M7Q8T3WZ5R9VKB${String(index).padStart(4, '0')}`,
    name: `Subsidiary number ${index} of the Analytical Instruments Company`,
  }));
  const user = { ...demoUsers.personal, id: 'user_01MANY', organizations };
  beforeAll(() => app.workos.users.set(user.id, user));

  it('can choose the last of them: no cookie exceeds the limit of browsers', async () => {
    const visitor = app.visitor();
    const { answer } = await comeBack(visitor, { user });
    for (const line of answer.setCookies) expect(line.length).toBeLessThanOrEqual(4096);
    expect(linksOf(answer)).toHaveLength(150);
    const done = await visitor.get(linksOf(answer).at(-1) ?? '');
    expect(done.status).toBe(303);
    expect(await organizationOf(visitor)).toBe(organizations.at(-1)?.id);
  });

  it.each(['org_01SOMEBODYELSES', organizations[1]?.id ?? '', '%20', ''])(
    'can choose again after a link to %j, which was not offered so',
    async (id) => {
      const visitor = app.visitor();
      const { answer } = await comeBack(visitor, { user });
      const [link = ''] = linksOf(answer);
      const refused = await visitor.get(link.replace(/organization_id=[^&]*/, `organization_id=${id}`));
      expect([refused.status, linksOf(refused).length, app.workos.tokenCalls]).toEqual([200, 150, 1]);
      expect((await visitor.get(link)).status).toBe(303);
      expect(await organizationOf(visitor)).toBe(organizations[0]?.id);
    },
  );

  it('can choose nothing by the links of another sign-in', async () => {
    const visitor = app.visitor();
    const [link = ''] = linksOf((await comeBack(visitor, { user })).answer);
    const [other = ''] = linksOf((await comeBack(visitor, { user })).answer);
    const offer = /offer=[\w-]{22}$/.exec(other)?.[0] ?? '';
    const refused = await visitor.get(link.replace(/offer=.*/, offer));
    expect([refused.status, visitor.cookies.has('b2b-session')]).toEqual([200, false]);
  });

  it('sees the choice again on reload', async () => {
    const visitor = app.visitor();
    const { callback } = await comeBack(visitor, { user });
    expect(linksOf(await visitor.get(callback))).toHaveLength(150);
    expect(app.workos.tokenCalls).toBe(1);
  });
});

describe('a user with a long list of organizations', () => {
  const organizations = Array.from({ length: 20 }, (_, index) => ({
    id: `org_01LONG${index}`,
    name: `Company ${index}`,
  }));
  const user = { ...demoUsers.personal, id: 'user_01LONG', organizations };
  beforeAll(() => app.workos.users.set(user.id, user));

  it('searches it without a script, chooses what was found, and returns to where the person was', async () => {
    const visitor = app.visitor();
    const { answer } = await comeBack(visitor, { path: '/login?returnTo=/dashboard%3Ftab=1', user });
    const [, action = '', state = ''] =
      /<form method="get" role="search" action="([^"]+)">\n<input type="hidden" name="state" value="([^"]+)">/.exec(
        answer.text,
      ) ?? [];
    const search = (words: string) =>
      visitor.get(`${action}?${new URLSearchParams({ state, search: words }).toString()}`);
    expect(linksOf(await search('nothing'))).toEqual([]);
    expect(linksOf(await search(''))).toHaveLength(20);
    const found = linksOf(await search('COMPANY 17'));
    expect(found).toHaveLength(1);
    expect(app.workos.tokenCalls).toBe(1);
    const done = await visitor.get(found[0] ?? '');
    expect([done.status, done.headers.location]).toEqual([303, '/dashboard?tab=1']);
    expect(await organizationOf(visitor)).toBe('org_01LONG17');
  });
});

describe('a list that is too long for the cookie', () => {
  const organizations = Array.from({ length: 500 }, (_, index) => ({
    id: `org_01JC4XJ2M7Q8T3WZ5R9VKB${String(index).padStart(4, '0')}`,
    name: index === 477 ? 'Zeta' : `Subsidiary ${index}`,
  }));
  const user = { ...demoUsers.personal, id: 'user_01FIVEHUNDRED', organizations };
  let other: B2bApp;
  beforeAll(async () => {
    app.workos.users.set(user.id, user);
    other = await startB2bApp({ provider, options: { cookiePassword: app.cookiePassword } });
  });
  beforeEach(() => void (app.workos.switches.outage = {}));
  afterAll(() => other.close());

  const searchFor = ({ text }: Answer, words: string): string => {
    const state = /name="state" value="([^"]+)"/.exec(text)?.[1] ?? '';
    return `/callback?${new URLSearchParams({ state, search: words }).toString()}`;
  };
  const listCalls = () => app.workos.requests.filter(({ endpoint }) => endpoint === 'memberships');
  /** The same browser at another process of the application. */
  const atOther = (visitor: Visitor): Visitor => {
    const moved = other.visitor();
    for (const [name, value] of visitor.cookies) moved.cookies.set(name, value);
    return moved;
  };

  it('is searched in another process, where the person finds one of 500 and signs in', async () => {
    const visitor = app.visitor();
    const { answer } = await comeBack(visitor, { user });
    expect([answer.status, linksOf(answer).length, listCalls().length]).toEqual([200, 500, 0]);
    const moved = atOther(visitor);
    const found = await moved.get(searchFor(answer, 'zeta'));
    expect([found.status, linksOf(found).length]).toEqual([200, 1]);
    expect(found.text).toContain('<bdi>Zeta</bdi>');
    expect(listCalls().map(({ query }) => [query['user_id'], query['limit']])).toEqual(Array(5).fill([user.id, '100']));
    const done = await moved.get(linksOf(found)[0] ?? '');
    expect([done.status, done.headers.location]).toEqual([303, '/dashboard']);
    expect(await organizationOf(moved)).toBe(organizations[477]?.id);
  });

  it('comes back whole on a reload in another process, also as JSON', async () => {
    const visitor = app.visitor();
    const { callback } = await comeBack(visitor, { user });
    const { pathname, search } = new URL(callback);
    expect(linksOf(await atOther(visitor).get(pathname + search))).toHaveLength(500);
    const { json } = await atOther(visitor).getJson(pathname + search);
    expect(json.organizations).toHaveLength(500);
    expect((await atOther(visitor).get(json.organizations[0].redirectTo)).status).toBe(303);
    expect(app.workos.tokenCalls).toBe(2);
  });

  it.each([
    ['hang', 503],
    ['refuse', 503],
    ['html502', 503],
    [{ status: 429 }, 503],
    [{ status: 401 }, 502],
  ] as const)(
    'survives a search while WorkOS fails (%j): the same search finds it afterwards',
    async (fault, status) => {
      const visitor = app.visitor();
      const { answer } = await comeBack(visitor, { user });
      app.workos.switches.outage = { memberships: fault };
      const failed = await visitor.get(searchFor(answer, 'zeta'));
      expect([failed.status, failed.setCookies]).toEqual([status, []]);
      app.workos.heal();
      const found = await visitor.get(searchFor(answer, 'zeta'));
      expect((await visitor.get(linksOf(found)[0] ?? '')).status).toBe(303);
    },
  );

  it('of thousands is searched among the 1,000 newest', async () => {
    const many = Array.from({ length: 1_101 }, (_, index) => ({ id: `org_01M${index}`, name: `Company ${index}` }));
    const person = { ...user, id: 'user_01THOUSANDS', organizations: many };
    app.workos.users.set(person.id, person);
    const visitor = app.visitor();
    const { answer } = await comeBack(visitor, { user: person });
    expect(linksOf(answer)).toHaveLength(1_101);
    expect(linksOf(await visitor.get(searchFor(answer, '')))).toHaveLength(1_000);
    expect(listCalls()).toHaveLength(10);
    expect((await visitor.get(linksOf(answer).at(-1) ?? '')).status).toBe(303);
  });

  it('has no search where WorkOS does not say whose list it is', async () => {
    const visitor = app.visitor();
    const body = {
      code: 'organization_selection_required',
      pending_authentication_token: 'p',
      organizations: organizations.map(({ id, name }) => ({ id, name })),
    };
    app.workos.switches.authenticateError = { status: 403, body };
    const { answer } = await comeBack(visitor, { user }).finally(() => {
      app.workos.switches.authenticateError = null;
    });
    expect(linksOf(answer)).toHaveLength(500);
    expect(answer.text).not.toContain('role="search"');
  });

  it('keeps the id of the person sealed', async () => {
    const { answer } = await comeBack(app.visitor(), { user });
    expect(answer.text + answer.setCookies.join()).not.toContain(user.id);
  });
});

it('offers links to sign in again, with returnTo, and to the start page', async () => {
  const { answer } = await comeBack(app.visitor());
  expect(answer.text).toContain('href="/login?returnTo=%2Fdashboard&amp;prompt=login"');
  expect(answer.text).toContain('href="/"');
});

it('answers a client that asks for JSON with the choices', async () => {
  const visitor = app.visitor();
  const { callback } = await comeBack(visitor);
  const { status, json, headers } = await visitor.getJson(callback);
  expect([status, json.organizations.map(({ id }: { id: string }) => id)]).toEqual([
    200,
    [instruments.id, lighthouse.id],
  ]);
  expect(headers.vary).toContain('Accept');
  expect((await visitor.get(json.organizations[1].redirectTo)).status).toBe(303);
  expect(await organizationOf(visitor)).toBe(lighthouse.id);
});

it('reports a choice whose pending authentication was already used', async () => {
  const error = { code: 'invalid_pending_authentication_token', message: 'Invalid pending authentication token' };
  const visitor = app.visitor();
  const { answer } = await comeBack(visitor);
  app.workos.switches.authenticateError = { status: 400, body: error };
  const refused = await visitor.get(linksOf(answer)[0] ?? '');
  app.workos.switches.authenticateError = null;
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('code_rejected');
});

it('reports a choice that was made too late', async () => {
  const visitor = app.visitor();
  const { answer } = await comeBack(visitor);
  provider.clock.advance(601_000);
  const late = await visitor.get(linksOf(answer)[0] ?? '');
  expect(late.status).toBe(400);
  expect(late.text).toContain('href="/login"');
  expect(visitor.cookies.has('b2b-session')).toBe(false);
});
