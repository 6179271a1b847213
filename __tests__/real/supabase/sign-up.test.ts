import { postForm } from '../../support/backend-app.ts';
import type { Answer } from '../../support/visitor.ts';
import { cookieName, followTo, pathOf, startRealApp, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { anotherMailIsAllowed } from '../support/mail-links.ts';
import { newUser } from '../support/project.ts';

describeGoTrue('sign-up with a confirmation mail', () => {
  const real = useRealApp();

  async function signUp() {
    const person = newUser();
    const visitor = real.app.visitor();
    const answer = await visitor.postJson('/auth/signup', { ...person, returnTo: '/account' });
    const mail = await real.project.mails.take(person.email);
    return { person, visitor, answer, links: mail.links };
  }

  it('says that an email is on its way, and signs no one in', async () => {
    const { person, visitor, answer } = await signUp();
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        emailConfirmationRequired: true,
        email: person.email,
        message: expect.stringContaining(person.email),
        redirectTo: '/auth/login?returnTo=%2Faccount',
      },
    ]);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it('signs in by the link that the docs recommend, in any browser, only after its button is pressed', async () => {
    const { person, links } = await signUp();
    const visitor = real.app.visitor();
    const page = await visitor.get(pathOf(links[0]!));
    expect([page.status, real.project.proxy.to('/verify').length]).toEqual([200, 0]);
    const [, tokenHash = ''] = /name="token_hash" value="(\w+)"/.exec(page.text) ?? [];
    const done = await postForm(visitor, '/auth/confirm', { token_hash: tokenHash, type: 'email' });
    expect([done.status, done.headers.location]).toEqual([303, '/']);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(person.email);

    const other = await startRealApp(real.project);
    const elsewhere = other.visitor();
    const again = await postForm(elsewhere, '/auth/confirm', { token_hash: tokenHash, type: 'email' });
    expect([again.status, elsewhere.cookies.size]).toEqual([400, 0]);
    await other.close();
  });

  it('signs in by GoTrue’s own link in the same browser, and redirects to returnTo', async () => {
    const { person, visitor, links } = await signUp();
    const done = await visitor.get(await followTo(real.app, links[1]!));
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect([...visitor.cookies.keys()]).toEqual([cookieName]);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(person.email);
  });

  it('confirms by GoTrue’s own link in another browser, and asks to sign in', async () => {
    const { person, links } = await signUp();
    const elsewhere = real.app.visitor();
    const page = await elsewhere.get(await followTo(real.app, links[1]!));
    expect([page.status, page.text.includes('href="/auth/login')]).toEqual([200, true]);
    expect((await elsewhere.postJson('/auth/login', { ...person })).status).toBe(200);
  });

  it('tells a user with the right password to confirm first', async () => {
    const { person, visitor } = await signUp();
    const answer = await visitor.postJson('/auth/login', { ...person });
    expect([answer.status, answer.json.error.code]).toEqual([403, 'email_not_confirmed']);
  });

  it('sends the email again, and the new link works', async () => {
    const { person } = await signUp();
    await anotherMailIsAllowed();
    const answer = await real.app.visitor().postJson('/auth/resend', { email: person.email });
    expect(answer.status).toBe(200);
    const { links } = await real.project.mails.take(person.email);
    const hash = new URL(links[0]!).searchParams.get('token_hash')!;
    const done = await postForm(real.app.visitor(), '/auth/confirm', { token_hash: hash, type: 'email' });
    expect(done.status).toBe(303);
  });

  it('answers alike for every address, even if GoTrue counts the emails to it', async () => {
    const neutral = async (email: string): Promise<unknown> => {
      const visitor = real.app.visitor();
      const { status, json, headers, setCookies }: Answer = await visitor.postJson('/auth/signup', {
        email,
        password: 'correct horse battery',
      });
      const names = Object.keys(headers).filter((name) => name !== 'set-cookie');
      return {
        status,
        text: JSON.stringify(json).replaceAll(email, 'x'),
        names,
        cookies: setCookies.length,
      };
    };
    const { email: unknown } = newUser();
    const confirmed = await real.project.addUser();
    const first = await neutral(unknown);
    expect(first).toMatchObject({ status: 200 });
    // GoTrue: 429 {"code":"over_email_send_rate_limit","message":"For security purposes, you can only request this after 2 seconds."}
    expect(await neutral(unknown)).toEqual(first);
    expect(await neutral(confirmed.email)).toEqual(first);
    expect(await neutral(confirmed.email)).toEqual(first);
    expect(real.project.proxy.to('/signup').map(({ status }) => status)).toEqual([200, 429, 200, 200]);
  });

  it('answers a resend alike for every address', async () => {
    const { person } = await signUp();
    const confirmed = await real.project.addUser();
    const answers = [];
    for (const email of [person.email, person.email, confirmed.email, newUser().email]) {
      const { status, text } = await real.app.visitor().postJson('/auth/resend', { email });
      answers.push([status, text.replaceAll(email, 'x')]);
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  it('explains why a password is too weak', async () => {
    const answer = await real.app.visitor().postJson('/auth/signup', { ...newUser(), password: 'short' });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'weak_password']);
  });

  it('refuses an address that no mail server takes', async () => {
    const answer = await real.app.visitor().postJson('/auth/signup', { ...newUser(), email: 'a..b@example.com' });
    expect(answer.status).toBe(400);
  });
});
