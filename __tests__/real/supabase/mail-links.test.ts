import { followTo, startRealApp, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { press } from '../support/mail-links.ts';
import { newUser } from '../support/project.ts';

describeGoTrue('links in emails', () => {
  const real = useRealApp();

  it('signs in by a magic link, once', async () => {
    const { email } = await real.project.addUser();
    await real.project.ask('/otp', 'POST', { email, create_user: false });
    const mail = await real.project.mails.take(email);
    const visitor = real.app.visitor();
    const done = await press(visitor, mail);
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(email);

    // Another process: one that was asked before answers a second press like the first for ten seconds.
    const other = await startRealApp(real.project);
    const elsewhere = other.visitor();
    const again = await press(elsewhere, mail);
    expect([again.status, elsewhere.cookies.size]).toEqual([400, 0]);
    await other.close();
  });

  it('opens no session by a recovery link alone', async () => {
    const { email } = await real.project.addUser();
    await real.project.ask('/recover', 'POST', { email });
    const mail = await real.project.mails.take(email);
    const visitor = real.app.visitor();
    await press(visitor, mail);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it('changes an address with the second of two links, and reports after the first that one is left', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { email } = newUser();
    await real.app.asVisitor(visitor, (client) => client.auth.updateUser({ email }));
    const first = await press(visitor, await real.project.mails.take(user.email));
    // GoTrue: 200 {"code":"200","msg":"Confirmation link accepted. Please proceed to confirm link sent to the other email"}
    expect([first.status, /sign in/i.test(first.text.replace(/<head>.*<\/head>/s, ''))]).toEqual([200, false]);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(user.email);

    const second = await press(visitor, await real.project.mails.take(email));
    expect([second.status, second.headers.location]).toEqual([303, '/account']);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(email);
  });

  it('explains a link that carries its tokens in the fragment, which no server sees', async () => {
    const { email } = await real.project.addUser();
    const { action_link: link } = await real.project.admin('/admin/generate_link', 'POST', {
      type: 'magiclink',
      email,
      redirect_to: `${real.app.origin}/auth/callback`,
    });
    const callback = await followTo(real.app, link);
    expect(new URL(callback).hash).toMatch(/^#access_token=/);
    const page = await real.app.visitor().get(callback.replace(/#.*/, ''));
    expect([page.status, page.text.includes('/auth/login')]).toEqual([400, true]);
  });

  it('reports a link that was already used, also GoTrue’s own', async () => {
    const person = newUser();
    const visitor = real.app.visitor();
    await visitor.postJson('/auth/signup', { ...person });
    const { links } = await real.project.mails.take(person.email);
    await followTo(real.app, links[1]!);
    const page = await visitor.get(await followTo(real.app, links[1]!));
    // GoTrue: 303 …/auth/callback?error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid+or+has+expired
    expect([page.status, page.text.includes('/auth/login')]).toEqual([400, true]);
  });
});
