import type { Answer } from '../../support/visitor.ts';
import { followTo, sessionOf, setSession, useRealApp } from '../support/application.ts';
import { describeGoTrue, describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { anotherMailIsAllowed, press } from '../support/mail-links.ts';
import { newUser } from '../support/project.ts';
import type { Project } from '../support/project.ts';
import type { RealApp } from '../support/application.ts';

/** A visitor without an account, in an application that creates anonymous sessions. */
async function anonymous({ project, app }: { readonly project: Project; readonly app: RealApp }) {
  const { body } = await project.ask('/signup', 'POST', {});
  const visitor = app.visitor();
  setSession(visitor, body);
  return { visitor, id: body.user.id as string };
}

describeGoTrue('a visitor without an account who signs up', () => {
  const real = useRealApp();

  it.each(['the link that the docs recommend', 'GoTrue’s own link'])('keeps the user id, by %s', async (link) => {
    const { visitor, id } = await anonymous(real);
    const person = newUser();
    const signUp = (): Promise<Answer> => visitor.postJson('/auth/signup', { ...person, returnTo: '/account' });
    const answer = await signUp();
    expect([answer.status, answer.json.emailConfirmationRequired]).toEqual([200, true]);
    const before = (await visitor.getJson('/auth/session')).json.user;
    expect([before.id, before.isAnonymous]).toEqual([id, true]);

    const mail = await real.project.mails.take(person.email);
    const done =
      link === 'GoTrue’s own link'
        ? await visitor.get(await followTo(real.app, mail.links[1]!))
        : await press(visitor, mail);
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    const after = (await visitor.getJson('/auth/session')).json.user;
    expect([after.id, after.email, after.isAnonymous]).toEqual([id, person.email, false]);
    expect((await real.app.visitor().postJson('/auth/login', { ...person })).status).toBe(200);
  });

  it('can send the form again, also with a corrected address', async () => {
    const { visitor, id } = await anonymous(real);
    const [mistyped, person] = [newUser(), newUser()];
    const { password } = person;
    const first = await visitor.postJson('/auth/signup', { ...mistyped, password });
    await anotherMailIsAllowed();
    // GoTrue has stored the password at once: 422 {"code":"same_password",…} to the same one again
    const second = await visitor.postJson('/auth/signup', { ...person });
    expect([first.status, second.status]).toEqual([200, 200]);
    const done = await press(visitor, await real.project.mails.take(person.email));
    expect(done.status).toBe(303);
    expect((await visitor.getJson('/auth/session')).json.user).toMatchObject({ id, email: person.email });
    expect((await real.app.visitor().postJson('/auth/login', { ...person })).status).toBe(200);
  });

  it('gets the email again, which completes the account', async () => {
    const { visitor, id } = await anonymous(real);
    const person = newUser();
    await visitor.postJson('/auth/signup', { ...person });
    await real.project.mails.take(person.email);
    await anotherMailIsAllowed();
    // GoTrue’s own resend of a sign-up answers 200 and sends nothing: it looks for the present address.
    expect((await visitor.postJson('/auth/resend', { email: person.email })).status).toBe(200);
    expect((await press(visitor, await real.project.mails.take(person.email))).status).toBe(303);
    expect((await visitor.getJson('/auth/session')).json.user).toMatchObject({ id, email: person.email });
    expect((await real.app.visitor().postJson('/auth/login', { ...person })).status).toBe(200);
  });

  it('who completed the account in another browser is signed in by the used link, or by signing up again', async () => {
    const { visitor, id } = await anonymous(real);
    const other = real.app.visitor();
    for (const [name, value] of visitor.cookies) other.cookies.set(name, value);
    const person = newUser();
    await visitor.postJson('/auth/signup', { ...person });
    const mail = await real.project.mails.take(person.email);
    expect((await press(real.app.visitor(), mail)).text).toContain('Your new email is confirmed');
    // GoTrue: 403 {"error_code":"otp_expired",…}
    const used = await press(visitor, mail);
    expect([used.status, used.headers.location]).toEqual([303, '/account']);
    expect((await visitor.getJson('/auth/session')).json.user).toMatchObject({ id, email: person.email });
    const again = await other.postJson('/auth/signup', { ...newUser() });
    expect([again.status, again.json.error.code]).toEqual([409, 'email_in_use']);
    expect(again.json.error.message).toContain(person.email);
    expect((await other.getJson('/auth/session')).json.user).toMatchObject({ id, email: person.email });
  });

  it('gets the same answer for an address in use', async () => {
    const answers = [];
    const unconfirmed = newUser();
    await real.project.ask('/signup', 'POST', unconfirmed);
    for (const { email } of [newUser(), await real.project.addUser(), unconfirmed]) {
      const { visitor } = await anonymous(real);
      const answer = await visitor.postJson('/auth/signup', { email, password: 'correct horse battery' });
      answers.push(JSON.stringify([answer.status, answer.text.replaceAll(email, 'x'), answer.setCookies.length]));
      expect((await visitor.getJson('/auth/session')).json.user.isAnonymous).toBe(true);
    }
    // GoTrue: 422 {"code":"email_exists","message":"A user with this email address has already been registered"}
    expect(new Set(answers).size).toBe(1);
  });

  it('learns why a password is too weak', async () => {
    const { visitor } = await anonymous(real);
    const answer = await visitor.postJson('/auth/signup', { ...newUser(), password: 'short' });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'weak_password']);
  });

  it('does not get an address that another visitor has confirmed first', async () => {
    const [one, other] = [await anonymous(real), await anonymous(real)];
    const person = newUser();
    for (const { visitor } of [one, other]) await visitor.postJson('/auth/signup', { ...person });
    const mails = [await real.project.mails.take(person.email), await real.project.mails.take(person.email)];
    expect((await press(one.visitor, mails[0]!)).status).toBe(303);
    // GoTrue: 500 {"code":"unexpected_failure","message":"Error confirm email"}
    const late = await press(other.visitor, mails[1]!);
    expect(late.status).toBe(400);
    expect((await other.visitor.getJson('/auth/session')).json.user.isAnonymous).toBe(true);
  });
});

describeOwnGoTrue('a visitor without an account, in a project that confirms no addresses', () => {
  const settings = { GOTRUE_MAILER_AUTOCONFIRM: 'true' };
  const real = useRealApp({ gotrue: { keys: [createSigningKey('only')], settings } });

  it('is signed in with the address at once, and keeps the user id', async () => {
    const { visitor, id } = await anonymous(real);
    const person = newUser();
    const answer = await visitor.postJson('/auth/signup', { ...person, returnTo: '/account' });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/account' }]);
    expect((await visitor.getJson('/auth/session')).json.user).toMatchObject({
      id,
      email: person.email,
      isAnonymous: false,
    });
    expect((await real.project.refresh(sessionOf(visitor).refresh_token)).status).toBe(200);
  });
});
