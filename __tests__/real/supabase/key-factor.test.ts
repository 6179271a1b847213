import { decodeJwt } from 'jose';
import { createCredential } from '../../support/authenticator.ts';
import type { SoftwareCredential } from '../../support/authenticator.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { sessionOf, useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { runSql } from '../support/database.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { party, webAuthnSettings } from '../support/security-key.ts';

const errorOf = ({ status, json }: Answer) => [status, json.error?.code];

describeOwnGoTrue('a security key as second factor, at a real GoTrue,', () => {
  const real = useRealApp({
    gotrue: { keys: [createSigningKey('only')], settings: webAuthnSettings },
    options: { signInMethods: ['password', 'passkey'] },
  });

  async function addKey(visitor: Visitor): Promise<{ key: SoftwareCredential; factorId: string }> {
    const { json, text } = await visitor.postJson('/auth/enroll', { type: 'webauthn' });
    if (json.options === undefined) throw new Error(text);
    const { factorId, challengeId, options } = json;
    const key = createCredential({ ...party, challenge: options.challenge });
    const added = await visitor.postJson('/auth/enroll', { factorId, challengeId, credential: key.response });
    if (added.status !== 200) throw new Error(added.text);
    return { key, factorId };
  }

  /** A user with a key, whose password was right in another browser. */
  async function pending() {
    const user = await real.project.addUser();
    const owner = await real.app.signedIn(user);
    const added = await addKey(owner);
    const visitor = real.app.visitor();
    expect((await visitor.postJson('/auth/login', user)).json).toEqual({ redirectTo: '/auth/verify' });
    return { ...added, owner, user, visitor };
  }

  async function started(visitor: Visitor, challenge: string) {
    const { json } = await visitor.postJson('/auth/verify', { challenge });
    return { challenge: json.options.challenge, fields: { factorId: json.factorId, challengeId: json.challengeId } };
  }

  it('is added, and raises this session to aal2', async () => {
    const { owner, factorId } = await pending();
    expect((await owner.getJson('/auth/enroll')).json.factors).toEqual([{ id: factorId, type: 'webauthn' }]);
    const claims = decodeJwt(sessionOf(owner).access_token);
    expect([claims['aal'], (claims['amr'] as any).map((entry: any) => entry.method).sort()]).toEqual([
      'aal2',
      ['mfa/webauthn', 'password'],
    ]);
  });

  it('completes a sign-in', async () => {
    const { visitor, key, factorId } = await pending();
    const { challenge, fields } = await started(visitor, factorId);
    const done = await visitor.postJson('/auth/verify', { ...fields, credential: key.assert({ challenge }) });
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/' }]);
    expect((await visitor.getJson('/secure')).status).toBe(200);
  });

  it('answers each challenge once, and in time', async () => {
    const { visitor, key, factorId } = await pending();
    const late = await started(visitor, factorId);
    await runSql(`update auth.mfa_challenges set created_at = now() - interval '6 minutes' where id = :'id'::uuid;`, {
      id: late.fields.challengeId.split('.')[0],
    });
    const expired = await visitor.postJson('/auth/verify', {
      ...late.fields,
      credential: key.assert({ challenge: late.challenge }),
    });
    expect(errorOf(expired)).toEqual([422, 'challenge_expired']);
    const { challenge, fields } = await started(visitor, factorId);
    const answer = () => ({ ...fields, credential: key.assert({ challenge }) });
    expect((await visitor.postJson('/auth/verify', answer())).status).toBe(200);
    expect(errorOf(await visitor.postJson('/auth/verify', answer()))).toEqual([422, 'challenge_expired']);
  });

  it.each<[string, (key: SoftwareCredential, challenge: string) => unknown]>([
    ['from another origin', (key, challenge) => key.assert({ challenge, origin: 'https://evil.example' })],
    ['for another relying party', (key, challenge) => key.assert({ challenge, id: 'evil.example' })],
    ['to another challenge', (key) => key.assert({ challenge: 'AAAA' })],
    ['of an unknown key', (_, challenge) => createCredential({ ...party, challenge }).assert({ challenge })],
    ['that registers a new key', (_, challenge) => createCredential({ ...party, challenge }).response],
    ['that is empty', () => ({})],
    ['of wrong types', () => ({ id: 1, rawId: [], type: {}, response: 'x' })],
  ])('is code_wrong with an answer %s', async (_, answer) => {
    const { visitor, key, factorId } = await pending();
    const { challenge, fields } = await started(visitor, factorId);
    const refused = await visitor.postJson('/auth/verify', { ...fields, credential: answer(key, challenge) });
    expect(errorOf(refused)).toEqual([422, 'code_wrong']);
    expect([(await visitor.getJson('/auth/session')).status, sessionOf(visitor)]).toEqual([401, undefined]);
  });

  it.each<[string, (challenge: string) => unknown]>([
    [
      'from another origin',
      (challenge) => createCredential({ ...party, challenge, origin: 'https://evil.example' }).response,
    ],
    ['to another challenge', () => createCredential({ ...party, challenge: 'AAAA' }).response],
    ['that is empty', () => ({})],
  ])('is not added with an answer %s: code_wrong', async (_, answer) => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    const { json } = await visitor.postJson('/auth/enroll', { type: 'webauthn' });
    const { factorId, challengeId, options } = json;
    const refused = await visitor.postJson('/auth/enroll', {
      factorId,
      challengeId,
      credential: answer(options.challenge),
    });
    expect(errorOf(refused)).toEqual([422, 'code_wrong']);
    expect((await visitor.getJson('/auth/enroll')).json.factors).toEqual([]);
  });

  it('is one of several, and each of them answers for all', async () => {
    const { owner, user, key, factorId } = await pending();
    const second = await addKey(owner);
    for (const [used, named] of [[key, second.factorId] as const, [second.key, factorId] as const]) {
      const visitor = real.app.visitor();
      await visitor.postJson('/auth/login', user);
      const { challenge, fields } = await started(visitor, named);
      const done = await visitor.postJson('/auth/verify', { ...fields, credential: used.assert({ challenge }) });
      expect(done.status).toBe(200);
    }
  });

  it('is removed after a question, and then a password is a whole sign-in again', async () => {
    const { owner, user, factorId } = await pending();
    expect((await owner.postJson('/auth/enroll', { remove: factorId })).status).toBe(200);
    expect((await real.app.visitor().postJson('/auth/login', user)).json).toEqual({ redirectTo: '/' });
  });

  it('belongs to an account without an address, too, or is refused without a failure', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    await runSql(`update auth.users set email = null where id = :'id'::uuid;`, { id: user.id });
    const { status, json } = await visitor.postJson('/auth/enroll', { type: 'webauthn' });
    expect([200, 422]).toContain(status);
    if (status === 422) expect(json.error.code).toBe('factor_unavailable');
  });
});
