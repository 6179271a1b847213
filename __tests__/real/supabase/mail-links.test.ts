import { continueAsOther, postForm } from '../../support/backend-app.ts';
import { followTo, startRealApp, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import { anotherMailIsAllowed, press } from '../support/mail-links.ts';
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
    // Another session that began just now is not of this link.
    const present = await other.signedIn(await real.project.addUser());
    expect((await press(present, mail)).status).toBe(400);
    await other.close();
  });

  it.each(['magiclink', 'recovery'])('asks before a link (%s) replaces the session of another user', async (type) => {
    const [owner, other] = [await real.project.addUser(), await real.project.addUser()];
    const visitor = await real.app.signedIn(owner);
    const userIn = async (): Promise<string> => (await visitor.getJson('/auth/session')).json.user.email;
    const pressLink = async (): Promise<string | undefined> => {
      const body = type === 'magiclink' ? { email: other.email, create_user: false } : { email: other.email };
      await real.project.ask(type === 'magiclink' ? '/otp' : '/recover', 'POST', body);
      return (await press(visitor, await real.project.mails.take(other.email))).headers.location;
    };
    const question = '/auth/confirm?returnTo=%2Faccount';
    expect(await pressLink()).toBe(question);
    const page = await visitor.get(question);
    expect([page.text.includes(owner.email), page.text.includes(other.email)]).toEqual([true, true]);
    const endings = (): number => real.project.proxy.to('/logout?scope=local').length;
    const before = endings();
    expect((await postForm(visitor, '/auth/confirm', { stay: 'yes' })).status).toBe(303);
    expect([await userIn(), endings() - before]).toEqual([owner.email, 1]);

    await anotherMailIsAllowed();
    expect(await pressLink()).toBe(question);
    expect(await userIn()).toBe(owner.email);
    const done = await continueAsOther(visitor, question);
    if (type === 'recovery') {
      expect([done.headers.location, await userIn()]).toEqual(['/auth/password?returnTo=%2Faccount', owner.email]);
      expect((await postForm(visitor, '/auth/password', { password: 'another battery staple 1' })).status).toBe(303);
    }
    expect(await userIn()).toBe(other.email);
  });

  it('signs in to no other account by a link for a new address, and leaves no session', async () => {
    const [owner, other] = [await real.project.addUser(), await real.project.addUser()];
    const { email } = newUser();
    await real.app.asVisitor(await real.app.signedIn(other), (client) => client.auth.updateUser({ email }));
    const visitor = await real.app.signedIn(owner);
    await press(visitor, await real.project.mails.take(other.email));
    const last = await real.project.mails.take(email);
    const before = real.project.proxy.to('/logout?scope=local').length;
    const page = await press(visitor, last);
    expect([page.status, page.text.includes('Your new email is confirmed')]).toEqual([200, true]);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(owner.email);
    expect(real.project.proxy.to('/logout?scope=local')).toHaveLength(before + 1);
    // The address has changed all the same.
    expect((await (await real.app.signedIn({ ...other, email })).getJson('/auth/session')).json.user.email).toBe(email);
  });

  it('fills in the written templates, and shows any title as a text', async () => {
    const user = await real.project.addUser();
    const { body: session } = await real.project.ask('/token?grant_type=password', 'POST', user);
    await real.project.ask('/reauthenticate', 'GET', undefined, session.access_token);
    const { body } = await real.project.mails.take(user.email);
    expect(body).toContain('Ada&#39;s &lt;app&gt; &amp; more asks for this code');
    expect(body).toMatch(/<code class="ink"[^>]*>\d{6}<\/code>/);
    expect(body).not.toContain('{{');
    // No command of a template is left where GoTrue fills in an address and a link.
    const person = newUser();
    await real.app.visitor().postJson('/auth/signup', { ...person });
    const confirmation = await real.project.mails.take(person.email);
    expect(confirmation.body).toContain(`Confirm ${person.email} to finish your sign-up`);
    expect(confirmation.body).not.toContain('ZgotmplZ');
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
