import { decodeJwt, decodeProtectedHeader } from 'jose';
import { describeGoTrue } from '../support/describe-with.ts';
import { newUser } from '../support/project.ts';
import type { User } from '../support/project.ts';
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
import type { Raw } from '../support/two-sides.ts';

describeGoTrue('the stand-in for Supabase answers like a GoTrue', () => {
  const expectAlike = useTwoSides();

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

  it('to invalid access tokens', () =>
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

  it('to a refresh token, to its parent and to an unknown one', () =>
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

  it('to a request for another email', () =>
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

  it.each([true, false])('to the own link of an email, with PKCE %p', (isPkce) =>
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

  it('with the settings that the doctor reads', () =>
    expectAlike(async (side) => {
      const { external, disable_signup, mailer_autoconfirm } = (await raw(side, 'GET', 'settings')).body;
      return [typeof external.github, external.email, disable_signup, mailer_autoconfirm];
    }));
});
