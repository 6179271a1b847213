import type { Answer, Visitor } from '../../support/visitor.ts';
import { addOrganization, addUser, describeEmulator, expire, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';

describeEmulator('a switch of the organization at the emulator', (url) => {
  let app: RealB2b;
  let [north, south, suspended] = ['', '', ''];
  beforeAll(async () => {
    app = await startRealB2b(url, {
      accept: ({ organizationId }) => organizationId !== suspended,
    });
    [north, south, suspended] = [
      await addOrganization(app, 'North'),
      await addOrganization(app, 'South'),
      await addOrganization(app, 'Suspended'),
    ];
  });
  afterAll(() => app.close());

  async function member(): Promise<Visitor> {
    const visitor = await app.signedIn(await addUser(app, [north]));
    expect(await organizationOf(visitor)).toBe(north);
    return visitor;
  }
  const organizationOf = async (visitor: Visitor): Promise<string | undefined> =>
    (await visitor.getJson('/auth/session')).json.organizationId;
  const switchTo = (visitor: Visitor, organizationId: string): Promise<Answer> =>
    visitor.postJson('/organization', { organizationId, returnTo: '/dashboard' });

  it('switches back and forth in one session', async () => {
    const visitor = await member();
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    for (const organization of [south, north]) {
      expect((await switchTo(visitor, organization)).json).toEqual({ redirectTo: '/dashboard' });
      const session = (await visitor.getJson('/auth/session')).json;
      expect([session.organizationId, session.sessionId]).toEqual([organization, sessionId]);
    }
  });

  it('reaches 50 requests that still send the old cookie', async () => {
    const visitor = await member();
    const cookie = visitor.cookieHeader();
    const read = (): Promise<Answer> => app.visitor().get('/auth/session', { headers: { cookie } });
    const during = Array.from({ length: 25 }, read);
    expect((await switchTo(visitor, south)).status).toBe(200);
    const after = await Promise.all(Array.from({ length: 25 }, read));
    expect(new Set((await Promise.all(during)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(after.map(({ json }) => json.organizationId))).toEqual(new Set([south]));
    expect(await organizationOf(visitor)).toBe(south);
  });

  it('to an organization that accept refuses closes the guards until the next switch', async () => {
    const visitor = await member();
    for (let turn = 0; turn < 2; turn += 1) {
      expect((await switchTo(visitor, suspended)).status).toBe(200);
      expect((await visitor.getJson('/auth/session')).status).toBe(401);
    }
    expect((await switchTo(visitor, south)).status).toBe(200);
    expect(await organizationOf(visitor)).toBe(south);
  });

  it('ends the session if the provider no longer knows its refresh token', async () => {
    const visitor = await member();
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    await app.sdk.userManagement.revokeSession({ sessionId });
    const answer = await switchTo(visitor, south);
    expect([answer.status, visitor.cookies.has('b2b-session')]).toEqual([401, false]);
  });

  it('is not undone by a refresh of 50 simultaneous requests', async () => {
    const visitor = await member();
    await expire(visitor);
    const requests = Array.from({ length: 50 }, () => visitor.getJson('/api/me'));
    const [answer, ...others] = await Promise.all([switchTo(visitor, south), ...requests]);
    expect(answer.status).toBe(200);
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await organizationOf(visitor)).toBe(south);
    await expire(visitor);
    expect(await organizationOf(visitor)).toBe(south);
  });

  it('works after an outage, which changes nothing', async () => {
    const visitor = await member();
    app.relay.break(/authenticate/, { status: 503 });
    const refused = await switchTo(visitor, south);
    app.relay.heal();
    expect([refused.status, await organizationOf(visitor)]).toEqual([503, north]);
    expect((await switchTo(visitor, south)).status).toBe(200);
    expect(await organizationOf(visitor)).toBe(south);
  });
});
