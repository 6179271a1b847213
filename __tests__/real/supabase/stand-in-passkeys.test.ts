import { randomUUID } from 'node:crypto';
import { startSupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { newUser, startProject } from '../support/project.ts';
import type { Project, User } from '../support/project.ts';
import { party, webAuthnSettings } from '../support/security-key.ts';
import { ask, raw, signIn } from '../support/two-sides.ts';
import type { Side } from '../support/two-sides.ts';

type KeySide = Pick<Side, 'url' | 'publishableKey' | 'addUser'>;

describeOwnGoTrue('the stand-in for Supabase answers like a GoTrue about passkeys and keys', () => {
  let project: Project;
  let standIn: SupabaseStandIn;
  beforeAll(async () => {
    const settings = { ...webAuthnSettings, GOTRUE_PASSKEY_ENABLED: 'true', GOTRUE_RATE_LIMIT_PASSKEY: '1000000' };
    project = await startProject({ keys: [createSigningKey('only')], settings });
    const relyingParty = { id: party.id, origins: [party.origin] };
    standIn = await startSupabaseStandIn({ passkeys: true, keyFactors: true, relyingParty, minimumPasswordLength: 8 });
  });
  afterAll(async () => {
    await standIn.close();
    await project.close();
  });

  async function expectAlike(story: (side: Side, user: User, token: string) => Promise<unknown>): Promise<void> {
    const addLocal = (): Promise<User> => {
      const person = newUser();
      return Promise.resolve({ ...person, id: standIn.addUser(person).id });
    };
    const sides: readonly KeySide[] = [
      { url: project.url, publishableKey: project.publishableKey, addUser: () => project.addUser() },
      { url: standIn.url, publishableKey: standIn.publishableKey, addUser: addLocal },
    ];
    const [real, local] = await Promise.all(
      sides.map(async (side) => {
        const user = await side.addUser();
        const { access_token: token } = await signIn(side as Side, user);
        return story(side as Side, user, token);
      }),
    );
    expect(local).toEqual(real);
  }

  it('that are asked for', () =>
    expectAlike(async (side, _user, token) => [
      await ask(side, 'POST', 'passkeys/authentication/options', { body: {} }),
      await ask(side, 'POST', 'passkeys/registration/options', { body: {}, token }),
      await ask(side, 'POST', 'passkeys/registration/options', { body: {} }),
      await ask(side, 'GET', 'passkeys', { token }),
      await ask(side, 'GET', 'passkeys'),
    ]));

  it.each(['authentication', 'registration'])('whose %s is answered wrongly', (kind) =>
    expectAlike(async (side, _user, token) => {
      const started = await raw(side, 'POST', `passkeys/${kind}/options`, { body: {}, token });
      const { challenge_id } = started.body;
      const answers = [
        {},
        { challenge_id: 'x' },
        { challenge_id: 'x', credential: {} },
        { challenge_id: randomUUID(), credential: {} },
      ];
      const answered: unknown[] = [];
      for (const body of [...answers, { challenge_id, credential: {} }, { challenge_id, credential: {} }]) {
        answered.push(await ask(side, 'POST', `passkeys/${kind}/verify`, { body, token }));
      }
      return answered;
    }),
  );

  it('that do not exist', () =>
    expectAlike(async (side, _user, token) => [
      await ask(side, 'PATCH', `passkeys/${randomUUID()}`, { body: { friendly_name: 'x' }, token }),
      await ask(side, 'PATCH', `passkeys/${randomUUID()}`, { body: { friendly_name: '' }, token }),
      await ask(side, 'PATCH', `passkeys/${randomUUID()}`, { body: { friendly_name: 'x'.repeat(121) }, token }),
      await ask(side, 'DELETE', `passkeys/${randomUUID()}`, { token }),
    ]));

  it('as second factors, from the first call to a wrong answer', () =>
    expectAlike(async (side, _user, token) => {
      const body = { factor_type: 'webauthn', friendly_name: 'key' };
      const enrolled = await raw(side, 'POST', 'factors', { body, token });
      const { id } = enrolled.body;
      const challenged = await raw(side, 'POST', `factors/${id}/challenge`, { body: {}, token });
      const challenge_id = challenged.body.id;
      const { type } = challenged.body.webauthn;
      const answers = [
        { challenge_id },
        { challenge_id, webauthn: { type: 'other', credential_response: {} } },
        { challenge_id, webauthn: { type } },
        { challenge_id, webauthn: { type, credential_response: {} } },
        { challenge_id: randomUUID(), webauthn: { type, credential_response: {} } },
      ];
      const answered: unknown[] = [];
      for (const answer of answers)
        answered.push(await ask(side, 'POST', `factors/${id}/verify`, { body: answer, token }));
      return [
        enrolled.status,
        Object.keys(enrolled.body).sort(),
        Object.keys(challenged.body).sort(),
        type,
        ...answered,
      ];
    }));
});
