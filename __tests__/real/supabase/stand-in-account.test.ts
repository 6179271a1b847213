import { decodeJwt } from 'jose';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { newUser } from '../support/project.ts';
import {
  ask,
  callbackUrl,
  locationOf,
  pkce,
  raw,
  redirectShape,
  shapeOf,
  signIn,
  useTwoSides,
} from '../support/two-sides.ts';
import type { Side } from '../support/two-sides.ts';

const otherCode = (code: string): string => (code === '000000' ? '111111' : '000000');

describeGoTrue('the stand-in for Supabase answers like a GoTrue about accounts', () => {
  const expectAlike = useTwoSides();

  const refresh = (side: Side, refresh_token: string): Promise<unknown> =>
    ask(side, 'POST', 'token?grant_type=refresh_token', { body: { refresh_token } });

  it('when a password was forgotten', () =>
    expectAlike(async (side) => {
      const { email } = await side.addUser();
      const recover = (body: object): Promise<unknown> => ask(side, 'POST', 'recover', { body });
      return [
        await recover({ email }),
        await recover({ email }),
        await recover({ email: newUser().email }),
        await recover({ email: newUser().email }),
        await recover({ email: 'no-address' }),
        await recover({}),
      ];
    }));

  it('to the link of a recovery, and to the new password', () =>
    expectAlike(async (side) => {
      const user = await side.addUser();
      const other = await signIn(side, user);
      await raw(side, 'POST', 'recover', { body: { email: user.email } });
      const { tokenHash: token_hash } = await side.mailTo(user.email);
      const verify = (type: string) => raw(side, 'POST', 'verify', { body: { type, token_hash } });
      const wrong = [shapeOf(await verify('signup')), shapeOf(await verify('invite')), shapeOf(await verify('none'))];
      const right = await verify('recovery');
      const token = right.body.access_token;
      const change = (password: unknown): Promise<unknown> => ask(side, 'PUT', 'user', { token, body: { password } });
      return [
        wrong,
        shapeOf(right),
        shapeOf(decodeJwt(token)),
        shapeOf(await verify('recovery')),
        await change(user.password),
        await change('short'),
        await change(''),
        await change('ä'.repeat(37)),
        await change('a new password'),
        await change('a new password'),
        await refresh(side, right.body.refresh_token),
        await refresh(side, other.refresh_token),
        await ask(side, 'GET', 'user', { token: other.access_token }),
      ];
    }));

  it('to codes and links of one mail', () =>
    expectAlike(async (side) => {
      const { email } = await side.addUser();
      const verify = (fields: object): Promise<unknown> =>
        ask(side, 'POST', 'verify', { body: { type: 'email', email, ...fields } });
      await raw(side, 'POST', 'otp', { body: { email } });
      const { code, tokenHash } = await side.mailTo(email);
      return [
        await verify({ token: otherCode(code) }),
        await verify({ token: 'letters' }),
        await verify({ token: '' }),
        await verify({ token: code, email: newUser().email }),
        await verify({ token: code, email: 'no-address' }),
        await verify({ token: code, email: '' }),
        await verify({ token: code, token_hash: tokenHash }),
        await verify({ token: code, type: 'none' }),
        await verify({ token: code, type: 'signup' }),
        await verify({ token: code }),
        await verify({ token: code }),
        await ask(side, 'POST', 'verify', { body: { type: 'magiclink', token_hash: tokenHash } }),
      ];
    }));

  it('to a request for a code', () =>
    expectAlike(async (side) => {
      const otp = (body: object): Promise<unknown> => ask(side, 'POST', 'otp', { body });
      const { email } = await side.addUser();
      const fresh = newUser().email;
      const answers = [
        await otp({ email, create_user: false }),
        await otp({ email, create_user: false }),
        await otp({ email: newUser().email, create_user: false }),
        await otp({ email: fresh }),
        await otp({ email: fresh }),
        await otp({ email: 'no-address' }),
        await otp({ email: 'no-address', create_user: false }),
        await otp({}),
        await otp({ email, phone: '+15550100' }),
        await otp({ phone: '+15550100' }),
      ];
      const { code } = await side.mailTo(fresh);
      return [answers, await ask(side, 'POST', 'verify', { body: { type: 'email', email: fresh, token: code } })];
    }));

  it.each(['recover', 'otp'])('to the own link of an email of /%s', (path) =>
    expectAlike(async (side) => {
      const { email } = await side.addUser();
      const { challenge, verifier } = pkce();
      const query = new URLSearchParams({ redirect_to: callbackUrl }).toString();
      const body = { email, code_challenge: challenge, code_challenge_method: 's256' };
      await raw(side, 'POST', `${path}?${query}`, { body });
      const { link } = await side.mailTo(email);
      const back = await locationOf(link);
      const auth_code = new URL(back).searchParams.get('code');
      const exchanged = await raw(side, 'POST', 'token?grant_type=pkce', {
        body: { auth_code, code_verifier: verifier },
      });
      return [redirectShape(back), shapeOf(exchanged), shapeOf(decodeJwt(exchanged.body.access_token))];
    }),
  );

  it('to an invited user', () =>
    expectAlike(async (side) => {
      const { email } = newUser();
      await side.invite(email);
      const { tokenHash: token_hash } = await side.mailTo(email);
      const verified = await raw(side, 'POST', 'verify', { body: { type: 'invite', token_hash } });
      const token = verified.body.access_token;
      return [shapeOf(verified), await ask(side, 'PUT', 'user', { token, body: { password: 'a new password' } })];
    }));

  it('to a signed-in user who requests another address', () =>
    expectAlike(async (side) => {
      const [user, taken] = [await side.addUser(), await side.addUser()];
      const { access_token: token } = await signIn(side, user);
      const { email } = newUser();
      const change = (body: object): Promise<unknown> => ask(side, 'PUT', 'user', { token, body });
      const answers = [
        await change({ email: taken.email }),
        await change({ email: 'no-address' }),
        await change({ data: { name: 'Ada' } }),
        await change({ app_metadata: { admin: true } }),
        await change({ email }),
        await change({ email }),
      ];
      for (const address of [user.email, email]) {
        const { tokenHash: token_hash } = await side.mailTo(address);
        answers.push(await ask(side, 'POST', 'verify', { body: { type: 'email_change', token_hash } }));
      }
      return answers;
    }));

  it('to a request for a nonce', () =>
    expectAlike(async (side) => {
      const { access_token: token } = await signIn(side, await side.addUser());
      return [await ask(side, 'GET', 'reauthenticate', { token }), await ask(side, 'GET', 'reauthenticate', { token })];
    }));

  it('to an anonymous user who chooses an address', () =>
    expectAlike(async (side) => {
      const taken = await side.addUser();
      const visitor = await raw(side, 'POST', 'signup', { body: {} });
      const token = visitor.body.access_token;
      const person = newUser();
      const change = (body: object): Promise<unknown> => ask(side, 'PUT', 'user', { token, body });
      const answers = [
        shapeOf(visitor),
        shapeOf(decodeJwt(token)),
        await change({ password: person.password }),
        await change({ ...person, email: taken.email }),
        await change({ ...person, password: 'short' }),
        await change(person),
        await change(person),
        await ask(side, 'POST', 'token?grant_type=password', { body: person }),
        await ask(side, 'POST', 'factors', { token, body: { factor_type: 'totp' } }),
        await ask(side, 'GET', 'reauthenticate', { token }),
      ];
      const { tokenHash: token_hash } = await side.mailTo(person.email);
      const verified = await raw(side, 'POST', 'verify', { body: { type: 'email_change', token_hash } });
      return [answers, shapeOf(verified), verified.body.user.id === visitor.body.user.id];
    }));

  it('to a request for single sign-on without a provider', () =>
    expectAlike(async (side) => [
      await ask(side, 'POST', 'sso', { body: { domain: 'example.com', skip_http_redirect: true } }),
      await ask(side, 'POST', 'sso', { body: {} }),
    ]));

  it.each(['others', 'global', ''])('to a sign-out of scope "%s"', (scope) =>
    expectAlike(async (side) => {
      const user = await side.addUser();
      const [one, other] = [await signIn(side, user), await signIn(side, user)];
      return [
        await ask(side, 'POST', `logout?scope=${scope}`, { token: one.access_token }),
        await refresh(side, one.refresh_token),
        await refresh(side, other.refresh_token),
      ];
    }),
  );

  it('to a second factor, from enrollment to removal', () =>
    expectAlike(async (side) => {
      const user = await side.addUser();
      const [one, other] = [await signIn(side, user), await signIn(side, user)];
      let token = one.access_token;
      const post = (path: string, body: object = {}): Promise<any> =>
        raw(side, 'POST', `factors${path}`, { token, body });
      const listed = (): Promise<unknown> => ask(side, 'GET', 'user', { token });

      const enrolled = await post('', { factor_type: 'totp', friendly_name: 'app' });
      const { id } = enrolled.body;
      const code = (): string => totp(enrolled.body.totp.secret);
      const answers = [
        shapeOf(enrolled),
        await listed(),
        shapeOf(await post('', { factor_type: 'totp', friendly_name: 'app' })),
        shapeOf(await post('', { factor_type: 'phone', phone: '+15550100' })),
        shapeOf(await post('', { factor_type: 'none' })),
        shapeOf(await post('/no-uuid/challenge')),
        shapeOf(await post(`/${user.id}/challenge`)),
      ];
      const challenge = await post(`/${id}/challenge`);
      const verify = (fields: object): Promise<any> =>
        post(`/${id}/verify`, { challenge_id: challenge.body.id, code: code(), ...fields });
      answers.push(
        shapeOf(challenge),
        shapeOf(await verify({ code: otherCode(code()) })),
        shapeOf(await verify({ code: 'letters' })),
        shapeOf(await verify({ code: '' })),
        shapeOf(await verify({ challenge_id: user.id })),
      );
      const raised = await verify({});
      const claims = decodeJwt(raised.body.access_token);
      const methods = (claims['amr'] as { method: string }[]).map(({ method }) => method).sort();
      answers.push(
        shapeOf(raised),
        [claims['aal'], claims['session_id'] === decodeJwt(token)['session_id'], methods],
        shapeOf(await verify({})),
        await refresh(side, other.refresh_token),
      );
      const later = await signIn(side, user);
      token = later.access_token;
      answers.push(
        await listed(),
        shapeOf(await post('', { factor_type: 'totp', friendly_name: 'second' })),
        await ask(side, 'DELETE', `factors/${id}`, { token }),
        await ask(side, 'PUT', 'user', { token, body: { password: 'a new password' } }),
      );
      token = raised.body.access_token;
      answers.push(
        await ask(side, 'DELETE', `factors/${id}`, { token }),
        await ask(side, 'DELETE', `factors/${id}`, { token }),
      );
      const refreshed = await raw(side, 'POST', 'token?grant_type=refresh_token', {
        body: { refresh_token: raised.body.refresh_token },
      });
      return [answers, decodeJwt(refreshed.body.access_token)['aal']];
    }));
});
