import { randomUUID } from 'node:crypto';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import type { ProviderTokens } from '../../../lib/backend/index.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { enrollApp, followTo, sessionOf, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { newUser } from '../support/project.ts';

const hooks: (ProviderTokens | undefined)[] = [];
const queryParams = { access_type: 'offline', kc_idp_hint: 'acme' };
const options = {
  providers: [{ name: 'keycloak', queryParams }],
  onSignIn: ({ providerTokens }: { readonly providerTokens?: ProviderTokens }) => void hooks.push(providerTokens),
};
const issued = {
  provider: 'keycloak',
  accessToken: expect.stringMatching(/^[\da-f-]{36}$/),
  refreshToken: expect.stringMatching(/^renew-[\da-f-]{36}$/),
};

beforeEach(() => void hooks.splice(0));

describeGoTrue('an OAuth provider’s own tokens', () => {
  const real = useRealApp({ options });

  const signIn = async (visitor: Visitor): Promise<Answer> => {
    const start = await visitor.get('/auth/login?provider=keycloak&returnTo=/account');
    return visitor.get(await followTo(real.app, start.location));
  };

  it('reach onSignIn once, and no cookie', async () => {
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const visitor = real.app.visitor();
    expect((await signIn(visitor)).headers.location).toBe('/account');
    expect(hooks).toEqual([issued]);
    expect(Object.keys(sessionOf(visitor)).filter((name) => name.startsWith('provider'))).toEqual([]);
    await real.app.signedIn(await real.project.addUser());
    expect(hooks).toEqual([issued, undefined]);
  });

  it('the provider gets queryParams, and GoTrue’s own parameters', async () => {
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    await signIn(real.app.visitor());
    const asked = Object.fromEntries(real.project.oauth.asked());
    expect(asked).toMatchObject({ ...queryParams, client_id: 'client', response_type: 'code' });
  });

  it('reach onSignIn with the second factor', async () => {
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const owner = real.app.visitor();
    await signIn(owner);
    const secret = await enrollApp(owner);
    hooks.splice(0);
    const visitor = real.app.visitor();
    expect((await signIn(visitor)).headers.location).toBe('/auth/verify?returnTo=%2Faccount');
    expect(hooks).toEqual([]);
    expect((await visitor.postJson('/auth/verify', { code: totp(secret) })).status).toBe(200);
    expect(hooks).toEqual([issued]);
  });

  it('name the provider also after the account has got a password', async () => {
    const user = await real.project.addUser();
    real.project.oauth.signIn({ sub: randomUUID(), email: user.email });
    await signIn(real.app.visitor());
    expect(hooks).toEqual([issued]);
  });
});

describeGoTrue('an OAuth provider’s own tokens, with keepProviderTokens', () => {
  const real = useRealApp({ options: { ...options, keepProviderTokens: true } });

  it('are what getSupabaseClient shows, until the first refresh', async () => {
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const visitor = real.app.visitor();
    const start = await visitor.get('/auth/login?provider=keycloak');
    await visitor.get(await followTo(real.app, start.location));
    const { data } = await real.app.asVisitor(visitor, (client) => client.auth.getSession());
    expect(data.session).toMatchObject({
      provider_token: issued.accessToken,
      provider_refresh_token: issued.refreshToken,
    });
  });
});
