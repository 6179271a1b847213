import { createClient } from '@supabase/supabase-js';
import { startSupabaseLocal } from '../../stand-ins/supabase/index.ts';
import type { SupabaseLocal } from '../../stand-ins/supabase/index.ts';

const siteUrl = 'http://localhost:3999';
let backend: SupabaseLocal;

beforeAll(async () => {
  backend = await startSupabaseLocal({ siteUrl });
});
afterAll(() => backend.close());
beforeEach(() => {
  backend.outbox.clear();
});

/** A client with a memory of its own, for PKCE verifiers and the session. */
function client(url = backend.url, key = backend.publishableKey) {
  const memory = new Map<string, string>();
  const storage = {
    getItem: (name: string) => memory.get(name) ?? null,
    setItem: (name: string, value: string) => void memory.set(name, value),
    removeItem: (name: string) => void memory.delete(name),
  };
  return createClient(url, key, {
    auth: { storage, flowType: 'pkce', autoRefreshToken: false, detectSessionInUrl: false },
  });
}

/** What a browser does at the stand-in's consent page, up to the application's callback. */
async function consent(authorizeUrl: string, decision: 'approve' | 'deny'): Promise<URL> {
  const toGithub = await fetch(authorizeUrl, { redirect: 'manual' });
  const consentUrl = toGithub.headers.get('location')!;
  const page = await (await fetch(consentUrl)).text();
  expect(page).toContain('This is not GitHub.');
  const { searchParams } = new URL(consentUrl);
  const form = new URLSearchParams({ decision });
  for (const name of ['state', 'redirect_uri']) form.set(name, searchParams.get(name)!);
  const decided = await fetch(consentUrl, { method: 'POST', body: form, redirect: 'manual' });
  const back = await fetch(decided.headers.get('location')!, { redirect: 'manual' });
  return new URL(back.headers.get('location')!);
}

describe('the local Supabase project', () => {
  it('signs the demo user in and shows exactly its own notes', async () => {
    const supabase = client();
    const { data, error } = await supabase.auth.signInWithPassword(backend.demo);
    expect(error).toBeNull();
    const { data: notes } = await supabase.from('notes').select('user_id, body');
    expect(notes).toHaveLength(2);
    expect(new Set(notes!.map((note) => note.user_id))).toEqual(new Set([data.user!.id]));
  });

  it('refuses a wrong password', async () => {
    const { error } = await client().auth.signInWithPassword({ ...backend.demo, password: 'wrong' });
    expect(error).toMatchObject({ code: 'invalid_credentials', status: 400 });
  });

  it('refuses a foreign key as the gateway does', async () => {
    const { error } = await client(backend.url, 'sb_publishable_other').auth.signInWithPassword(backend.demo);
    expect(error).toMatchObject({ status: 401, message: 'Invalid API key' });
  });

  it('mails a link that confirms the address in any browser', async () => {
    const email = 'ada@example.com';
    const { data } = await client().auth.signUp({ email, password: 'analytical engine' });
    expect(data.session).toBeNull();
    const [mail] = backend.outbox.list();
    expect(mail).toMatchObject({ to: email, subject: 'Confirm your email address' });
    expect(mail!.text).toContain(email);
    const link = new URL(mail!.link);
    expect(`${link.origin}${link.pathname}`).toBe(`${siteUrl}/auth/confirm`);
    const elsewhere = client();
    const verified = await elsewhere.auth.verifyOtp({
      type: 'signup',
      token_hash: link.searchParams.get('token_hash')!,
    });
    expect(verified.data.user).toMatchObject({ email });
    expect((await elsewhere.from('notes').select('id')).data).toHaveLength(2);
  });

  it('signs up at once when confirmation is off', async () => {
    const open = await startSupabaseLocal({ siteUrl, confirmEmail: false });
    try {
      const supabase = client(open.url, open.publishableKey);
      const { data } = await supabase.auth.signUp({ email: 'new@example.com', password: 'long enough' });
      expect(data.session).not.toBeNull();
      expect((await client(open.url, open.publishableKey).auth.signInWithPassword(open.demo)).error).toBeNull();
      expect(open.outbox.list()).toEqual([]);
    } finally {
      await open.close();
    }
  });

  it('signs in through the GitHub stand-in', async () => {
    const supabase = client();
    const { data } = await supabase.auth.signInWithOAuth({
      provider: 'github',
      options: { redirectTo: `${siteUrl}/auth/callback` },
    });
    const callback = await consent(data.url!, 'approve');
    expect(`${callback.origin}${callback.pathname}`).toBe(`${siteUrl}/auth/callback`);
    const { data: signedIn, error } = await supabase.auth.exchangeCodeForSession(callback.searchParams.get('code')!);
    expect(error).toBeNull();
    expect(signedIn.user).toMatchObject({ email: 'octavia@example.com' });
  });

  it('passes on a denial at the GitHub stand-in', async () => {
    const { data } = await client().auth.signInWithOAuth({
      provider: 'github',
      options: { redirectTo: `${siteUrl}/auth/callback` },
    });
    const callback = await consent(data.url!, 'deny');
    expect(callback.searchParams.get('error')).toBe('access_denied');
  });

  it.each(['linkedin_oidc', 'zoom', 'custom:acme'])('signs in with %s, with a name and a picture', async (provider) => {
    const supabase = client();
    const options = { redirectTo: `${siteUrl}/auth/callback` };
    const { data } = await supabase.auth.signInWithOAuth({ provider: provider as 'zoom', options });
    const callback = await backend.standIn.authorize(data.url!, { approve: true, user: 'ada@example.com' });
    const { data: signedIn } = await supabase.auth.exchangeCodeForSession(callback.searchParams.get('code')!);
    const { full_name: name, avatar_url: picture } = signedIn.user!.user_metadata;
    expect(name).toBe('Ada Lovelace');
    const answer = await fetch(picture);
    expect([answer.headers.get('content-type'), await answer.text()]).toEqual([
      'image/svg+xml',
      expect.stringContaining('>AL<'),
    ]);
  });

  it('refuses a name that is no provider of Supabase', async () => {
    const answer = await fetch(`${backend.url}/auth/v1/authorize?provider=googel`);
    expect(await answer.json()).toMatchObject({ msg: 'Unsupported provider: Provider googel could not be found' });
  });

  it('offers people on a provider’s page, and signs in the one whose button is pressed', async () => {
    const { data } = await client().auth.signInWithOAuth({ provider: 'google' });
    const page = await fetch(data.url!);
    const text = await page.text();
    expect(text).toContain('Sign in with Google');
    expect([...text.matchAll(/name="email" value="([^"]+)"/g)].map(([, email]) => email)).toEqual([
      'octavia@example.com',
      'ada@example.com',
      backend.demo.email,
      backend.admin.email,
    ]);
    const body = new URLSearchParams({ email: backend.admin.email });
    const pressed = await fetch(page.url, { method: 'POST', body, redirect: 'manual' });
    expect(pressed.headers.get('location')).toContain('code=');
  });

  it('has an admin, with the role in the token', async () => {
    const { data } = await client().auth.signInWithPassword(backend.admin);
    expect(data.user).toMatchObject({
      app_metadata: { role: 'admin' },
      user_metadata: { full_name: 'Margaret Hamilton' },
    });
    const [, payload = ''] = data.session!.access_token.split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({ app_metadata: { role: 'admin' } });
  });

  it('gives a note to the user who adds it, as the documented table does', async () => {
    const supabase = client();
    const { data: signedIn } = await supabase.auth.signInWithPassword(backend.demo);
    const notes = supabase.from('notes');
    const { data: added } = await notes.insert({ body: 'mine' }).select().single();
    expect(added).toMatchObject({ body: 'mine', user_id: signedIn.user!.id });
    expect((await notes.insert({ text: 'mine' })).error?.code).toBe('PGRST204');
    expect((await notes.update({ text: 'mine' }).eq('id', added.id)).error?.code).toBe('PGRST204');
    expect((await notes.select('id, text')).error?.code).toBe('42703');
    expect((await notes.select().eq('text', 'mine')).error?.code).toBe('42703');
    expect((await supabase.from('tasks').select()).error?.code).toBe('PGRST205');
    expect((await notes.insert([{ body: 'two' }, { body: 'three' }])).error).toBeNull();
    expect((await notes.update({ body: 'changed' }).eq('id', added.id)).error).toBeNull();
    expect((await notes.select('body').eq('id', added.id).single()).data).toEqual({ body: 'changed' });
    expect((await notes.delete().eq('body', 'two')).error).toBeNull();
    expect((await notes.delete().in('body', ['three'])).error?.message).toContain('eq alone');
    const latest = await notes.select('body').order('created_at', { ascending: false }).limit(1);
    expect(latest.data).toEqual([{ body: 'three' }]);
    expect((await client().from('notes').insert({ body: 'of no one' })).error).toMatchObject({ code: '42501' });
    await notes.delete().eq('user_id', signedIn.user!.id).eq('body', 'three');
    await notes.delete().eq('id', added.id);
    expect((await notes.select()).data).toHaveLength(2);
  });

  it('returns no rows without a session, and accepts none for another user', async () => {
    expect((await client().from('notes').select('id')).data).toEqual([]);
    const demo = client();
    await demo.auth.signInWithPassword(backend.demo);
    const user_id = '00000000-0000-4000-8000-000000000000';
    expect((await demo.from('notes').insert({ user_id, body: 'not mine' })).error).not.toBeNull();
  });

  it('refuses to run in production', async () => {
    const before = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      await expect(startSupabaseLocal({ siteUrl })).rejects.toThrow('production');
    } finally {
      process.env['NODE_ENV'] = before;
    }
  });
});
