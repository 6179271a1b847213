import { createHash, randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';
import { startSupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import { newUser, startProject } from './project.ts';
import type { User } from './project.ts';

/** One of the two servers that are to answer alike. */
export interface Side {
  readonly url: string;
  readonly publishableKey: string;
  addUser(state?: 'banned'): Promise<User>;
  ban(user: User): Promise<void>;
  remove(user: User): Promise<void>;
  /** An access token of a user whose time is over. */
  expiredToken(user: User): Promise<string>;
  /** The newest mail to an address. */
  mailTo(email: string): Promise<{ readonly tokenHash: string; readonly link: string; readonly code: string }>;
  invite(email: string): Promise<unknown>;
  close(): Promise<void>;
}

interface Question {
  readonly body?: object;
  readonly token?: string;
  /** Without a version GoTrue words errors as it did before 2024. */
  readonly isOld?: boolean;
}

export const callbackUrl = 'http://127.0.0.1:3000/auth/callback';

/** Tells the same story to both servers; what they answer is compared by its shape, and texts of errors word by word. */
export function useTwoSides() {
  let sides: readonly [Side, Side];
  beforeAll(async () => {
    const real = await realSide();
    sides = [real, await standInSide(real)];
  });
  afterAll(async () => {
    for (const side of sides) await side.close();
  });
  return async (story: (side: Side) => Promise<unknown>): Promise<void> => {
    const [real, standIn] = [await story(sides[0]), await story(sides[1])];
    expect(standIn).toEqual(real);
  };
}

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
      const { links, body } = await project.mails.take(email);
      const [, code = ''] = /<code>(\d+)<\/code>/.exec(body) ?? [];
      return { tokenHash: new URL(links[0]!).searchParams.get('token_hash')!, link: links[1]!, code };
    },
    invite: (email) => project.admin('/invite', 'POST', { email }),
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
    anonymousUsers: true,
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
      const { tokenHash, confirmationUrl, token } = standIn.mails.findLast(({ to }) => to === email)!;
      return { tokenHash, link: confirmationUrl, code: token };
    },
    invite: (email) => standIn.invite(email),
    close: () => standIn.close(),
  };
}

export interface Raw {
  readonly status: number;
  readonly type: string | undefined;
  readonly code: string | null;
  readonly version: string | null;
  readonly body: any;
}

export async function raw(
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

export const ask = async (side: Side, method: string, path: string, question?: Question): Promise<unknown> =>
  shapeOf(await raw(side, method, path, question));

export const signIn = async (side: Side, { email, password }: User): Promise<any> =>
  (await raw(side, 'POST', 'token?grant_type=password', { body: { email, password } })).body;

/** What of an answer is not this run's own: the names and types of its fields, and the texts of errors without numbers. */
export function shapeOf(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map((each) => shapeOf(each));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, shapeOf(field, key)]));
  if (['status', 'type', 'role', 'aal', 'method'].includes(name)) return value;
  if (typeof value === 'string' && /^(code|version|error|error_\w+|msg|message)$/.test(name))
    return value.replace(/\d+ seconds|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/, 'N');
  return name === 'code' ? value : typeof value;
}

export function redirectShape(location: string): unknown {
  const { origin, pathname, searchParams, hash } = new URL(location);
  const read = (parameters: URLSearchParams): unknown => shapeOf(Object.fromEntries(parameters));
  return [origin + pathname, read(searchParams), read(new URLSearchParams(hash.slice(1)))];
}

export async function locationOf(url: string): Promise<string> {
  const answer = await fetch(url, { redirect: 'manual' });
  return answer.headers.get('location') ?? `http://no-redirect/${answer.status}`;
}

export function pkce(): { readonly challenge: string; readonly verifier: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
