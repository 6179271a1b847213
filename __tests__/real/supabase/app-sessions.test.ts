import { totp } from '../../../stand-ins/supabase/totp.ts';
import { renewSession } from '../../../lib/index.ts';
import { postForm } from '../../support/backend-app.ts';
import { sentTo } from '../../support/consent.ts';
import type { Visitor } from '../../support/visitor.ts';
import { useRealApp } from '../support/application.ts';
import type { Setup } from '../support/application.ts';
import { describeGoTrue, describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { createOAuthClient } from '../support/oauth-client.ts';
import type { ClientTokens } from '../support/oauth-client.ts';

type Auth = Parameters<typeof renewSession>[0];

/** A project with users who connect an app to their account. */
function useConnectedApps(setup: Setup = {}) {
  let auth: Auth;
  const real = useRealApp({
    ...setup,
    options: { oauthConsent: true },
    mount: (_host, router) => {
      auth = router;
    },
  });

  async function connect(visitor: Visitor, client: Awaited<ReturnType<typeof createOAuthClient>>) {
    const url = await client.start();
    const page = await visitor.get(url);
    const id = new URL(url, 'http://app').searchParams.get('authorization_id') ?? '';
    const isAsked = page.status === 200;
    const answer = isAsked
      ? await postForm(visitor, '/oauth/consent', { authorization_id: id, action: 'allow' })
      : page;
    const response = await client.exchange(sentTo(answer)['code'] ?? '');
    return { isAsked, tokens: (await response.json()) as ClientTokens };
  }

  async function connected() {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const client = await createOAuthClient(real.project);
    return { user, visitor, client, ...(await connect(visitor, client)) };
  }

  return { real, connect, connected, renew: (userId: string) => renewSession(auth, { userId }) };
}

describeGoTrue('the sessions of a connected app', () => {
  const { real, connect, connected } = useConnectedApps();

  it('are of the first level, and go on beside the site', async () => {
    const { client, tokens } = await connected();
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
    const [, claims = ''] = tokens.access_token.split('.');
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ aal: 'aal1' });
  });

  it('end when the user adds a second factor; the app stays allowed, and connects without a question', async () => {
    const { user, visitor, client, tokens } = await connected();
    const { json: enrollment } = await visitor.postJson('/auth/enroll', {});
    const code = totp(enrollment.secret);
    expect((await visitor.postJson('/auth/enroll', { factorId: enrollment.factorId, code })).status).toBe(200);
    expect((await client.refresh(tokens.refresh_token)).ok).toBe(false);
    expect((await visitor.getJson('/oauth/apps')).json.apps).toHaveLength(1);
    const again = await connect(visitor, client);
    expect(again.isAsked).toBe(false);
    const renewed = await client.refresh(again.tokens.refresh_token);
    expect(renewed.status).toBe(200);
    // And each time it is entered.
    const browser = await real.app.signedIn(user);
    expect((await browser.postJson('/auth/verify', { code: totp(enrollment.secret) })).status).toBe(200);
    const { refresh_token: refreshToken } = (await renewed.json()) as ClientTokens;
    expect((await client.refresh(refreshToken)).ok).toBe(false);
  });

  it('end with a sign-out of all sessions; the app stays allowed', async () => {
    const { user, visitor, client, tokens } = await connected();
    await real.app.asVisitor(visitor, ({ auth }) => auth.signOut({ scope: 'global' }));
    expect((await client.refresh(tokens.refresh_token)).ok).toBe(false);
    expect((await (await real.app.signedIn(user)).getJson('/oauth/apps')).json.apps).toHaveLength(1);
  });

  it('end with a new password; the app stays allowed', async () => {
    const { user, visitor, client, tokens } = await connected();
    const fields = { currentPassword: user.password, password: 'another battery staple 1' };
    expect((await visitor.postJson('/auth/password', fields)).status).toBe(200);
    expect((await client.refresh(tokens.refresh_token)).ok).toBe(false);
    expect((await visitor.getJson('/oauth/apps')).json.apps).toHaveLength(1);
  });
});

describeOwnGoTrue('a project with one session per user', () => {
  const settings = { GOTRUE_SESSIONS_SINGLE_PER_USER: 'true' };
  const { real, connected, renew } = useConnectedApps({ gotrue: { keys: [createSigningKey('only')], settings } });

  it('counts an app’s session: who connects an app is signed out of the site at the next renewal', async () => {
    const { user, visitor, client, tokens } = await connected();
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    await renew(user.id);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
    // And the other way around.
    await real.app.signedIn(user);
    expect((await client.refresh(tokens.refresh_token)).ok).toBe(false);
  });
});
