import { AuthError } from '../../lib/errors.ts';
import type { AuthErrorCode } from '../../lib/errors.ts';
import { refusals as codes } from '../../lib/b2b/refusals.ts';
import { requireSession } from '../../lib/b2b/index.ts';
import type { OnB2bSignIn } from '../../lib/b2b/index.ts';
import type { Switches } from '../../stand-ins/workos/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { sendText } from '../support/hosts.ts';
import { createPageBrowser } from '../support/page-browser.ts';
import type { PageBrowser } from '../support/page-browser.ts';
import { until } from '../support/until.ts';
import type { Answer } from '../support/visitor.ts';

const refused = demoUsers.personal;
const other = demoUsers.oneOrganization;
const organization = other.organizations[0].id;

let provider: SharedProvider;
let app: B2bApp;
/** Signs in members of one organization only. */
let tenant: B2bApp;
let hook: OnB2bSignIn | undefined;
let accept: () => boolean | Promise<boolean>;

beforeAll(async () => {
  provider = await startProvider();
  const onSignIn: OnB2bSignIn = (signIn) => hook?.(signIn);
  const after: Parameters<typeof startB2bApp>[0] = {
    after: (host) => {
      host.get('/members', requireSession({ check: ({ user }) => user.id !== refused.id }), (_req, res) =>
        sendText(res, 'members'),
      );
      host.get('/fresh', requireSession({ maxAge: 60 }), (_req, res) => sendText(res, 'fresh'));
    },
  };
  app = await startB2bApp({ provider, options: { onSignIn, accept: () => accept(), timeoutMs: 1_000 }, ...after });
  tenant = await startB2bApp({ provider, options: { organizationId: organization } });
});
beforeEach(() => {
  provider.workos.clearRequests();
  accept = () => true;
});
afterEach(() => {
  hook = undefined;
  healSwitches();
  // Without the membership that an invitation gave.
  provider.workos.users.set(refused.id, refused);
});
afterAll(async () => {
  await app.close();
  await tenant.close();
  await provider.close();
});

function healSwitches(): void {
  Object.assign(provider.workos.switches, { extraClaims: {}, authenticateError: null, outage: {} });
}

const createBrowser = ({ origin }: B2bApp): PageBrowser => createPageBrowser(origin);

const isHosted = ({ at }: PageBrowser): boolean => new URL(at.url).origin === provider.workos.url;
const choose = (browser: PageBrowser, { id }: { readonly id: string }): Promise<Answer> =>
  browser.post(browser.at.url, { user_id: id });
const userOf = async ({ jar }: PageBrowser): Promise<string | undefined> =>
  (await jar.getJson('/auth/session')).json.user?.id;

/** Where the page's button leads. */
function buttonOf({ at }: PageBrowser): string {
  const href = /<a class="button" href="([^"]*)"/.exec(at.answer.text)?.[1];
  if (href === undefined) throw new Error(`The page has no button: ${at.answer.text}`);
  return href.replaceAll('&amp;', '&');
}

async function refuse(browser: PageBrowser, path = '/login?returnTo=/dashboard'): Promise<Answer> {
  await browser.open(path);
  expect(isHosted(browser)).toBe(true);
  return choose(browser, refused);
}

/** Follows the page's button as another person. */
async function goOnAsOther(browser: PageBrowser): Promise<void> {
  await browser.open(buttonOf(browser));
  expect(isHosted(browser)).toBe(true);
  hook = undefined;
  healSwitches();
  await choose(browser, other);
  expect(await userOf(browser)).toBe(other.id);
}

const throwing = (code: AuthErrorCode) => (): void => {
  hook = ({ session }) => {
    if (session.user.id === refused.id) throw new AuthError(code);
  };
};
const switching = (switches: Partial<Switches>) => (): void => void Object.assign(provider.workos.switches, switches);

interface Refusal {
  readonly code: AuthErrorCode;
  readonly why: string;
  readonly arrange: () => void;
  readonly isTenant?: true;
}

const byHook = (code: AuthErrorCode): Refusal => ({ code, why: 'by onSignIn', arrange: throwing(code) });
const afterTokens: readonly Refusal[] = [
  byHook('forbidden'),
  byHook('user_banned'),
  byHook('access_denied'),
  byHook('email_not_confirmed'),
  byHook('signup_disabled'),
  byHook('signup_refused'),
  byHook('email_in_use'),
  byHook('identity_in_use'),
  {
    code: 'organization_required',
    why: 'for another organization’s token',
    arrange: switching({ extraClaims: { org_id: 'org_x' } }),
    isTenant: true,
  },
  {
    code: 'token_rejected',
    why: 'for another client’s token',
    arrange: switching({ extraClaims: { client_id: 'client_x' } }),
  },
  {
    code: 'session_too_large',
    why: 'for large claims',
    arrange: switching({ extraClaims: { permissions: Array(2_000).fill('reports:read') } }),
  },
];
/** Failures that a new sign-in with the same account may mend, or that concern the application. */
const notAboutAccount: ReadonlySet<AuthErrorCode> = new Set(['code_rejected', 'provider_refused']);
const byWorkos: readonly Refusal[] = [...codes, ['a_code_of_next_year', { signIn: 'sign_in_refused' }] as const]
  .filter(([, { signIn }]) => !notAboutAccount.has(signIn))
  .map(([code, { signIn }]) => ({
    code: signIn,
    why: `with ${code}`,
    arrange: switching({ authenticateError: { status: 403, body: { code, message: 'Refused.' } } }),
  }));
const refusals: readonly Refusal[] = [...afterTokens, ...byWorkos];

/** The person of the tenant's application is no member of it before the invitation. */
const startOf = ({ isTenant }: Refusal): string =>
  isTenant === true ? '/login?invitation_token=inv_1' : '/login?returnTo=/dashboard';
const appOf = ({ isTenant }: Refusal): B2bApp => (isTenant === true ? tenant : app);

it.each(refusals)(
  'leads from $code $why to a sign-in with another account, even where WorkOS keeps the session',
  async (refusal) => {
    provider.workos.switches.outage = { revoke: 'refuse' };
    refusal.arrange();
    const browser = createBrowser(appOf(refusal));
    expect((await refuse(browser, startOf(refusal))).text).toContain(refusal.code);
    await goOnAsOther(browser);
  },
);

describe('a sign-in that is refused after tokens were issued', () => {
  it.each(afterTokens)(
    'ends at WorkOS after $code $why, so that the next sign-in asks who signs in',
    async (refusal) => {
      refusal.arrange();
      const browser = createBrowser(appOf(refusal));
      await refuse(browser, startOf(refusal));
      await until(() => provider.workos.requests.some(({ endpoint }) => endpoint === 'revoke'));
      await browser.open('/login');
      expect(isHosted(browser)).toBe(true);
    },
  );

  it('ends at WorkOS after any error of onSignIn', async () => {
    hook = () => {
      throw new Error('no such tenant');
    };
    const browser = createBrowser(app);
    expect((await refuse(browser)).status).toBe(500);
    await until(() => provider.workos.requests.some(({ endpoint }) => endpoint === 'revoke'));
    await browser.open('/login');
    expect(isHosted(browser)).toBe(true);
  });

  it('keeps a session that the browser already holds, whose sign-out reaches WorkOS', async () => {
    const browser = createBrowser(app);
    await refuse(browser);
    expect(await userOf(browser)).toBe(refused.id);
    throwing('forbidden')();
    expect((await browser.open('/login')).text).toContain('forbidden');
    expect(await userOf(browser)).toBe(refused.id);
    expect(provider.workos.requests.filter(({ endpoint }) => endpoint === 'revoke')).toEqual([]);
    await goOnAsOther(browser);
  });
});

describe('a sign-in that continues the session of this browser', () => {
  it.each<[string, () => boolean | Promise<boolean>]>([
    ['refuses', () => false],
    ['never answers', () => new Promise(() => undefined)],
    [
      'throws',
      () => {
        throw new Error('no database');
      },
    ],
  ])('keeps it where accept %s', async (_, answer) => {
    const browser = createBrowser(app);
    await refuse(browser);
    expect(await userOf(browser)).toBe(refused.id);
    accept = answer;
    expect((await browser.open('/login')).status).toBeGreaterThanOrEqual(400);
    expect(provider.workos.requests.filter(({ endpoint }) => endpoint === 'revoke')).toEqual([]);
    accept = () => true;
    provider.clock.advance(400_000);
    expect(await userOf(browser)).toBe(refused.id);
  });
});

describe('a sign-in that WorkOS itself refuses', () => {
  it('leads to a sign-in with another account', async () => {
    const browser = createBrowser(tenant);
    expect((await refuse(browser)).text).toContain('access_denied');
    await goOnAsOther(browser);
  });

  it('leads to a sign-in after a cancellation', async () => {
    const browser = createBrowser(app);
    await browser.open('/login');
    expect((await browser.post(browser.at.url, { decision: 'cancel' })).text).toContain('access_denied');
    await goOnAsOther(browser);
  });
});

describe('a guard that refuses the account', () => {
  it('offers a sign-in with another account', async () => {
    const browser = createBrowser(app);
    await refuse(browser);
    expect((await browser.open('/members')).status).toBe(403);
    await goOnAsOther(browser);
    expect(browser.at.answer.text).toBe('members');
  });

  it('offers a new sign-in where WorkOS did not ask for one', async () => {
    const browser = createBrowser(app);
    switching({ extraClaims: { auth_time: Math.floor(provider.clock.now() / 1000) - 3_600 } })();
    await refuse(browser, '/login');
    await refuse(browser, '/fresh');
    expect(browser.at.answer.text).toContain('sign_in_not_fresh');
    await goOnAsOther(browser);
  });
});

describe('a failure that does not concern the account', () => {
  it.each([
    ['provider_unavailable', { token: { fault: { status: 500 }, calls: 1 } }],
    ['provider_refused', { token: { fault: { status: 401 }, calls: 1 } }],
  ] as const)('leads on to a sign-in after %s, and from there to a sign-out', async (code, outage) => {
    switching({ outage })();
    const browser = createBrowser(app);
    expect((await refuse(browser)).text).toContain(code);
    await browser.open(buttonOf(browser));
    if (isHosted(browser)) await choose(browser, refused);
    expect(await userOf(browser)).toBe(refused.id);
    await signOut(browser);
  });

  it('leads on to a sign-in after a foreign state, and from there to a sign-out', async () => {
    const browser = createBrowser(app);
    expect((await browser.open('/callback?code=c&state=foreign')).text).toContain('invalid_state');
    await browser.open(buttonOf(browser));
    await choose(browser, refused);
    expect(await userOf(browser)).toBe(refused.id);
    await signOut(browser);
  });
});

/** Through the built-in page; the next sign-in asks who signs in. */
async function signOut(browser: PageBrowser): Promise<void> {
  await browser.open('/logout');
  await browser.submit({});
  expect(await userOf(browser)).toBeUndefined();
  await browser.open('/login');
  expect(isHosted(browser)).toBe(true);
}
