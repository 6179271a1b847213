import type { Router } from 'express';
import { storeSession } from '../../../lib/index.ts';
import type { B2bTokens, BackendTokens } from '../../../lib/types.ts';
import { ada, startBackendApp } from '../../support/backend-app.ts';
import { demoUsers, startB2bApp } from '../../support/b2b-app.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import { sendJson } from '../../support/hosts.ts';
import type { Host } from '../../support/hosts.ts';
import { whoIs } from '../../support/own-sign-in.ts';

type Tokens = B2bTokens | BackendTokens;

const closing = closeAfterEach();
const grace = { email: 'grace@example.com', password: 'another horse battery' };
/** Several cookies' worth. */
const large = { claims: { roles: 'x'.repeat(5_000) } };
let list: readonly Tokens[] = [];

/** A route that stores one session after another. */
function addRoute(host: Host, auth: Router): void {
  host.all('/all', (req, res, next) => {
    const storeAll = async (): Promise<void> => {
      for (const tokens of list) await storeSession(auth, req, res, tokens);
    };
    storeAll().then(() => sendJson(res, {}), next);
  });
}

const adapters = {
  async b2b() {
    const app = await closing(startB2bApp({ after: addRoute }));
    const { personal: small, oneOrganization } = demoUsers;
    return {
      app,
      small: await app.workos.issueSession({ user: small }),
      large: await app.workos.issueSession({ user: oneOrganization, ...large }),
      emails: [small.email, oneOrganization.email],
    };
  },
  async backend() {
    const app = await closing(startBackendApp({ after: addRoute }));
    app.supabase.addUser(grace);
    return {
      app,
      small: await app.supabase.issueSession(ada.email),
      large: await app.supabase.issueSession(grace.email, large),
      emails: [ada.email, grace.email],
    };
  },
};

// Otherwise cookies of both would mix, and the next request could be that of the first.
describe.each(['b2b', 'backend'] as const)('a response that stores two sessions, with %s', (name) => {
  it.each(['small', 'large'] as const)('has the cookies of the second one alone, which is %s', async (last) => {
    const { app, small, large: big, emails } = await adapters[name]();
    list = last === 'large' ? [small, big] : [big, small];
    const visitor = app.visitor();
    expect((await visitor.postJson('/all')).status).toBe(200);
    expect(await whoIs(visitor)).toBe(emails[last === 'large' ? 1 : 0]);
    const chunks = [...visitor.cookies.keys()].filter((cookie) => /\.\d$/.test(cookie));
    expect(visitor.cookies.size - chunks.length).toBe(last === 'large' ? 0 : 1);
    expect(chunks.length > 1).toBe(last === 'large');
  });
});
