import { randomUUID } from 'node:crypto';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import type { BackendSignIn } from '../../../lib/backend/index.ts';
import { enrollApp, followTo, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { newUser } from '../support/project.ts';
import type { Visitor } from '../../support/visitor.ts';

const seen: Pick<BackendSignIn, 'session' | 'identities'>[] = [];
const options = {
  providers: ['keycloak'],
  onSignIn: (signIn: BackendSignIn) => void seen.push(signIn),
};

beforeEach(() => void seen.splice(0));

describeGoTrue('identities of the hook', () => {
  const real = useRealApp({ options });

  const signInWithOAuth = async (visitor: Visitor): Promise<void> => {
    const start = await visitor.get('/auth/login?provider=keycloak&returnTo=/account');
    await visitor.get(await followTo(real.app, start.location));
  };

  it('have the OAuth provider’s own id, also with the second factor and beside a password', async () => {
    const user = await real.project.addUser();
    const sub = randomUUID();
    real.project.oauth.signIn({ sub, email: user.email });
    const owner = real.app.visitor();
    await signInWithOAuth(owner);
    await real.app.signedIn(user);
    const secret = await enrollApp(owner);
    const visitor = real.app.visitor();
    await signInWithOAuth(visitor);
    await visitor.postJson('/auth/verify', { code: totp(secret) });
    expect(seen).toHaveLength(3);
    for (const { session, identities } of seen) {
      expect(identities).toHaveLength(2);
      expect(identities).toContainEqual({ provider: 'keycloak', id: sub, email: user.email });
      expect(identities).toContainEqual({ provider: 'email', id: session.user.id, email: user.email });
    }
  });

  it('come with a new account, and are complete in the answer itself', async () => {
    const sub = randomUUID();
    const { email } = newUser();
    real.project.oauth.signIn({ sub, email });
    await signInWithOAuth(real.app.visitor());
    expect(seen.map(({ identities }) => identities)).toEqual([[{ provider: 'keycloak', id: sub, email }]]);
  });
});
