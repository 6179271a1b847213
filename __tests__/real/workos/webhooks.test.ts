import { buffer } from 'node:stream/consumers';
import { once, EventEmitter } from 'node:events';
import { endSession, renewSession } from '../../../lib/index.ts';
import { sendText } from '../../support/hosts.ts';
import { addOrganization, addUser, describeEmulator, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';

const secret = 'whsec_of_the_suite';

describeEmulator('webhooks of the emulator, received as in the docs', (url) => {
  let app: RealB2b;
  const arrived = new EventEmitter();
  beforeAll(async () => {
    app = await startRealB2b(url, undefined, undefined, ({ host, auth, sdk }) => {
      host.all('/webhooks/workos', (req, res, next) => {
        buffer(req)
          .then(async (bytes) => {
            const event = await sdk.webhooks.constructEvent({
              payload: JSON.parse(bytes.toString()),
              sigHeader: String(req.headers['workos-signature']),
              secret,
            });
            if (event.event === 'session.revoked') await endSession(auth, { sessionId: event.data.id });
            if (event.event === 'user.deleted') await endSession(auth, { userId: event.data.id });
            if (event.event === 'organization_membership.updated')
              await renewSession(auth, { userId: event.data.userId });
            sendText(res, 'taken');
            arrived.emit(event.event);
          })
          .catch(next);
      });
    });
    const answer = await fetch(`${url}/webhook_endpoints`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk_test_default', 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint_url: `${app.origin}/webhooks/workos`, secret, events: [] }),
    });
    expect(answer.status).toBe(201);
  });
  afterAll(() => app.close());

  it('end the session that was revoked at WorkOS, and no other', async () => {
    const user = await addUser(app);
    const [one, other] = [await app.signedIn(user), await app.signedIn(user)];
    const { sessionId } = (await one.getJson('/auth/session')).json;
    const told = once(arrived, 'session.revoked');
    await app.sdk.userManagement.revokeSession({ sessionId });
    await told;
    expect([(await one.getJson('/api/me')).status, (await other.getJson('/api/me')).status]).toEqual([401, 200]);
  });

  it('end every session of a user who was deleted', async () => {
    const [user, stays] = [await addUser(app), await addUser(app)];
    const visitors = [await app.signedIn(user), await app.signedIn(user), await app.signedIn(stays)];
    const told = once(arrived, 'user.deleted');
    await app.sdk.userManagement.deleteUser(user.id);
    await told;
    const statuses = [];
    for (const visitor of visitors) statuses.push((await visitor.getJson('/api/me')).status);
    expect(statuses).toEqual([401, 401, 200]);
  });

  it('update a changed role on the next request', async () => {
    const organizationId = await addOrganization(app, 'North');
    const user = await addUser(app, [organizationId]);
    const visitor = await app.signedIn(user);
    expect((await visitor.getJson('/api/me')).json.claims.role).toBe('reader');
    const { data } = await app.sdk.userManagement.listOrganizationMemberships({ userId: user.id });
    const told = once(arrived, 'organization_membership.updated');
    await app.sdk.userManagement.updateOrganizationMembership(data[0]!.id, { roleSlug: 'member' });
    await told;
    expect((await visitor.getJson('/api/me')).json.claims.role).toBe('member');
  });

  it('with an invalid signature change nothing', async () => {
    const visitor = await app.signedIn(await addUser(app));
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    const forged = await fetch(`${app.origin}/webhooks/workos`, {
      method: 'POST',
      headers: { 'workos-signature': `t=${Date.now()}, v1=${'0'.repeat(64)}` },
      body: JSON.stringify({ id: 'event_1', event: 'session.revoked', data: { id: sessionId }, created_at: '' }),
    });
    expect([forged.ok, (await visitor.getJson('/api/me')).status]).toEqual([false, 200]);
  });
});
