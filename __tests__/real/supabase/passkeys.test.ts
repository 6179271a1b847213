import { decodeJwt } from 'jose';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { createCredential } from '../../support/authenticator.ts';
import type { SoftwareCredential } from '../../support/authenticator.ts';
import { examine } from '../../support/doctor.ts';
import { addPasskey, signInWith } from '../../support/passkeys.ts';
import type { Answer } from '../../support/visitor.ts';
import { sessionOf, useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { runSql } from '../support/database.ts';
import { createSigningKey } from '../support/gotrue.ts';
import type { User } from '../support/project.ts';
import { party, webAuthnSettings } from '../support/security-key.ts';

const settings = { ...webAuthnSettings, GOTRUE_PASSKEY_ENABLED: 'true', GOTRUE_RATE_LIMIT_PASSKEY: '1000000' };
const errorOf = ({ status, json }: Answer) => [status, json.error?.code];

describeOwnGoTrue('a passkey, at a real GoTrue,', () => {
  const real = useRealApp({
    gotrue: { keys: [createSigningKey('only')], settings },
    options: { signInMethods: ['password', 'passkey'] },
  });

  async function holder(): Promise<{ user: User; passkey: SoftwareCredential }> {
    const user = await real.project.addUser();
    return { user, passkey: await addPasskey(await real.app.signedIn(user)) };
  }

  it('signs in its account: aal1, by the method "passkey"', async () => {
    const { user, passkey } = await holder();
    const visitor = real.app.visitor();
    const answer = await signInWith(visitor, passkey, { returnTo: '/account' });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/account' }]);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(user.email);
    const claims = decodeJwt(sessionOf(visitor).access_token);
    expect([claims['aal'], (claims['amr'] as any)[0].method]).toEqual(['aal1', 'passkey']);
  });

  it('belongs to a relying party that the doctor reads with the publishable key', async () => {
    const env = { BAAS_URL: real.project.url, BAAS_PUBLISHABLE_KEY: real.project.publishableKey };
    const { findings } = await examine({ ...env, APP_BASE_URL: 'https://app.example.com' });
    expect(findings.find(({ id }) => id === 'backend.passkeys')).toMatchObject({
      message: expect.stringContaining('browsers refuse them on app.example.com'),
      values: { isEnabled: true, relyingPartyId: party.id },
    });
  });

  it('asks for the second factor afterward, as a password does', async () => {
    const { user, passkey } = await holder();
    const owner = await real.app.signedIn(user);
    const { factorId, secret } = (await owner.postJson('/auth/enroll', {})).json;
    await owner.postJson('/auth/enroll', { factorId, code: totp(secret) });
    const visitor = real.app.visitor();
    expect((await signInWith(visitor, passkey)).json).toEqual({ redirectTo: '/auth/verify' });
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect((await visitor.postJson('/auth/verify', { code: totp(secret) })).status).toBe(200);
    expect((await visitor.getJson('/secure')).status).toBe(200);
    // Adding another one needs the second factor, too, and the one that the challenge was given for does not help.
    const again = real.app.visitor();
    await signInWith(again, passkey);
    expect(errorOf(await again.postJson('/auth/passkeys', {}))).toEqual([401, 'unauthenticated']);
  });

  it('is listed with its name and times, renamed and removed', async () => {
    const { user, passkey } = await holder();
    const visitor = await real.app.signedIn(user);
    await signInWith(real.app.visitor(), passkey);
    const [listed] = (await visitor.getJson('/auth/passkeys')).json.passkeys;
    expect(listed).toEqual({
      id: expect.stringMatching(/^[\da-f-]{36}$/),
      name: 'Passkey',
      createdAt: expect.stringMatching(/^20\d\d-/),
      lastUsedAt: expect.stringMatching(/^20\d\d-/),
    });
    const renamed = await visitor.postJson('/auth/passkeys', { rename: listed.id, name: 'Blue <key> 🔑' });
    expect(renamed.json).toEqual({ redirectTo: '/auth/passkeys' });
    expect((await visitor.getJson('/auth/passkeys')).json.passkeys[0].name).toBe('Blue <key> 🔑');
    expect((await visitor.postJson('/auth/passkeys', { remove: listed.id })).status).toBe(200);
    expect((await visitor.getJson('/auth/passkeys')).json.passkeys).toEqual([]);
    expect(errorOf(await signInWith(real.app.visitor(), passkey))).toEqual([422, 'code_wrong']);
    // Not a double submit of the same form.
    const gone = await visitor.postJson('/auth/passkeys', { remove: listed.id, returnTo: '/account' });
    expect(errorOf(gone)).toEqual([400, 'invalid_request']);
  });

  it('of another user cannot be renamed or removed', async () => {
    const { user } = await holder();
    const [{ id }] = (await (await real.app.signedIn(user)).getJson('/auth/passkeys')).json.passkeys;
    const other = await real.app.signedIn(await real.project.addUser());
    for (const body of [{ remove: id }, { rename: id, name: 'mine' }]) {
      expect(errorOf(await other.postJson('/auth/passkeys', body))).toEqual([400, 'invalid_request']);
    }
    expect((await (await real.app.signedIn(user)).getJson('/auth/passkeys')).json.passkeys).toHaveLength(1);
  });

  it('is one of at most ten', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    for (let count = 0; count < 10; count += 1) await addPasskey(visitor);
    const refused = await visitor.postJson('/auth/passkeys', {});
    expect([...errorOf(refused), refused.json.error.message]).toEqual([
      422,
      'factor_unavailable',
      'You’ve reached the limit. Remove a passkey first.',
    ]);
  });

  it('needs aal2 to be removed where the account has a second factor', async () => {
    const { user } = await holder();
    const visitor = await real.app.signedIn(user);
    const [{ id }] = (await visitor.getJson('/auth/passkeys')).json.passkeys;
    const { factorId, secret } = (await visitor.postJson('/auth/enroll', {})).json;
    await visitor.postJson('/auth/enroll', { factorId, code: totp(secret) });
    expect((await visitor.postJson('/auth/passkeys', { remove: id })).status).toBe(200);
  });

  describe('answers a challenge', () => {
    const started = async (visitor = real.app.visitor()) => {
      const { json } = await visitor.postJson('/auth/passkey', {});
      return { visitor, challengeId: json.challengeId, challenge: json.options.challenge };
    };

    it('once', async () => {
      const { passkey } = await holder();
      const { visitor, challengeId, challenge } = await started();
      const fields = () => ({ challengeId, credential: passkey.assert({ challenge }) });
      expect((await visitor.postJson('/auth/passkey', fields())).status).toBe(200);
      expect(errorOf(await visitor.postJson('/auth/passkey', fields()))).toEqual([422, 'challenge_expired']);
    });

    it('within five minutes', async () => {
      const { passkey } = await holder();
      const { visitor, challengeId, challenge } = await started();
      await runSql(
        `update auth.webauthn_challenges set expires_at = now() - interval '1 second' where id = :'id'::uuid;`,
        {
          id: challengeId.split('.')[0],
        },
      );
      const late = { challengeId, credential: passkey.assert({ challenge }) };
      expect(errorOf(await visitor.postJson('/auth/passkey', late))).toEqual([422, 'challenge_expired']);
    });

    it('in the browser that asked for it', async () => {
      const { passkey } = await holder();
      const { visitor, challengeId, challenge } = await started();
      const fields = { challengeId, credential: passkey.assert({ challenge }) };
      expect(errorOf(await real.app.visitor().postJson('/auth/passkey', fields))).toEqual([422, 'challenge_expired']);
      expect((await visitor.postJson('/auth/passkey', fields)).status).toBe(200);
    });

    it.each<[string, (passkey: SoftwareCredential, challenge: string) => unknown]>([
      ['from another origin', (passkey, challenge) => passkey.assert({ challenge, origin: 'https://evil.example' })],
      ['for another relying party', (passkey, challenge) => passkey.assert({ challenge, id: 'evil.example' })],
      ['with another challenge', (passkey) => passkey.assert({ challenge: 'AAAA' })],
      [
        'with an unknown key',
        (_, challenge) => createCredential({ ...party, challenge, userHandle: 'AAAA' }).assert({ challenge }),
      ],
      ['with a registration', (_, challenge) => createCredential({ ...party, challenge }).response],
      ['with nothing', () => ({})],
      ['with wrong types', () => ({ id: 1, rawId: [], type: {}, response: 'x' })],
      [
        'with bytes that are none',
        (passkey, challenge) => ({ ...passkey.assert({ challenge }), rawId: '!!!', id: '\0' }),
      ],
      [
        'with a NUL in the user',
        (passkey, challenge) => {
          const answer: any = passkey.assert({ challenge });
          return { ...answer, response: { ...answer.response, userHandle: Buffer.from('a\0b').toString('base64url') } };
        },
      ],
      [
        'with empty authenticator data',
        (passkey, challenge) => {
          const answer: any = passkey.assert({ challenge });
          return { ...answer, response: { ...answer.response, authenticatorData: '', signature: '' } };
        },
      ],
      [
        'with the user of another one',
        (passkey, challenge) => {
          const answer: any = passkey.assert({ challenge });
          return {
            ...answer,
            response: {
              ...answer.response,
              userHandle: Buffer.from('00000000-0000-4000-8000-000000000000').toString('base64url'),
            },
          };
        },
      ],
    ])('%s in vain: code_wrong', async (_, answer) => {
      const { passkey } = await holder();
      const { visitor, challengeId, challenge } = await started();
      const refused = await visitor.postJson('/auth/passkey', { challengeId, credential: answer(passkey, challenge) });
      expect(errorOf(refused)).toEqual([422, 'code_wrong']);
      expect(sessionOf(visitor)).toBeUndefined();
    });

    it('of a banned account in vain, with that reason', async () => {
      const { user, passkey } = await holder();
      await real.project.admin(`/admin/users/${user.id}`, 'PUT', { ban_duration: '1h' });
      const { visitor, challengeId, challenge } = await started();
      const refused = await visitor.postJson('/auth/passkey', {
        challengeId,
        credential: passkey.assert({ challenge }),
      });
      expect(errorOf(refused)).toEqual([403, 'user_banned']);
    });
  });

  it.each<[string, (challenge: string) => unknown]>([
    [
      'from another origin',
      (challenge) => createCredential({ ...party, challenge, origin: 'https://evil.example' }).response,
    ],
    ['with another challenge', () => createCredential({ ...party, challenge: 'AAAA' }).response],
    ['with nothing', () => ({})],
    [
      'with attestation that is none',
      (challenge) => {
        const { response }: any = createCredential({ ...party, challenge }).response;
        return { id: 'AA', rawId: 'AA', type: 'public-key', response: { ...response, attestationObject: 'AAAA' } };
      },
    ],
  ])('cannot be added %s: code_wrong', async (_, answer) => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    const { json } = await visitor.postJson('/auth/passkeys', {});
    const fields = { challengeId: json.challengeId, credential: answer(json.options.challenge) };
    expect(errorOf(await visitor.postJson('/auth/passkeys', fields))).toEqual([422, 'code_wrong']);
    expect((await visitor.getJson('/auth/passkeys')).json.passkeys).toEqual([]);
  });

  it('that is registered already is not added twice', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const other = await real.app.signedIn(await real.project.addUser());
    const { json } = await visitor.postJson('/auth/passkeys', {});
    const credential = createCredential({ ...party, challenge: json.options.challenge });
    const fields = { challengeId: json.challengeId, credential: credential.response };
    expect((await visitor.postJson('/auth/passkeys', fields)).status).toBe(200);
    const second = await other.postJson('/auth/passkeys', {});
    const again = { challengeId: second.json.challengeId, credential: credential.response };
    expect(errorOf(await other.postJson('/auth/passkeys', again))).toEqual([422, 'code_wrong']);
  });
});

describeOwnGoTrue('a GoTrue with a limit of its own for challenges', () => {
  const real = useRealApp({
    gotrue: { keys: [createSigningKey('only')], settings: { ...settings, GOTRUE_RATE_LIMIT_PASSKEY: '2' } },
    options: { signInMethods: ['password', 'passkey'], forwardClientAddress: true },
  });

  it('leads to 429 with Retry-After, and a password still signs in', async () => {
    const visitor = real.app.visitor();
    let answer = await visitor.postJson('/auth/passkey', {});
    for (let asked = 0; answer.status === 200 && asked < 40; asked += 1)
      answer = await visitor.postJson('/auth/passkey', {});
    expect(errorOf(answer)).toEqual([429, 'rate_limited']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    const user = await real.project.addUser();
    expect((await visitor.postJson('/auth/login', user)).status).toBe(200);
  });
});

describeOwnGoTrue('a GoTrue without passkeys', () => {
  const real = useRealApp({
    gotrue: { keys: [createSigningKey('only')], settings: webAuthnSettings },
    options: { signInMethods: ['password', 'passkey'] },
  });

  it('is named to operators, and the visitor is sent another way', async () => {
    expect(errorOf(await real.app.visitor().postJson('/auth/passkey', {}))).toEqual([400, 'unknown_provider']);
    expect(real.app.events.map((event: any) => event.message ?? '')).toContainEqual(
      expect.stringContaining('passkeys are switched off'),
    );
  });
});
