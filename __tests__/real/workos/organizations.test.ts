import { addOrganization, addUser, choicesOf, describeEmulator, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';
import type { Visitor } from '../../support/visitor.ts';

describeEmulator('organizations at the emulator', (url) => {
  let app: RealB2b;
  let [north, south, closed] = ['', '', ''];
  beforeAll(async () => {
    app = await startRealB2b(url);
    [north, south, closed] = [
      await addOrganization(app, 'North'),
      await addOrganization(app, 'South'),
      await addOrganization(app, 'Closed'),
    ];
  });
  afterAll(() => app.close());

  const organizationOf = async (visitor: Visitor): Promise<string | undefined> =>
    (await visitor.getJson('/auth/session')).json.organizationId;

  it('are selected without asking if there is only one, with role and permissions', async () => {
    const visitor = await app.signedIn(await addUser(app, [north]));
    expect(await organizationOf(visitor)).toBe(north);
    const { claims } = (await visitor.getJson('/api/me')).json;
    expect(claims).toMatchObject({ org_id: north, role: 'reader', roles: ['reader'], permissions: ['reports:read'] });
  });

  it('can be selected if there are several', async () => {
    const user = await addUser(app, [north, south]);
    const visitor = app.visitor();
    const chooser = await visitor.get(await app.callback(visitor, user.email, '/login?returnTo=/dashboard'));
    expect([chooser.status, choicesOf(chooser).length]).toEqual([200, 2]);
    const [, link = ''] = choicesOf(chooser);
    const done = await visitor.get(link);
    expect([done.status, done.headers.location]).toEqual([303, '/dashboard']);
    expect([north, south]).toContain(await organizationOf(visitor));
  });

  it('that the query names are selected without asking, although the emulator ignores the parameter', async () => {
    const user = await addUser(app, [north, south]);
    const visitor = app.visitor();
    await visitor.get(await app.callback(visitor, user.email, `/login?organization_id=${south}`));
    expect(await organizationOf(visitor)).toBe(south);
  });

  it('that were not offered are not selected, and a list of any length is shown again in another process', async () => {
    const user = await addUser(
      app,
      await Promise.all(
        Array.from({ length: 120 }, (_, n) => addOrganization(app, `Branch number ${n} of the company`)),
      ),
    );
    const visitor = app.visitor();
    const chooser = await visitor.get(await app.callback(visitor, user.email));
    const [link = ''] = choicesOf(chooser);
    expect(choicesOf(chooser)).toHaveLength(120);
    for (const id of [closed, 'org_01NOWHERE']) {
      const refused = await visitor.get(link.replace(/organization_id=[^&]*/, `organization_id=${id}`));
      expect([id, refused.status, choicesOf(refused).sort()]).toEqual([id, 200, choicesOf(chooser).sort()]);
    }
    const found = await visitor.get(`${link.replace(/&.*/, '')}&search=${/organization_id=([^&]*)/.exec(link)?.[1]}`);
    // The emulator lists memberships without names, so the page has their ids.
    expect(choicesOf(found)).toEqual([link]);
    expect((await visitor.get(link)).status).toBe(303);
  });

  it('that the user left meanwhile are refused, and another one can still be selected', async () => {
    const organizations = await Promise.all(Array.from({ length: 60 }, (_, n) => addOrganization(app, `Section ${n}`)));
    const user = await addUser(app, organizations);
    const visitor = app.visitor();
    const [link = '', other = ''] = choicesOf(await visitor.get(await app.callback(visitor, user.email)));
    const left = /organization_id=([^&]*)/.exec(link)?.[1] ?? '';
    const { data } = await app.sdk.userManagement.listOrganizationMemberships({
      userId: user.id,
      organizationId: left,
    });
    await app.sdk.userManagement.deleteOrganizationMembership(data[0]!.id);
    const refused = await visitor.get(link);
    expect([refused.status, refused.text.includes('not_a_member')]).toEqual([403, true]);
    expect((await visitor.get(other)).status).toBe(303);
  });

  it('that were already selected are reported', async () => {
    const user = await addUser(app, [north, south]);
    const visitor = app.visitor();
    const chooser = await visitor.get(await app.callback(visitor, user.email));
    const waiting = { headers: { cookie: visitor.cookieHeader() } };
    const [one = '', other = ''] = choicesOf(chooser);
    await visitor.get(one);
    const late = await app.visitor().get(other, waiting);
    expect([late.status, late.text.includes('code_rejected')]).toEqual([400, true]);
  });

  it('of the option refuse users of another one, or of none', async () => {
    const hooked: string[] = [];
    const onSignIn = ({ session }: { session: { user: { id: string } } }): void => void hooked.push(session.user.id);
    const strict = await startRealB2b(url, { organizationId: north, onSignIn }, app.relay);
    const member = await addUser(app, [north, south]);
    for (const organizations of [[], [south], [south, closed]]) {
      const user = await addUser(app, organizations);
      const visitor = strict.visitor();
      const refused = await visitor.get(await strict.callback(visitor, user.email));
      expect([organizations.length, refused.status, visitor.cookies.size]).toEqual([organizations.length, 403, 0]);
      expect(refused.text).toContain('organization_required');
    }
    expect(hooked).toEqual([]);
    const visitor = strict.visitor();
    await visitor.get(await strict.callback(visitor, member.email, `/login?organization_id=${south}`));
    expect(await organizationOf(visitor)).toBe(north);
    await strict.close();
  });
});
