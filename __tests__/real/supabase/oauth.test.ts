import { randomUUID } from 'node:crypto';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { followTo, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { newUser } from '../support/project.ts';

describeGoTrue('OAuth through a provider', () => {
  const real = useRealApp({ options: { providers: ['keycloak'] } });

  /** Everything between the button and the callback; resolves to the callback's URL. */
  async function walk(visitor: Visitor): Promise<string> {
    const start = await visitor.get('/auth/login?provider=keycloak&returnTo=/account');
    return followTo(real.app, start.location);
  }

  const signIn = async (visitor: Visitor): Promise<Answer> => visitor.get(await walk(visitor));

  it('signs in, redirects to returnTo, and leaves no cookie behind', async () => {
    const { email } = newUser();
    real.project.oauth.signIn({ sub: randomUUID(), email });
    const visitor = real.app.visitor();
    const done = await signIn(visitor);
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    const { user } = (await visitor.getJson('/auth/session')).json;
    expect([user.email, user.appMetadata.provider]).toEqual([email, 'keycloak']);
    expect([...visitor.cookies.keys()].filter((name) => name.includes('verifier'))).toEqual([]);
  });

  it('calls GoTrue once for a callback that is requested twice', async () => {
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const visitor = real.app.visitor();
    const callback = await walk(visitor);
    expect((await visitor.get(callback)).status).toBe(303);
    const again = await visitor.get(callback);
    expect([again.status, again.headers.location]).toEqual([303, '/']);
    expect(real.project.proxy.to('/token?grant_type=pkce')).toHaveLength(1);
  });

  it('reports a canceled sign-in, and keeps returnTo', async () => {
    real.project.oauth.refuse('access_denied');
    const page = await signIn(real.app.visitor());
    expect([page.status, page.text.includes('/auth/login?returnTo=%2Faccount')]).toEqual([403, true]);
    expect(real.app.events).toMatchObject([{ type: 'sign_in_failed', code: 'access_denied' }]);
  });

  it('reports no outage for an error in the callback’s query, which anyone can write', async () => {
    real.project.oauth.refuse('server_error');
    const page = await signIn(real.app.visitor());
    expect([page.status, page.headers['retry-after']]).toEqual([400, undefined]);
    expect(page.text).toContain('/auth/login?returnTo=%2Faccount');
    expect(real.app.events).toMatchObject([{ type: 'sign_in_failed', code: 'sign_in_failed' }]);
  });

  it('does not report an outage if the provider returns no address', async () => {
    real.project.oauth.signIn({ sub: randomUUID() });
    const page = await signIn(real.app.visitor());
    // GoTrue: ?error=server_error&error_code=unexpected_failure&error_description=Error+getting+user+email+from+external+provider
    expect([page.status, page.headers['retry-after']]).toEqual([400, undefined]);
    expect(real.app.events).toMatchObject([{ type: 'sign_in_failed', code: 'sign_in_failed' }]);
  });

  it('does not report an outage if an identity belongs to another user', async () => {
    const taken = { sub: randomUUID(), email: newUser().email };
    real.project.oauth.signIn(taken);
    await signIn(real.app.visitor());
    const visitor = await real.app.signedIn(await real.project.addUser());
    const { data } = await real.app.asVisitor(visitor, (client) =>
      client.auth.linkIdentity({
        provider: 'keycloak',
        options: { redirectTo: `${real.app.origin}/auth/callback`, skipBrowserRedirect: true },
      }),
    );
    real.project.oauth.signIn(taken);
    const page = await visitor.get(await followTo(real.app, data.url));
    // GoTrue: ?error=server_error&error_code=identity_already_exists&error_description=Identity+is+already+linked+to+another+user
    expect([403, 409]).toContain(page.status);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('answers 403 to a banned user', async () => {
    const person = { sub: randomUUID(), email: newUser().email };
    real.project.oauth.signIn(person);
    const visitor = real.app.visitor();
    await signIn(visitor);
    const { id } = (await visitor.getJson('/auth/session')).json.user;
    await real.project.admin(`/admin/users/${id}`, 'PUT', { ban_duration: '1h' });
    expect((await signIn(real.app.visitor())).status).toBe(403);
  });

  it('answers 503 if the exchange fails in an outage, and starts over on reload', async () => {
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const visitor = real.app.visitor();
    const callback = await walk(visitor);
    real.project.proxy.break(/grant_type=pkce/, { status: 503 });
    expect((await visitor.get(callback)).status).toBe(503);
    real.project.proxy.heal();
    const again = await visitor.get(callback);
    expect([again.status, again.headers.location]).toEqual([303, '/auth/login?returnTo=%2Faccount']);
    const done = await signIn(visitor);
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
  });
});
