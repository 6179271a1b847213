import { randomBytes, randomUUID } from 'node:crypto';
import { WorkOS } from '@workos-inc/node';
import type { User } from '@workos-inc/node';
import type { Router } from 'express';
import { b2bAuth, getSession, requireSession } from '../../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../../lib/b2b/index.ts';
import type { AuthEvent } from '../../../lib/types.ts';
import { createApplication } from '../../support/application.ts';
import type { Host } from '../../support/hosts.ts';
import { sendJson, sendText } from '../../support/hosts.ts';
import { serve } from '../../support/servers.ts';
import { createVisitor } from '../../support/visitor.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { describeWith } from './describe-with.ts';
import { startRelay } from './relay.ts';
import type { Relay } from './relay.ts';

/** The emulator's own. */
export const clientId = 'client_example';
export const apiKey = 'sk_test_default';

/** For what every WorkOS emulator shows. */
export const describeEmulator = (name: string, suite: (url: string) => void): void =>
  describeWith(['WORKOS_EMULATOR_URL'], name, (url = '') => {
    beforeAll(() => removeHooks(url));
    suite(url);
  });

/** A suite that was killed leaves its refusals in the emulator, where later suites would meet them. */
async function removeHooks(url: string): Promise<void> {
  const hooks = (await (await fetch(`${url}/_emulate/hooks`)).json()) as readonly { readonly id: string }[];
  for (const { id } of hooks) await fetch(`${url}/_emulate/hooks/${id}`, { method: 'DELETE' });
}

export interface Mounted {
  readonly host: Host;
  readonly auth: Router;
  readonly sdk: WorkOS;
}

export type RealB2b = Awaited<ReturnType<typeof startRealB2b>>;

/**
 * An application in front of the emulator, with a relay in between. `/dashboard` is in `protectedRoutes`, `/api/me` stands behind
 * `requireSession` and answers with the whole session.
 *
 * @param relay another application's, for two processes of one application
 * @param mount adds routes of the test's own
 */
export async function startRealB2b(
  url: string,
  options?: B2bAuthOptions,
  relay?: Relay,
  mount?: (parts: Mounted) => void,
) {
  const way = relay ?? (await startRelay(url));
  const events: AuthEvent[] = [];
  const cookiePassword = options?.cookiePassword ?? randomBytes(32).toString('base64');
  const connection = { clientId, apiKey, apiUrl: way.origin };
  const { host, listener } = createApplication();
  const auth = b2bAuth({
    ...connection,
    protectedRoutes: '/dashboard(.*)',
    onEvent: (event) => events.push(event),
    ...options,
    cookiePassword,
  });
  host.use(auth);
  host.get('/', (_req, res) => sendText(res, 'home'));
  host.get(/\/dashboard/, (_req, res) => sendText(res, 'dashboard'));
  host.all('/api/me', requireSession(), (req, res, next) => {
    getSession(req).then((session) => sendJson(res, session), next);
  });
  /** WorkOS' SDK, past the relay. */
  const sdk = new WorkOS({
    apiKey,
    clientId,
    apiHostname: new URL(url).hostname,
    port: Number(new URL(url).port),
    https: false,
  });
  mount?.({ host, auth, sdk });
  const server = await serve(listener);
  const visitor = (): Visitor => createVisitor(server.origin);
  const start = async (browser: Visitor, email: string, path = '/login'): Promise<URL> => {
    const query = path.includes('?') ? '&' : '?';
    return new URL((await browser.get(`${path}${query}login_hint=${encodeURIComponent(email)}`)).location);
  };

  return {
    ...server,
    relay: way,
    events,
    eventTypes: () => events.map(({ type }) => type),
    cookiePassword: String(cookiePassword),
    sdk,
    visitor,
    start,
    /** Where the emulator sends the browser back to. */
    callback: async (browser: Visitor, email: string, path?: string): Promise<string> =>
      authorize(await start(browser, email, path)),
    async signedIn({ email }: Pick<User, 'email'>): Promise<Visitor> {
      const browser = visitor();
      const done = await browser.get(await authorize(await start(browser, email)));
      if (done.status !== 303) throw new Error(`Sign-in ended with ${done.status}: ${done.text}`);
      return browser;
    },
    async close(): Promise<void> {
      await server.close();
      if (relay === undefined) await way.close();
    },
  };
}

export async function authorize(url: URL): Promise<string> {
  const answer = await fetch(url, { redirect: 'manual' });
  const location = answer.headers.get('location');
  if (location === null) throw new Error(`The emulator answered ${answer.status}: ${await answer.text()}`);
  return location;
}

/** A new user, with a membership in each of these organizations. */
export async function addUser({ sdk }: Pick<RealB2b, 'sdk'>, organizationIds: readonly string[] = []): Promise<User> {
  const user = await sdk.userManagement.createUser({
    email: `${randomUUID()}@example.com`,
    emailVerified: true,
    password: randomUUID(),
    externalId: 'crm-7',
    metadata: { plan: 'pro' },
  });
  for (const organizationId of organizationIds) {
    await sdk.userManagement.createOrganizationMembership({ userId: user.id, organizationId, roleSlug: 'reader' });
  }
  return user;
}

export async function addOrganization({ sdk }: Pick<RealB2b, 'sdk'>, name: string): Promise<string> {
  return (await sdk.organizations.createOrganization({ name })).id;
}

/** The clock skew that an expired token is allowed while WorkOS cannot be reached, in milliseconds. */
export const skewMs = 5_000;

/** Until the visitor's access token has expired. */
export async function expire(visitor: Visitor, longerMs = 0): Promise<void> {
  const { json } = await visitor.getJson('/api/me');
  const ms = Number(json.expiresAt) + longerMs + 100 - Date.now();
  if (ms > 30_000)
    throw new Error('Start the emulator with __tests__/real/workos-emulator.js: its tokens live too long');
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}

/** The chooser's links, as a browser would read them. */
export const choicesOf = ({ text }: Answer): string[] =>
  [...text.matchAll(/href="([^"]*organization_id=[^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
