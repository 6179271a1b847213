import { AuthError } from '../../lib/errors.ts';
import { requireSession } from '../../lib/b2b/index.ts';
import type { B2bAuthOptions, BuiltInPage } from '../../lib/b2b/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import type { StandInUser } from '../../stand-ins/workos/index.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { sendText } from '../support/hosts.ts';
import { createPageBrowser } from '../support/page-browser.ts';
import type { PageBrowser } from '../support/page-browser.ts';
import { protocolAttributes, variant } from '../support/variant.ts';

/** What a sign-in was asked with is named again by every way on from its failure. */
const closing = closeAfterEach();
const { personal, twoOrganizations } = demoUsers;
const [north, south] = twoOrganizations.organizations;

let provider: SharedProvider;
beforeAll(async () => (provider = await startProvider()));
afterAll(() => provider.close());
beforeEach(() => {
  Object.assign(provider.workos.switches, { authenticateError: null, extraClaims: {}, outage: {} });
  provider.workos.users.set(personal.id, personal);
});

const withoutProvider = {
  organization_id: north.id,
  invitation_token: 'inv_1',
  max_age: '600',
  login_hint: 'ada@example.com',
  domain_hint: 'example.com',
};
const asked = { ...withoutProvider, provider: 'GoogleOAuth' };
const path = `/login?${new URLSearchParams({ ...asked, returnTo: '/dashboard' }).toString()}`;

const start = (options: B2bAuthOptions = {}): Promise<B2bApp> => closing(startB2bApp({ provider, options }));
const isHosted = ({ at }: PageBrowser): boolean => new URL(at.url).origin === provider.workos.url;
/** A return path without the prefix of the whole application. */
const queryOf = (url: string): Record<string, string> =>
  Object.fromEntries(
    [...new URL(url, 'http://localhost').searchParams].map(([name, value]) => [
      name,
      name === 'returnTo' && value.startsWith(`${variant.prefix}/`) ? value.slice(variant.prefix.length) : value,
    ]),
  );

/** The query of the error page's button. */
function named(browser: PageBrowser): Record<string, string> {
  const link = browser.links().find(({ href }) => href.includes('/login'));
  if (link === undefined) throw new Error(`no way on: ${browser.at.answer.text}`);
  return queryOf(link.href);
}

/** Opens the hosted page, and signs in there. */
async function signIn(app: B2bApp, from = path, user: StandInUser = personal): Promise<PageBrowser> {
  const browser = createPageBrowser(app.origin);
  await browser.open(from);
  expect(isHosted(browser)).toBe(true);
  await browser.post(browser.at.url, { user_id: user.id });
  return browser;
}

const refuse = (code: string): void => {
  provider.workos.switches.authenticateError = { status: 403, body: { code, message: 'Refused.' } };
};
const hook = (code: ConstructorParameters<typeof AuthError>[0]): B2bAuthOptions => ({
  onSignIn: () => {
    throw new AuthError(code);
  },
});

describe('the page of a refused sign-in', () => {
  it('names what was asked, with the provider, where the same account may sign in again', async () => {
    refuse('invalid_grant');
    const browser = await signIn(await start());
    expect(browser.at.answer.text).toContain('code_rejected');
    expect(named(browser)).toEqual({ ...asked, returnTo: '/dashboard' });
  });

  it.each<[string, B2bAuthOptions]>([
    ['onSignIn', hook('forbidden')],
    ['accept', { accept: () => false }],
  ])('of %s names it beside another account, without the provider and the hint of this one', async (_, options) => {
    const browser = await signIn(await start(options));
    const { login_hint, ...ofOther } = withoutProvider;
    expect(named(browser)).toEqual({ ...ofOther, prompt: 'login', returnTo: '/dashboard' });
    expect(browser.at.answer.text).not.toContain(encodeURIComponent(login_hint));
  });

  it('names it after a cancellation at the provider', async () => {
    const browser = createPageBrowser((await start()).origin);
    await browser.open(path);
    await browser.post(browser.at.url, { decision: 'cancel' });
    expect(browser.at.answer.text).toContain('access_denied');
    expect(named(browser)).toEqual({ ...withoutProvider, prompt: 'login', returnTo: '/dashboard' });
  });

  it('names the organization of a switch that an outage has lost', async () => {
    const browser = await signIn(await start(), `/login?organization_id=${north.id}`, twoOrganizations);
    provider.workos.switches.outage = { token: { status: 503 } };
    const switched = { organizationId: south.id, returnTo: '/dashboard' };
    await browser.post('/organization', switched, { origin: new URL(browser.at.url).origin });
    expect(browser.at.answer.status).toBe(503);
    expect(named(browser)).toEqual({ organization_id: south.id, returnTo: '/dashboard' });
  });

  it.each([
    ['WorkOS limits it', { status: 429, retryAfterSeconds: 30 }, 'Sign-in is busy right now. Try again in 30 seconds.'],
    ['WorkOS fails', { status: 500 }, 'We can’t reach the sign-in service right now. Try again in 5 seconds.'],
  ])('says what is known where %s', async (_, token, words) => {
    provider.workos.switches.outage = { token };
    const browser = await signIn(await start());
    expect([browser.at.answer.status, browser.at.answer.text]).toEqual([503, expect.stringContaining(words)]);
  });

  it('leads on to the organization and the invitation', async () => {
    refuse('invalid_grant');
    const app = await start();
    const browser = await signIn(app);
    provider.workos.switches.authenticateError = null;
    await browser.open(browser.links().find(({ href }) => href.includes('/login'))!.href);
    await browser.post(browser.at.url, { user_id: personal.id });
    expect(new URL(browser.at.url).pathname).toBe('/dashboard');
    expect((await browser.jar.getJson('/auth/session')).json.organizationId).toBe(north.id);
  });

  it.each([
    ['invitation_invalid', 'invitation_token'],
    ['email_password_auth_disabled', 'provider'],
  ])('after %s does not name the refused %s again', async (code, name) => {
    refuse(code);
    const browser = await signIn(await start());
    expect(named(browser)).not.toHaveProperty([name]);
    expect(named(browser)).toMatchObject({ organization_id: north.id, login_hint: asked.login_hint });
  });

  it('says "Sign in" of the sign-in screen, also after a sign-up', async () => {
    refuse('invalid_grant');
    const browser = createPageBrowser((await start()).origin);
    await browser.open('/signup?invitation_token=inv_1');
    await browser.post(browser.at.url, { decision: 'sign-up', email: `new-${Date.now()}@example.com`, name: 'New' });
    expect(named(browser)).toEqual({ invitation_token: 'inv_1' });
  });

  it('does not name the organization of the option', async () => {
    refuse('invalid_grant');
    const browser = await signIn(await start({ organizationId: north.id }), '/login?organization_id=org_other', {
      ...twoOrganizations,
    });
    expect(named(browser)).toEqual({});
  });

  it('keeps an invitation’s token out of pages.render and of events', async () => {
    refuse('invalid_grant');
    const pages: BuiltInPage[] = [];
    const render = (_req: unknown, _res: unknown, page: BuiltInPage): boolean => {
      pages.push(page);
      return false;
    };
    const printed: unknown[] = [];
    const app = await start({ pages: { render }, onEvent: (event) => printed.push(event) });
    await signIn(app);
    expect(pages.map(({ kind }) => kind)).toEqual(['error']);
    expect(queryOf(pages[0]?.links['signIn'] ?? '')).toMatchObject({ organization_id: north.id });
    expect(JSON.stringify([pages, printed])).not.toMatch(/inv_1|invitation_token/);
  });
});

describe('a sign-in that starts over', () => {
  it('after an outage names all that was asked, also the screen', async () => {
    provider.workos.switches.outage = { token: 'refuse' };
    const app = await start();
    const browser = await signIn(app, path.replace('/login', '/signup'));
    expect(browser.at.answer.status).toBe(503);
    provider.workos.switches.outage = {};
    await browser.open(browser.at.url);
    expect(queryOf(browser.at.url)).toMatchObject(asked);
    provider.workos.switches.outage = { token: 'refuse' };
    const second = await signIn(app, '/signup?invitation_token=inv_1');
    provider.workos.switches.outage = {};
    await second.open(second.at.url);
    expect(queryOf(second.at.url)).toMatchObject({ invitation_token: 'inv_1', screen_hint: 'sign-up' });
  });

  it('for single sign-on names it without the provider that was refused', async () => {
    refuse('sso_required');
    const browser = await signIn(await start());
    expect(isHosted(browser)).toBe(true);
    expect(queryOf(browser.at.url)).toMatchObject({ ...withoutProvider, provider: 'authkit' });
  });

  it('because newer tabs pushed it out names what all of them ask for', async () => {
    const app = await start();
    const visitor = app.visitor();
    const callbacks: string[] = [];
    for (let count = 0; count < 7; count += 1) {
      provider.clock.advance(1);
      const { location } = await visitor.get(path);
      callbacks.push((await provider.workos.authorize(location, { user: personal, organizationId: north.id })).href);
    }
    const again = await visitor.get(callbacks[0]!);
    expect([again.status, queryOf(again.location)]).toEqual([303, expect.objectContaining(asked)]);
  });

  it('names nothing where the open tabs ask for different things', async () => {
    const app = await start();
    const visitor = app.visitor();
    const callbacks: string[] = [];
    for (const wanted of [north, south, south, south, south, south]) {
      provider.clock.advance(1);
      const { location } = await visitor.get(`/login?organization_id=${wanted.id}&returnTo=/dashboard`);
      callbacks.push(
        (await provider.workos.authorize(location, { user: twoOrganizations, organizationId: wanted.id })).href,
      );
    }
    visitor.cookies.delete([...visitor.cookies.keys()].find((name) => name.includes('-flow-'))!);
    await visitor.get('/login?returnTo=/dashboard');
    const again = await visitor.get(callbacks[0]!);
    expect(again.status).toBe(303);
    expect(queryOf(again.location)).not.toHaveProperty('organization_id');
  });
});

describe('the choice of an organization', () => {
  const choose = async (browser: PageBrowser, { name }: { readonly name: string }): Promise<void> => {
    await browser.open(browser.links().find(({ label }) => label.includes(name))!.href);
  };
  const plain = '/login?domain_hint=example.com&returnTo=/dashboard';

  it('offers another account with what was asked', async () => {
    const browser = await signIn(await start(), plain, twoOrganizations);
    expect(named(browser)).toEqual({ domain_hint: 'example.com', prompt: 'login', returnTo: '/dashboard' });
  });

  it('is named again where the sign-in is refused after it', async () => {
    const browser = await signIn(await start(hook('forbidden')), plain, twoOrganizations);
    await choose(browser, south);
    expect(named(browser)).toMatchObject({ organization_id: south.id, domain_hint: 'example.com' });
  });

  it('is named again by a reload after an outage', async () => {
    const browser = await signIn(await start(), plain, twoOrganizations);
    provider.workos.switches.outage = { token: 'refuse' };
    await choose(browser, south);
    expect(browser.at.answer.status).toBe(503);
    provider.workos.switches.outage = {};
    const page = browser.at.url;
    await browser.open(page);
    expect(new URL(browser.at.url).pathname).toBe('/dashboard');
    expect((await browser.jar.getJson('/auth/session')).json.organizationId).toBe(south.id);
  });

  it('is not named where WorkOS refuses the choice itself', async () => {
    const browser = await signIn(await start(), plain, twoOrganizations);
    refuse('organization_membership_not_found');
    await choose(browser, south);
    expect(browser.at.answer.text).toContain('not_a_member');
    expect(named(browser)).not.toHaveProperty('organization_id');
  });
});

it('a fresh sign-in stays in the organization where the person is', async () => {
  const app = await closing(
    startB2bApp({
      provider,
      after: (host) => host.get('/fresh', requireSession({ maxAge: 60 }), (_req, res) => sendText(res, 'fresh')),
    }),
  );
  const browser = await signIn(app, `/login?organization_id=${south.id}&returnTo=/fresh`, twoOrganizations);
  expect(browser.at.answer.text).toBe('fresh');
  provider.clock.advance(120_000);
  await browser.open('/fresh');
  expect(queryOf(browser.at.url)).toMatchObject({ organization_id: south.id, max_age: '60' });
  await browser.post(browser.at.url, { user_id: twoOrganizations.id });
  expect(browser.at.answer.text).toBe('fresh');
  expect((await browser.jar.getJson('/auth/session')).json.organizationId).toBe(south.id);
});

describe('what the flow keeps', () => {
  it('fits the cookie: the organization and the way back before the hints', async () => {
    const app = await start();
    const returnTo = `/dashboard?${'x'.repeat(2_000)}`;
    const long = {
      organization_id: north.id,
      invitation_token: 'i'.repeat(256),
      provider: 'p'.repeat(40),
      login_hint: 'é'.repeat(320),
      domain_hint: `${'d'.repeat(249)}.com`,
    };
    const visitor = app.visitor();
    const { location, setCookies } = await visitor.get(
      `/login?${new URLSearchParams({ ...long, returnTo }).toString()}`,
    );
    expect(queryOf(location)).toMatchObject(long);
    expect(setCookies).toHaveLength(1);
    expect(Buffer.byteLength(setCookies[0] ?? '')).toBeLessThanOrEqual(4_096 + protocolAttributes.join().length);
    const { origin } = app;
    const state = queryOf(location)['state'] ?? '';
    const canceled = await visitor.get(
      `${origin}/callback?${new URLSearchParams({ error: 'server_error', state }).toString()}`,
    );
    const link = /href="([^"]*\/login[^"]*)"/.exec(canceled.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(queryOf(link)).toMatchObject({ organization_id: north.id, returnTo });
    expect(queryOf(link)).not.toHaveProperty('login_hint');
  });
});
