import { postForm } from '../../support/backend-app.ts';
import type { Answer } from '../../support/visitor.ts';
import { useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { newUser } from '../support/project.ts';

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const claimsMail = /check your email|we sent|sent (you )?(a|an) (link|email|code)|confirm your/i;

describeOwnGoTrue('a project that confirms addresses by itself', () => {
  const settings = { GOTRUE_MAILER_AUTOCONFIRM: 'true' };
  const real = useRealApp({ gotrue: { keys: [createSigningKey('only')], settings } });

  /** A form sent twice by one browser, which shows the answer to the second. */
  async function twice(gapMs: number, send: () => Promise<Answer>): Promise<readonly Answer[]> {
    const first = send();
    await after(gapMs);
    return Promise.all([first, send()]);
  }

  // Not at the moment of the answer: without a cookie of ours, a browser cannot be told from another one then, and gets a 409.
  const gapsMs = [0, 50, 600];

  it.each(gapsMs)('signs in by a sign-up form that is sent twice, %i ms apart', async (gapMs) => {
    const person = newUser();
    const visitor = real.app.visitor();
    const answers = await twice(gapMs, () => postForm(visitor, '/auth/signup', { ...person, returnTo: '/account' }));
    expect(answers.map(({ status, headers }) => [status, headers.location])).toEqual([
      [303, '/account'],
      [303, '/account'],
    ]);
    expect(answers.some(({ text }) => claimsMail.test(text))).toBe(false);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(person.email);
    const { users } = await real.project.admin('/admin/users?per_page=200');
    expect(users.filter(({ email }: { email: string }) => email === person.email)).toHaveLength(1);
    expect(real.project.mails.count(person.email)).toBe(0);
  });

  it.each(gapsMs)('tells a script nothing about mails either, %i ms apart', async (gapMs) => {
    const person = newUser();
    const visitor = real.app.visitor();
    const answers = await twice(gapMs, () => visitor.postJson('/auth/signup', { ...person, returnTo: '/account' }));
    expect(answers.map(({ status, json }) => [status, json])).toEqual([
      [200, { redirectTo: '/account' }],
      [200, { redirectTo: '/account' }],
    ]);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('never says that a mail was sent for an address in use', async () => {
    const user = await real.project.addUser();
    const answer = await real.app.visitor().postJson('/auth/signup', { email: user.email, password: 'another one' });
    expect([answer.status, claimsMail.test(answer.text)]).toEqual([409, false]);
    expect(real.project.mails.count(user.email)).toBe(0);
  });

  it.each([0, 150, 600])('shares the enrolment of an app that is started twice, %i ms apart', async (gapMs) => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    const answers = await twice(gapMs, () => visitor.postJson('/auth/enroll', {}));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });
});
