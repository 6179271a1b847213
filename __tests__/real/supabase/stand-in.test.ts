import { createHash, randomBytes } from 'node:crypto';
import { SignJWT, decodeJwt, decodeProtectedHeader } from 'jose';
import { startSupabaseStandIn } from '../../support/supabase-stand-in/index.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { newUser, startProject } from '../support/project.ts';
import type { User } from '../support/project.ts';

/** One of the two servers that are to answer alike. */
interface Side {
  readonly url: string;
  readonly publishableKey: string;
  addUser(state?: 'banned'): Promise<User>;
  ban(user: User): Promise<void>;
  remove(user: User): Promise<void>;
  /** An access token of a user whose time is over. */
  expiredToken(user: User): Promise<string>;
  /** The newest mail to an address. */
  mailTo(email: string): Promise<{ readonly tokenHash: string; readonly link: string }>;
  close(): Promise<void>;
}

interface Question {
  readonly body?: object;
  readonly token?: string;
  /** Without a version GoTrue words errors as it did before 2024. */
  readonly isOld?: boolean;
}

const callbackUrl = 'http://127.0.0.1:3000/auth/callback';

describeGoTrue('the stand-in for Supabase answers like a GoTrue', () => {
  let sides: readonly [Side, Side];
  beforeAll(async () => {
    const real = await realSide();
    sides = [real, await standInSide(real)];
  });
  afterAll(async () => {
    for (const side of sides) await side.close();
  });

  /** Tells the same story to both; what they answer is compared by its shape, and texts of errors word by word. */
  async function expectAlike(story: (side: Side) => Promise<unknown>): Promise<void> {
    const [real, standIn] = [await story(sides[0]), await story(sides[1])];
    expect(standIn).toEqual(real);
  }

  it('to the right password', () =>
    expectAlike(async (side) => {
      const user = await side.addUser();
      const answer = await raw(side, 'POST', 'token?grant_type=password', { body: user });
      const { alg, typ } = decodeProtectedHeader(answer.body.access_token);
      return [shapeOf(answer), { alg, typ }, shapeOf(decodeJwt(answer.body.access_token))];
    }));

  it.each<[string, (user: User) => object]>([
    ['a wrong password', ({ email }) => ({ email, password: 'wrong' })],
    ['an unknown address', ({ password }) => ({ ...newUser(), password })],
    ['no address', ({ password }) => ({ password })],
    ['no password', ({ email }) => ({ email })],
    ['nothing', () => ({})],
    ['a malformed address', ({ password }) => ({ email: 'no-address', password })],
  ])('to a sign-in with %s', (_name, credentials) =>
    expectAlike(async (side) => {
      const user = await side.addUser();
      const body = credentials(user);
      return [
        await ask(side, 'POST', 'token?grant_type=password', { body }),
        await ask(side, 'POST', 'token?grant_type=password', { body, isOld: true }),
      ];
    }),
  );

  it('to a banned user', () =>
    expectAlike(async (side) => {
      const user = await side.addUser();
      const session = await signIn(side, user);
      await side.ban(user);
      const { refresh_token } = session;
      return [
        await ask(side, 'POST', 'token?grant_type=password', { body: user }),
        await ask(side, 'POST', 'token?grant_type=password', { body: { ...user, password: 'wrong' } }),
        await ask(side, 'POST', 'token?grant_type=refresh_token', { body: { refresh_token } }),
        await ask(side, 'GET', 'user', { token: session.access_token }),
        await ask(side, 'POST', 'logout?scope=local', { token: session.access_token }),
      ];
    }));

  it('about a deleted user', () =>
    expectAlike(async (side) => {
      const user = await side.addUser();
      const { refresh_token, access_token: token } = await signIn(side, user);
      await side.remove(user);
      return [
        await ask(side, 'POST', 'token?grant_type=refresh_token', { body: { refresh_token } }),
        await ask(side, 'GET', 'user', { token }),
        await ask(side, 'POST', 'logout?scope=local', { token }),
      ];
    }));

  it('about a session that was signed out', () =>
    expectAlike(async (side) => {
      const user = await side.addUser();
      const { refresh_token, access_token: token } = await signIn(side, user);
      return [
        await ask(side, 'POST', 'logout?scope=everywhere', { token }),
        await ask(side, 'POST', 'logout?scope=local', { token }),
        await ask(side, 'POST', 'logout?scope=local', { token }),
        await ask(side, 'GET', 'user', { token }),
        await ask(side, 'POST', 'token?grant_type=refresh_token', { body: { refresh_token } }),
      ];
    }));

  it('to access tokens that are no good', () =>
    expectAlike(async (side) => {
      const user = await side.addUser();
      const { access_token: good } = await signIn(side, user);
      const tokens = [await side.expiredToken(user), `${good.slice(0, -8)}AAAAAAAA`, 'x', undefined];
      const answers = [];
      for (const token of tokens)
        for (const [method, path] of [['GET', 'user'] as const, ['POST', 'logout?scope=local'] as const])
          answers.push(await ask(side, method, path, token === undefined ? {} : { token }));
      return answers;
    }));

  it('to a refresh token, to its parent and to what it never issued', () =>
    expectAlike(async (side) => {
      const { refresh_token: first } = await signIn(side, await side.addUser());
      const refresh = (token?: string): Promise<Raw> =>
        raw(side, 'POST', 'token?grant_type=refresh_token', { body: { refresh_token: token } });
      const second = await refresh(first);
      const again = await refresh(first);
      return [
        shapeOf(second),
        second.body.refresh_token === again.body.refresh_token,
        shapeOf(await refresh('unknown-token')),
        shapeOf(await refresh('')),
        shapeOf(await refresh()),
      ];
    }));

  it('to grants that do not exist', () =>
    expectAlike(async (side) => [
      await ask(side, 'POST', 'token?grant_type=none', { body: {} }),
      await ask(side, 'POST', 'token', { body: {} }),
    ]));

  it('to sign-ups', () =>
    expectAlike(async (side) => {
      const known = await side.addUser();
      const person = newUser();
      return [
        await ask(side, 'POST', 'signup', { body: { ...person, data: {} } }),
        await ask(side, 'POST', 'signup', { body: { ...person, data: {} } }),
        await ask(side, 'POST', 'signup', { body: { ...known, data: {} } }),
        await ask(side, 'POST', 'signup', { body: { ...newUser(), password: 'short' } }),
        await ask(side, 'POST', 'signup', { body: { ...newUser(), password: '' } }),
        await ask(side, 'POST', 'signup', { body: { ...newUser(), password: 'x'.repeat(73) } }),
        await ask(side, 'POST', 'signup', { body: { ...newUser(), email: 'no-address' } }),
        await ask(side, 'POST', 'signup', { body: { ...newUser(), email: 'a..b@example.com' } }),
        await ask(side, 'POST', 'token?grant_type=password', { body: person }),
      ];
    }));

  it('to the wish for another mail', () =>
    expectAlike(async (side) => {
      const person = newUser();
      await raw(side, 'POST', 'signup', { body: person });
      const known = await side.addUser();
      return [
        await ask(side, 'POST', 'resend', { body: { type: 'signup', email: person.email } }),
        await ask(side, 'POST', 'resend', { body: { type: 'signup', email: known.email } }),
        await ask(side, 'POST', 'resend', { body: { type: 'signup', email: newUser().email } }),
        await ask(side, 'POST', 'resend', { body: { type: 'other', email: known.email } }),
        await ask(side, 'POST', 'resend', { body: { type: 'signup' } }),
      ];
    }));

  it('to a token hash, once', () =>
    expectAlike(async (side) => {
      const person = newUser();
      await raw(side, 'POST', 'signup', { body: person });
      const { tokenHash: token_hash } = await side.mailTo(person.email);
      return [
        await ask(side, 'POST', 'verify', { body: { token_hash, type: 'recovery' } }),
        await ask(side, 'POST', 'verify', { body: { token_hash, type: 'email', email: person.email } }),
        await ask(side, 'POST', 'verify', { body: { token_hash } }),
        await ask(side, 'POST', 'verify', { body: { type: 'email' } }),
        await ask(side, 'POST', 'verify', { body: { token_hash, type: 'email' } }),
        await ask(side, 'POST', 'verify', { body: { token_hash, type: 'email' } }),
      ];
    }));

  it.each([true, false])('to a mail’s own link, with PKCE %p', (isPkce) =>
    expectAlike(async (side) => {
      const person = newUser();
      const { challenge, verifier } = pkce();
      const query = new URLSearchParams({ redirect_to: callbackUrl }).toString();
      await raw(side, 'POST', `signup?${query}`, {
        body: isPkce ? { ...person, code_challenge: challenge, code_challenge_method: 's256' } : person,
      });
      const { link } = await side.mailTo(person.email);
      const [first, second] = [await locationOf(link), await locationOf(link)];
      const code = new URL(first).searchParams.get('code');
      return [
        redirectShape(first),
        redirectShape(second),
        await ask(side, 'POST', 'token?grant_type=pkce', { body: { auth_code: code, code_verifier: 'x'.repeat(43) } }),
        await ask(side, 'POST', 'token?grant_type=pkce', { body: { auth_code: code, code_verifier: verifier } }),
        await ask(side, 'POST', 'token?grant_type=pkce', { body: { auth_code: code, code_verifier: verifier } }),
        await ask(side, 'POST', 'token?grant_type=pkce', { body: { auth_code: code } }),
        await ask(side, 'POST', 'token?grant_type=pkce', { body: { auth_code: 'x', code_verifier: verifier } }),
      ];
    }),
  );

  it('to the start of OAuth', () =>
    expectAlike(async (side) => [
      await ask(side, 'GET', 'authorize?provider=gitlab', { isOld: true }),
      await ask(side, 'GET', 'authorize?provider=nonsense', { isOld: true }),
      await ask(side, 'GET', 'authorize', { isOld: true }),
      redirectShape(await locationOf(`${side.url}/auth/v1/callback?code=x&state=unknown`)),
      redirectShape(await locationOf(`${side.url}/auth/v1/callback`)),
    ]));

  it('with its keys', () => expectAlike((side) => ask(side, 'GET', '.well-known/jwks.json')));

  it('with what a doctor reads of its settings', () =>
    expectAlike(async (side) => {
      const { external, disable_signup, mailer_autoconfirm } = (await raw(side, 'GET', 'settings')).body;
      return [typeof external.github, external.email, disable_signup, mailer_autoconfirm];
    }));
});

async function realSide(): Promise<Side> {
  const project = await startProject();
  return {
    url: project.url,
    publishableKey: project.publishableKey,
    addUser: () => project.addUser(),
    ban: ({ id }) => project.admin(`/admin/users/${id}`, 'PUT', { ban_duration: '1h' }),
    remove: ({ id }) => project.admin(`/admin/users/${id}`, 'DELETE'),
    expiredToken: ({ id }) =>
      new SignJWT({ role: 'authenticated' })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setSubject(id)
        .setAudience('authenticated')
        .setExpirationTime('-1 minute')
        .sign(new TextEncoder().encode(process.env['GOTRUE_JWT_SECRET'])),
    async mailTo(email) {
      const { links } = await project.mails.take(email);
      return { tokenHash: new URL(links[0]!).searchParams.get('token_hash')!, link: links[1]! };
    },
    close: () => project.close(),
  };
}

async function standInSide({ url, publishableKey }: Side): Promise<Side> {
  const keys = await raw({ url, publishableKey }, 'GET', '.well-known/jwks.json');
  const standIn = await startSupabaseStandIn({
    algorithm: keys.body.keys.length === 0 ? 'HS256' : 'ES256',
    siteUrl: 'http://127.0.0.1:3000',
    minimumPasswordLength: 8,
    mailFrequency: 3,
    reuse: 'parent',
  });
  const users = new Map<string, ReturnType<typeof standIn.addUser>>();
  return {
    url: standIn.url,
    publishableKey: standIn.publishableKey,
    async addUser() {
      const person = newUser();
      const user = standIn.addUser(person);
      users.set(user.id, user);
      return { ...person, id: user.id };
    },
    async ban({ id }) {
      users.get(id)!.banned = true;
    },
    async remove({ email }) {
      standIn.removeUser(email);
    },
    expiredToken: async ({ email }) => (await standIn.issueSession(email, { ttl: -60 })).access_token,
    async mailTo(email) {
      const { tokenHash, confirmationUrl } = standIn.mails.findLast(({ to }) => to === email)!;
      return { tokenHash, link: confirmationUrl };
    },
    close: () => standIn.close(),
  };
}

interface Raw {
  readonly status: number;
  readonly type: string | undefined;
  readonly code: string | null;
  readonly version: string | null;
  readonly body: any;
}

async function raw(
  { url, publishableKey }: Pick<Side, 'url' | 'publishableKey'>,
  method: string,
  path: string,
  question: Question = {},
): Promise<Raw> {
  const { body, token, isOld = false } = question;
  const answer = await fetch(`${url}/auth/v1/${path}`, {
    method,
    redirect: 'manual',
    headers: {
      apikey: publishableKey,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(isOld ? {} : { 'x-supabase-api-version': '2024-01-01' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    type: answer.headers.get('content-type')?.split(';')[0],
    code: answer.headers.get('x-sb-error-code'),
    version: answer.headers.get('x-supabase-api-version'),
    body: text === '' ? undefined : JSON.parse(text),
  };
}

const ask = async (side: Side, method: string, path: string, question?: Question): Promise<unknown> =>
  shapeOf(await raw(side, method, path, question));

const signIn = async (side: Side, { email, password }: User): Promise<any> =>
  (await raw(side, 'POST', 'token?grant_type=password', { body: { email, password } })).body;

/** What of an answer is not this run's own: the names and types of its fields, and the texts of errors without numbers. */
function shapeOf(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map((each) => shapeOf(each));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, shapeOf(field, key)]));
  if (['status', 'type', 'role', 'aal', 'method'].includes(name)) return value;
  if (typeof value === 'string' && /^(code|version|error|error_\w+|msg|message)$/.test(name))
    return value.replace(/\d+ seconds|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/, 'N');
  return name === 'code' ? value : typeof value;
}

function redirectShape(location: string): unknown {
  const { origin, pathname, searchParams, hash } = new URL(location);
  const read = (parameters: URLSearchParams): unknown => shapeOf(Object.fromEntries(parameters));
  return [origin + pathname, read(searchParams), read(new URLSearchParams(hash.slice(1)))];
}

async function locationOf(url: string): Promise<string> {
  const answer = await fetch(url, { redirect: 'manual' });
  return answer.headers.get('location') ?? `http://no-redirect/${answer.status}`;
}

function pkce(): { readonly challenge: string; readonly verifier: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
