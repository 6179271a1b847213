import { createClient } from '@supabase/supabase-js';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn, SupabaseStandInOptions } from '../../stand-ins/supabase/stand-in.ts';

const ada = { email: 'ada@example.com', password: 'analytical engine' };
let clockMs = Date.now();
let project: SupabaseStandIn;

async function start(options: SupabaseStandInOptions = {}): Promise<void> {
  clockMs = Date.now();
  project = await startSupabaseStandIn({ siteUrl: 'http://app.example', now: () => clockMs, ...options });
  project.addUser(ada);
}
afterEach(() => project.close());

function client() {
  const memory = new Map<string, string>();
  const storage = {
    getItem: (name: string) => memory.get(name) ?? null,
    setItem: (name: string, value: string) => void memory.set(name, value),
    removeItem: (name: string) => void memory.delete(name),
  };
  const auth = { storage, flowType: 'pkce', autoRefreshToken: false, detectSessionInUrl: false } as const;
  return createClient(project.url, project.publishableKey, { auth });
}

async function signedIn(credentials = ada) {
  const supabase = client();
  const { data, error } = await supabase.auth.signInWithPassword(credentials);
  if (error) throw error;
  return { supabase, session: data.session };
}

const claimsOf = (accessToken: string): Record<string, any> =>
  JSON.parse(Buffer.from(accessToken.split('.')[1]!, 'base64url').toString());

describe('a forgotten password', () => {
  it('is replaced after the link in the mail, which ends every other session', async () => {
    await start();
    const other = await signedIn();
    const supabase = client();
    expect((await supabase.auth.resetPasswordForEmail(ada.email)).error).toBeNull();
    const { tokenHash } = project.mails[0]!;
    const verified = await supabase.auth.verifyOtp({ type: 'recovery', token_hash: tokenHash });
    expect(claimsOf(verified.data.session!.access_token)['amr']).toMatchObject([{ method: 'otp' }]);
    expect((await supabase.auth.updateUser({ password: ada.password })).error).toMatchObject({ code: 'same_password' });
    expect((await supabase.auth.updateUser({ password: 'difference engine' })).error).toBeNull();
    expect((await supabase.auth.refreshSession()).error).toBeNull();
    expect((await other.supabase.auth.refreshSession()).error).toMatchObject({ code: 'refresh_token_not_found' });
    expect((await client().auth.signInWithPassword(ada)).error).toMatchObject({ code: 'invalid_credentials' });
  });

  it('sends nothing to an unknown address, and answers the same', async () => {
    await start();
    expect((await client().auth.resetPasswordForEmail('bob@example.com')).error).toBeNull();
    expect(project.mails).toEqual([]);
  });

  it('reveals a known address by its limit, as the real server does', async () => {
    await start();
    const again = async (email: string) => {
      await client().auth.resetPasswordForEmail(email);
      return (await client().auth.resetPasswordForEmail(email)).error?.code;
    };
    expect(await again(ada.email)).toBe('over_email_send_rate_limit');
    expect(await again('bob@example.com')).toBeUndefined();
  });
});

describe('a new password of a signed-in user', () => {
  it('requires the current one if the project is configured for that, but not after a recovery', async () => {
    await start({ requireCurrentPassword: true });
    const { supabase } = await signedIn();
    const change = async (fields: { password: string; current_password?: string }) =>
      (await supabase.auth.updateUser(fields)).error?.code;
    expect(await change({ password: 'difference engine' })).toBe('current_password_required');
    expect(await change({ password: 'difference engine', current_password: 'x' })).toBe('current_password_invalid');
    expect(await change({ password: 'difference engine', current_password: ada.password })).toBeUndefined();
  });

  it('requires a nonce after a day if the project is configured for that', async () => {
    await start({ requireReauthentication: true });
    const { supabase } = await signedIn();
    const change = async (nonce?: string) =>
      (await supabase.auth.updateUser({ password: 'difference engine', ...(nonce === undefined ? {} : { nonce }) }))
        .error?.code;
    clockMs += 86_400_001;
    await supabase.auth.refreshSession();
    expect(await change()).toBe('reauthentication_needed');
    await supabase.auth.reauthenticate();
    const { token } = project.mails[0]!;
    expect(await change(token === '000000' ? '111111' : '000000')).toBe('reauthentication_not_valid');
    expect(await change(token)).toBeUndefined();
  });
});

describe('a code by email', () => {
  it('signs in once, by the digits or by the link', async () => {
    await start({ mailFrequency: 0 });
    const supabase = client();
    await supabase.auth.signInWithOtp({ email: ada.email });
    const { token } = project.mails[0]!;
    const verification = { type: 'email', email: ada.email, token } as const;
    const wrong = { ...verification, token: token === '000000' ? '111111' : '000000' };
    expect((await supabase.auth.verifyOtp(wrong)).error).toMatchObject({ status: 403, code: 'otp_expired' });
    expect((await supabase.auth.verifyOtp(verification)).data.user).toMatchObject({ email: ada.email });
    expect((await supabase.auth.verifyOtp(verification)).error).toMatchObject({ code: 'otp_expired' });
  });

  it('creates an account only on request', async () => {
    await start();
    const ask = async (email: string, shouldCreateUser: boolean) =>
      (await client().auth.signInWithOtp({ email, options: { shouldCreateUser } })).error?.code;
    expect(await ask('bob@example.com', false)).toBe('otp_disabled');
    expect(await ask('bob@example.com', true)).toBeUndefined();
    expect(project.mails.map(({ kind }) => kind)).toEqual(['signup']);
  });
});

describe('a second factor', () => {
  it('upgrades its session, and ends the others without one', async () => {
    await start();
    const [other, { supabase }] = [await signedIn(), await signedIn()];
    const { data } = await supabase.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'phone' });
    const factor = { factorId: data!.id };
    expect((await supabase.auth.mfa.challengeAndVerify({ ...factor, code: '000000' })).error).toMatchObject({
      status: 422,
      code: 'mfa_verification_failed',
    });
    const code = project.codeOf(data!.totp);
    const raised = await supabase.auth.mfa.challengeAndVerify({ ...factor, code });
    expect(claimsOf(raised.data!.access_token)).toMatchObject({
      aal: 'aal2',
      amr: [{ method: 'totp' }, { method: 'password' }],
    });
    expect((await supabase.auth.refreshSession()).data.session).not.toBeNull();
    expect((await other.supabase.auth.refreshSession()).error).toMatchObject({ code: 'refresh_token_not_found' });
  });

  it('is required for another factor, for its removal and for a new password', async () => {
    await start();
    const factor = project.addFactor(ada.email);
    const { supabase } = await signedIn();
    expect((await supabase.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'b' })).error).toMatchObject({
      status: 403,
      code: 'insufficient_aal',
    });
    expect((await supabase.auth.mfa.unenroll({ factorId: factor.id })).error).toMatchObject({
      status: 422,
      code: 'insufficient_aal',
    });
    expect((await supabase.auth.updateUser({ password: 'difference engine' })).error).toMatchObject({
      status: 401,
      code: 'insufficient_aal',
    });
  });

  it('sends the code of a phone by text message', async () => {
    await start({ phoneFactors: true });
    const factor = project.addFactor(ada.email, { type: 'phone', phone: '4915112345678' });
    const { supabase } = await signedIn();
    const { data } = await supabase.auth.mfa.challenge({ factorId: factor.id, channel: 'sms' });
    const { to, code } = project.texts[0]!;
    expect(to).toBe('4915112345678');
    const raised = await supabase.auth.mfa.verify({ factorId: factor.id, challengeId: data!.id, code });
    expect(claimsOf(raised.data!.access_token)).toMatchObject({ aal: 'aal2', amr: [{ method: 'mfa/phone' }, {}] });
    const again = await supabase.auth.mfa.challenge({ factorId: factor.id, channel: 'sms' });
    expect(again.error).toMatchObject({ status: 429, code: 'over_sms_send_rate_limit' });
  });

  it('downgrades its sessions at their next refresh once it is removed', async () => {
    await start();
    const factor = project.addFactor(ada.email);
    const { supabase } = await signedIn();
    await supabase.auth.mfa.challengeAndVerify({ factorId: factor.id, code: project.codeOf(factor) });
    project.removeFactor(ada.email, factor);
    const { data } = await supabase.auth.refreshSession();
    expect(claimsOf(data.session!.access_token)).toMatchObject({ aal: 'aal1', amr: [{ method: 'password' }] });
  });
});

describe('an anonymous user', () => {
  it('keeps the id when an address and a password are added', async () => {
    await start({ anonymousUsers: true });
    const supabase = client();
    const { data } = await supabase.auth.signInAnonymously();
    expect(claimsOf(data.session!.access_token)).toMatchObject({ is_anonymous: true, email: '' });
    const grace = { email: 'grace@example.com', password: 'nanoseconds of wire' };
    expect((await supabase.auth.updateUser({ password: grace.password })).error).toMatchObject({ status: 422 });
    expect((await supabase.auth.updateUser({ ...grace, email: ada.email })).error).toMatchObject({
      code: 'email_exists',
    });
    expect((await supabase.auth.updateUser(grace)).data.user).toMatchObject({ new_email: grace.email });
    const { tokenHash } = project.mails[0]!;
    const confirmed = await client().auth.verifyOtp({ type: 'email_change', token_hash: tokenHash });
    expect(confirmed.data.user).toMatchObject({ id: data.user!.id, email: grace.email, is_anonymous: false });
    expect((await signedIn(grace)).session.user.id).toBe(data.user!.id);
  });

  it('is refused if the project disables anonymous sign-ins', async () => {
    await start();
    expect((await client().auth.signInAnonymously()).error).toMatchObject({ code: 'anonymous_provider_disabled' });
  });
});

describe('the rest of an account', () => {
  it('signs an invited user in by the link, to choose a password', async () => {
    await start();
    const { tokenHash, kind } = await project.invite('grace@example.com');
    const supabase = client();
    expect((await supabase.auth.verifyOtp({ type: 'invite', token_hash: tokenHash })).error).toBeNull();
    expect((await supabase.auth.updateUser({ password: 'nanoseconds of wire' })).error).toBeNull();
    expect(kind).toBe('invite');
  });

  it('sends the addresses of one domain to its identity provider', async () => {
    await start({ ssoDomains: new Set(['example.org']) });
    const ask = (domain: string) =>
      client().auth.signInWithSSO({ domain, options: { redirectTo: 'http://app.example/auth/callback' } });
    expect((await ask('example.com')).error).toMatchObject({ status: 404, code: 'sso_provider_not_found' });
    const { data } = await ask('example.org');
    const back = await project.authorize(data!.url, { approve: true, user: 'eve@example.org' });
    expect(back.href).toMatch(/^http:\/\/app\.example\/auth\/callback\?code=/);
  });

  it('ends only the other sessions on request', async () => {
    await start();
    const [one, other] = [await signedIn(), await signedIn()];
    await one.supabase.auth.signOut({ scope: 'others' });
    expect((await one.supabase.auth.refreshSession()).error).toBeNull();
    expect((await other.supabase.auth.refreshSession()).error).toMatchObject({ code: 'refresh_token_not_found' });
    expect(project.sessionsOf(ada.email)).toHaveLength(1);
  });
});
