import { randomBytes } from 'node:crypto';
import { WorkOS } from '@workos-inc/node';
import { closeAfterEach } from '../support/close-after-each.ts';
import { startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { SharedProvider } from '../support/b2b-app.ts';
import { send } from '../support/visitor.ts';

const [oldPassword, newPassword] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];

describe('b2bAuth with a list of passwords', () => {
  let provider: SharedProvider;
  beforeAll(async () => {
    provider = await startProvider();
  });
  afterAll(() => provider.close());

  const closed = closeAfterEach();
  const appWith = (cookiePassword: string | string[]) => closed(startB2bApp({ provider, options: { cookiePassword } }));
  const valueOf = (cookie: string): string => cookie.slice('b2b-session='.length);

  /** What WorkOS' own SDK makes of a cookie. */
  function officially(cookie: string, cookiePassword: string) {
    const { workos } = provider;
    const sdk = new WorkOS({
      apiKey: workos.apiKey,
      clientId: workos.clientId,
      apiHostname: workos.hostname,
      port: workos.port,
      https: false,
    });
    return sdk.userManagement.loadSealedSession({ sessionData: valueOf(cookie), cookiePassword }).authenticate();
  }

  it('opens cookies that an old one sealed, and seals with the first at the next write', async () => {
    const before = await appWith(oldPassword);
    const cookie = (await before.signedIn()).cookieHeader();
    const after = await appWith([newPassword, oldPassword]);
    const ask = (header: string) =>
      send(new URL('/api/me', after.origin), { headers: { cookie: header, accept: 'application/json' } });
    const first = await ask(cookie);
    expect([first.status, first.setCookies]).toEqual([200, []]);
    provider.clock.advance(310_000);
    const renewed = (await ask(cookie)).setCookies[0]!.split(';', 1)[0]!;

    const last = await appWith(newPassword);
    const alone = (header: string) =>
      send(new URL('/api/me', last.origin), { headers: { cookie: header, accept: 'application/json' } });
    expect((await alone(renewed)).status).toBe(200);
    expect((await alone(cookie)).status).toBe(401);
  });

  it('keeps its cookies readable for WorkOS’ own SDKs, under password id 1', async () => {
    const app = await appWith([newPassword, oldPassword]);
    const cookie = (await app.signedIn()).cookieHeader();
    expect(valueOf(cookie)).toMatch(/^Fe26\.2\*1\*/);
    const verdict = await officially(cookie, newPassword);
    expect(verdict).toMatchObject({ authenticated: true });
  });
});
