import { createB2bClient, createBackendClient, createPasskey, getPasskey } from 'express-auth-adapters/client';
import type { AccountBody, ClientResult, PasskeysBody } from 'express-auth-adapters/client';
import type { B2bSessionBody, BackendSessionBody, EmailConfirmationBody, RedirectBody } from '../../lib/types.ts';

/** True only for one and the same type; mutual assignability in a tuple keeps unions from distributing. */
type Same<A, B> = [A, B] extends [B, A] ? true : false;
type Answer<Method extends (...args: never[]) => unknown> = Awaited<ReturnType<Method>>;

const b2b = createB2bClient({ baseUrl: '/app', paths: { login: '/sign-in' } });
const backend = createBackendClient();

// A wrong type makes one of these `true`s a compile error.
const sameAnswers: [
  Same<Answer<typeof b2b.login>, ClientResult<RedirectBody>>,
  Same<Answer<typeof b2b.signup>, ClientResult<RedirectBody>>,
  Same<Answer<typeof b2b.logout>, ClientResult<RedirectBody>>,
  Same<Answer<typeof b2b.session>, ClientResult<B2bSessionBody>>,
  Same<Answer<typeof b2b.organization>, ClientResult<RedirectBody>>,
  Same<Answer<typeof backend.login>, ClientResult<RedirectBody>>,
  Same<Answer<typeof backend.signup>, ClientResult<RedirectBody | EmailConfirmationBody>>,
  Same<Answer<typeof backend.oauth>, ClientResult<RedirectBody>>,
  Same<Answer<typeof backend.logout>, ClientResult<RedirectBody>>,
  Same<Answer<typeof backend.session>, ClientResult<BackendSessionBody>>,
  Same<Answer<typeof backend.passkeys>, ClientResult<PasskeysBody>>,
  Same<Answer<typeof backend.account>, ClientResult<AccountBody>>,
] = [true, true, true, true, true, true, true, true, true, true, true, true];

/** Never called: these lines only have to compile, and the marked ones have to fail. */
export async function compiled(): Promise<unknown[]> {
  await b2b.login();
  await b2b.signup({ query: { returnTo: '/start', login_hint: 'ada@example.com' } });
  await backend.login({ body: { email: 'ada@example.com', password: 'p', returnTo: '/account' } });
  const started = await backend.passkey({ body: {} });
  if (started.data)
    await backend.passkey({ body: { ...started.data, credential: await getPasskey(started.data.options) } });
  const adding = await backend.passkeys({ body: {} });
  if (adding.data)
    await backend.passkeys({ body: { ...adding.data, credential: await createPasskey(adding.data.options) } });
  await backend.passkeys({ body: { rename: 'id', name: 'Blue key' } });
  // @ts-expect-error a name is needed
  await backend.passkeys({ body: { rename: 'id' } });
  await backend.account({ body: { signOut: 'others' } });
  // @ts-expect-error an unknown scope
  await backend.account({ body: { signOut: 'local' } });
  await backend.logout({ body: { returnTo: '/bye' }, signal: AbortSignal.timeout(1000) });

  const { error } = await backend.session();
  if (error?.code === 'invalid_credentials' || error?.code === 'network_error') return [error.message];
  b2b.subscribe(({ data }) => data?.organizationId);
  // @ts-expect-error the backend's session has no organization
  backend.subscribe(({ data }) => data?.organizationId);
  // @ts-expect-error a misspelled code
  if (error?.code === 'invalid_credentialz') return [];

  // @ts-expect-error email and password are needed
  await backend.login({ body: { email: 'ada@example.com' } });
  // @ts-expect-error an organization is needed
  await b2b.organization({ body: { returnTo: '/' } });
  await backend.signup({ body: { email: 'ada@example.com', password: 'p', username: 'ada', age: 36 } });
  // @ts-expect-error a password is needed, whatever else there is
  await backend.signup({ body: { email: 'ada@example.com', username: 'ada' } });
  // @ts-expect-error only sign-up takes further fields
  await backend.login({ body: { email: 'ada@example.com', password: 'p', username: 'ada' } });
  // @ts-expect-error a body is needed
  await backend.signup();
  // @ts-expect-error the field is called returnTo
  await b2b.login({ query: { return_to: '/' } });
  // @ts-expect-error hosted sign-in takes no password
  await b2b.login({ body: { email: 'ada@example.com', password: 'p' } });
  // @ts-expect-error no such path
  createB2bClient({ paths: { resend: '/resend' } });

  const session = await b2b.session();
  // @ts-expect-error the data may be null until the error has been ruled out
  const unchecked: unknown = session.data.user;
  if (session.error !== null) return [session.error.status satisfies number, session.data satisfies null];
  // @ts-expect-error tokens never reach the client
  const token: unknown = session.data.accessToken;

  const signedUp = await backend.signup({ body: { email: 'ada@example.com', password: 'p' } });
  if (signedUp.error !== null) return [];
  if ('emailConfirmationRequired' in signedUp.data) return [signedUp.data.message satisfies string];
  return [unchecked, token, session.data.organizationId satisfies string | undefined];
}

describe('the types of the typed client', () => {
  it('follow the server’s own response bodies, as the compiler has checked', () => {
    expect(sameAnswers).not.toContain(false);
    expect(Object.keys(b2b)).toEqual(['login', 'signup', 'logout', 'session', 'organization', 'subscribe']);
    expect(Object.keys(backend)).toEqual([
      'login',
      'signup',
      'resend',
      'oauth',
      'logout',
      'session',
      'forgot',
      'password',
      'verify',
      'enroll',
      'code',
      'sso',
      'passkey',
      'passkeys',
      'consent',
      'connectedApps',
      'account',
      'subscribe',
    ]);
  });
});
